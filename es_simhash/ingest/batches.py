"""The input in batches: bounded by count and by size."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from es_simhash.decide.outcome import Document
from es_simhash.errors import InputError
from es_simhash.input import rows_of
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.decide.outcome import Outcome

BATCH = 500
BATCH_SIZE = 4_000_000
"""Bytes of lines, or characters of strings in dicts, after which a batch ends."""


class Source:
    """Documents from one iterator: mappings or Lines, or the rows of a table.

    :param size: the most documents in a batch.
    :raises InputError: if the documents cannot be iterated.
    """

    error: Exception | None = None
    """The error in which the input ended, if it did. Everything before it is returned first."""

    def __init__(self, documents: Iterable[Any], size: int = BATCH) -> None:
        rows = rows_of(documents)
        if not isinstance(rows, Iterable):
            raise InputError(f"the documents are of type {type(documents).__name__}: use an iterable of dicts")
        self._rows: Iterator[Any] = iter(rows)
        self._size = size
        self._count = 0

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
                self._count += 1
                line = line_of(document, f"document {self._count}")
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
    """Return the bytes of a line, or the characters of the strings in a dict at any depth."""
    if line.size:
        return line.size
    try:
        return _characters(line.document)
    except RecursionError:
        return 0  # the document is rejected


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else 0


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
