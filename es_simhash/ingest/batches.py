"""The input in batches, bounded by count and by size; and the check of its first lines.

If none of the first documents can be used, one error says why, in place of many.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from es_simhash.decide.outcome import Document
from es_simhash.errors import InputError
from es_simhash.ingest.dead_letters import carried_line
from es_simhash.input import rows_of
from es_simhash.lines import MAX_LINE, Line, parsed
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_simhash.decide.outcome import Outcome

    Check = Callable[[Line], object]
    """Raises InputError if a line cannot be used."""

_log = logging.getLogger("es_simhash")

BATCH = 500
BATCH_SIZE = 4_000_000
"""Bytes of lines, or characters of strings in dicts, after which a batch ends."""
FIRST = 100
"""Lines that are looked at before any is used."""


class Source:
    """Documents from one iterator: mappings or Lines, or the rows of a table.

    :param size: the most documents in a batch.
    :raises InputError: if the documents cannot be iterated.
    """

    error: Exception | None = None
    """The error in which the input ended, if it did. Everything before it is returned first."""

    count = 0
    """Documents that were taken."""

    def __init__(self, documents: Iterable[Any], size: int = BATCH) -> None:
        rows = rows_of(documents)
        if not isinstance(rows, Iterable):
            raise InputError(f"the documents are of type {type(documents).__name__}: use an iterable of dicts")
        self._rows: Iterator[Any] = iter(rows)
        self._size = size

    def take(self, count: int | None = None) -> list[Line]:
        """Return the next batch; an empty list at the end of the input.

        :param count: at most so many documents, if it is less than the size.
        """
        lines: list[Line] = []
        most = min(count or self._size, self._size)
        size = 0
        try:
            while self.error is None and len(lines) < most and size < BATCH_SIZE:
                document = next(self._rows, _END)
                if document is _END:
                    break
                self.count += 1
                line = line_of(document, f"document {self.count}")
                lines.append(line)
                size += _size(line)
        except Exception as error:
            self.error = error
        return lines


_END = object()


def line_of(document: Any, place: str) -> Line:
    """Return a document of the caller as a Line. A mapping that is no dict, such as an item of Scrapy, becomes one."""
    if isinstance(document, Line):
        return document
    if isinstance(document, Mapping) and not isinstance(document, dict):
        document = dict(document)
    return Line(place, document)


def _size(line: Line) -> int:
    """Return the bytes of a line, or the characters of the strings that stand in a dict, not deeper."""
    fields = line.document.values() if isinstance(line.document, dict) else ()
    return line.size or sum(len(value) for value in fields if isinstance(value, str))


def parts_by_id(items: Sequence[Document | Outcome]) -> Iterator[list[Document | Outcome]]:
    """Yield the items of a batch in parts. An id occurs once in each: the later document replaces the other."""
    part: list[Document | Outcome] = []
    ids: set[str] = set()
    for item in items:
        if isinstance(item, Document):
            if item.id in ids:
                yield part
                part, ids = [], set()
            ids.add(item.id)
        part.append(item)
    if part:
        yield part


def mark(line: Line) -> str:
    """Return a short digest of a line, by which a resumed run recognises it."""
    return hashlib.blake2b(line.raw if line.raw is not None else _as_bytes(line.document), digest_size=8).hexdigest()


def _as_bytes(document: Any) -> bytes:
    """Return the same bytes in every process. A value without a JSON form stands for its type alone."""
    try:
        return json.dumps(document, default=lambda value: type(value).__name__).encode()
    except (TypeError, ValueError, RecursionError):
        return type(document).__name__.encode()


# --- a wrong file, or a wrong field ----------------------------------------------------------------------------------


def checked_start(
    lines: Iterator[Line], check: Check, name: str, fields: Sequence[str] = (), advice: str = ""
) -> Iterator[Line]:
    """Yield lines. The first ones are held back until one of them can be used, and has each field.

    :param name: of the file or the store.
    :param fields: each of them must be in one of the lines that can be used.
    :param advice: what else to do if none can be used, or if none has one of the fields.
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
            raise InputError(f"stopped, because {none} {fix}{advice}")
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
