"""A wrong file, or a wrong field: if none of the first documents can be used, one error says why, in place of many."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.ingest.dead_letters import carried_line
from es_simhash.lines import MAX_LINE, parsed
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_simhash.lines import Line

    Check = Callable[[Line], object]
    """Raises InputError if a line cannot be used."""

_log = logging.getLogger("es_simhash")
FIRST = 100
"""How many lines are looked at."""


def checked_start(
    lines: Iterator[Line], check: Check, name: str, fields: Sequence[str] = (), advice: str = ""
) -> Iterator[Line]:
    """Yield lines. The first ones are held back until one of them can be used, and has each field.

    :param name: of the file or the store.
    :param fields: each of them must be in one of the lines that can be used.
    :param advice: what to do if none can be used, beside the first problem.
    :raises InputError: if none of the first 100 can be used; or of fewer, if they are as large as the largest line.
        Likewise if none of them has one of the fields; of fewer lines that is a warning.
    """
    held: list[Line] = []
    problems: list[str] = []
    missing, size, enough = list(fields), 0, False
    for line in lines:
        held.append(line)
        size += line.size
        try:
            check(line)
        except InputError as error:
            problems.append(f"{line.place}: {error}")
        else:
            missing = [field for field in missing if field_value(object_of(line), field) is None]
            if not missing:
                break
        if enough := len(held) == FIRST or size > MAX_LINE:
            break
    none = f"none of the first {len(held)} documents in {name}"
    if enough and len(problems) == len(held):
        raise InputError(f"stopped, because {none} can be used. {problems[0]}{advice}")
    if missing and len(problems) < len(held):
        fix = f"has the field {missing[0]!r}: name the fields with the text (text_field)"
        if enough:
            raise InputError(f"stopped, because {none} {fix}")
        _log.warning("%s %s", none, fix)
    yield from held
    del held
    yield from lines


def object_of(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line, or the row of a table; of a dead letter the document that it carries.

    :raises InputError: if the line is none.
    """
    line = carried_line(parsed(line))
    if line.problem is not None:
        raise InputError(line.problem)
    if not isinstance(line.document, dict):
        raise InputError("a document must be a JSON object")
    return line.document
