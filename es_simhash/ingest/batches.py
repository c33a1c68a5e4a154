"""The input in batches: bounded by count and by size, from a sync or an async iterator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterable, Iterable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.input import rows_of
from es_simhash.lines import Line
from es_simhash.portal import has_event_loop, in_event_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

BATCH = 500
BATCH_SIZE = 4_000_000
"""Bytes of lines, or characters of strings in dicts, after which a batch ends."""
_CONTAINERS = (dict, list, tuple)


class Source:
    """Documents from one iterator: mappings or Lines, or the rows of a table.

    :param size: the most documents in a batch.
    :param from_caller: the iterator is the caller's own code, so an async class runs it in the event loop. There it may
        be an async iterable.
    :param max_characters: a batch ends with the document by which it has that many.
    :raises InputError: if the documents cannot be iterated.
    """

    error: Exception | None = None
    """The error in which the input ended, if it did. Everything before it is returned first."""

    def __init__(
        self,
        documents: AsyncIterable[Any] | Iterable[Any],
        size: int = BATCH,
        *,
        from_caller: bool = True,
        max_characters: int = BATCH_SIZE,
    ) -> None:
        self._from_caller = from_caller
        documents = rows_of(documents)
        self._sync: Iterator[Any] = iter(())
        self._async: AsyncIterator[Any] | None = None
        if isinstance(documents, Iterable):
            self._sync = iter(documents)
        elif has_event_loop() and isinstance(documents, AsyncIterable):
            self._async = aiter(documents)
        else:
            raise InputError(f"the documents are of type {type(documents).__name__}: use an iterable of dicts")
        self._size = size
        self._max_characters = max_characters
        self._count = 0

    def take(self, count: int | None = None) -> list[Line]:
        """Return the next batch; an empty list at the end of the input.

        :param count: at most so many documents, if it is less than the size.
        """
        batch = _Batch(min(count or self._size, self._size), self._max_characters)
        if self.error is None:
            if self._from_caller and has_event_loop():
                in_event_loop(self._fill_in_event_loop(batch), of_caller=True)
            else:
                self._fill(batch)
        return batch.lines

    def _fill(self, batch: _Batch) -> None:
        with self._errors():
            for document in self._sync:
                if batch.add(self._line(document)):
                    break

    async def _fill_in_event_loop(self, batch: _Batch) -> None:
        if self._async is None:
            self._fill(batch)
            return
        with self._errors():
            async for document in self._async:
                if batch.add(self._line(document)):
                    break

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.error = error

    def _line(self, document: Any) -> Line:
        self._count += 1
        return line_of(document, f"document {self._count}")


def line_of(document: Any, place: str) -> Line:
    """Return a document of the caller as a Line. A mapping that is no dict, such as an item of Scrapy, becomes one."""
    if isinstance(document, Line):
        return document
    if isinstance(document, Mapping) and not isinstance(document, dict):
        document = dict(document)
    return Line(place, document)


class _Batch:
    def __init__(self, count: int, size: int) -> None:
        self.lines: list[Line] = []
        self._count = count
        self._size_left = size

    def add(self, line: Line) -> bool:
        """Add a line, and return whether the batch is full."""
        self.lines.append(line)
        self._size_left -= _size(line)
        return len(self.lines) >= self._count or self._size_left <= 0


def _size(line: Line) -> int:
    """Return the bytes of a line, or the characters of the strings in a dict at any depth.

    An object that occurs twice counts once, so a dict that contains itself has a size. Floats are excluded first,
    because this runs for each document, and a document may hold a vector of a thousand floats.
    """
    if line.raw is not None or not isinstance(line.document, dict):
        return line.size
    size = 0
    containers: list[Any] = [line.document]
    known = {id(line.document)}
    for container in containers:  # grows during the loop
        for value in container.values() if isinstance(container, dict) else container:
            if isinstance(value, str):
                size += len(value)
            elif type(value) is not float and isinstance(value, _CONTAINERS) and id(value) not in known:
                known.add(id(value))
                containers.append(value)
    return size


def mark(line: Line) -> str:
    """Return a short digest of a line, by which a resumed run recognises it."""
    return hashlib.blake2b(line.raw if line.raw is not None else _as_bytes(line.document), digest_size=8).hexdigest()


def _as_bytes(document: Any) -> bytes:
    """Return the same bytes in every process. A value without a JSON form stands for its type alone."""
    try:
        return json.dumps(document, default=lambda value: type(value).__name__).encode()
    except (TypeError, ValueError, RecursionError):
        return type(document).__name__.encode()
