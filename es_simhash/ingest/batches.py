"""The input in batches, bounded by count and by size."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash.decide.outcome import Document
from es_simhash.input import rows_of
from es_simhash.lines import Line, parsed
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.decide.outcome import Outcome

_log = logging.getLogger("es_simhash")

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

    count = 0
    """Documents that were taken."""

    def __init__(self, documents: Iterable[Any], size: int = BATCH) -> None:
        self._rows: Iterator[Any] = iter(rows_of(documents))
        self._size = size

    def next_batch(self, count: int | None = None) -> list[Line]:
        """Return the next batch; an empty list at the end of the input.

        :param count: at most so many documents, if it is less than the size.
        """
        lines: list[Line] = []
        most = min(count or self._size, self._size) if self.error is None else 0
        size = 0
        try:
            for document in islice(self._rows, most):
                self.count += 1
                lines.append(line_of(document, f"document {self.count}"))
                size += _size(lines[-1])
                if size >= BATCH_SIZE:
                    break
        except Exception as error:
            self.error = error
        return lines


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
            if item.row.id in ids:
                yield part
                part, ids = [], set()
            ids.add(item.row.id)
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


def warn_of_missing_fields(lines: Iterable[Line], fields: Sequence[str]) -> None:
    """Warn about each text field that is missing in all of the first documents, if there are other text fields."""
    documents = [document for line in lines if isinstance(document := parsed(line).document, dict)]
    for field in fields:
        if documents and len(fields) > 1 and all(field_value(document, field) is None for document in documents):
            first = f"none of the first {len(documents)} documents"
            _log.warning("%s has the field %r: is it the name of a field with the text?", first, field)
