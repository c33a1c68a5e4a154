"""Stop at a wrong file: if none of its first lines can be used, one error says why, in place of one for each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.ingest.dead_letters import carried_line
from es_simhash.lines import MAX_LINE, parsed
from es_simhash.similarity.text_fields import field_value, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.lines import Line

    Check = Callable[[Line], object]
    """Raises InputError if a line cannot be used."""

FIRST = 100
"""After so many lines of a file that cannot be used, the command stops."""
FEW = 10
"""A file with more lines than these stops the command too, if it ends before."""
_SHOWN_FIELDS = 8


def checked_start(lines: Iterator[Line], check: Check, name: str) -> Iterator[Line]:
    """Yield the lines of a file. The first ones are held back until one of them can be used.

    :param name: of the file.
    :raises InputError: if none of the first 100 can be used, or of all lines if there are more than 10. Or of fewer,
        if they are as large as the largest line.
    """
    held: list[Line] = []
    why: str | None = None
    size = 0
    for line in lines:
        held.append(line)
        try:
            check(line)
        except InputError as error:
            why = why or f"{line.place}: {error}"
            size += line.size
            if len(held) == FIRST or size > MAX_LINE:
                raise InputError(_message(len(held), "first ", name, why)) from error
        else:
            why = None
            break
    if why is not None and len(held) > FEW:
        raise InputError(_message(len(held), "", name, why))
    yield from held
    del held
    yield from lines


def _message(count: int, first: str, name: str, why: str) -> str:
    return f"stopped, because none of the {first}{count} documents in {name} can be used. {why}"


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


def check_fields(line: Line, id_field: str | None, text_fields: tuple[str, ...]) -> None:
    """Check that a document has an id and a text.

    :param id_field: None if no id is needed.
    :raises InputError: if one is missing. The message names the fields that there are.
    """
    document = object_of(line)
    try:
        if id_field is not None and field_value(document, id_field) is None:
            raise InputError(f"no field {id_field!r}: name the field that holds the id (id_field)")
        text_of(document, text_fields)
    except InputError as error:
        names = ", ".join(str(name) for name in list(document)[:_SHOWN_FIELDS])
        raise InputError(f"{error}. It has the fields: {names}") from error
