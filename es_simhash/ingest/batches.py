"""The input, taken a chunk at a time: bounded by count and by size, from a sync or an async iterator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterator

BATCH = 500
BATCH_SIZE = 4_000_000
"""Bytes of lines, or characters of strings in dicts, after which a batch ends."""
_CONTAINERS = (dict, list, tuple)


class Source:
    """Documents, which are dicts or Lines, from one iterator.

    :param size: documents of a chunk at most.
    """

    error: Exception | None = None
    """Why the input ended, if it did not come to its end: what was read before is given first."""

    def __init__(self, documents: AsyncIterable[Any] | Iterable[Any], size: int = BATCH) -> None:
        if size < 1:
            raise InputError(f"a batch size of {size}: use a whole number from 1")
        self._documents = documents
        self._sync: Iterator[Any] | None = None
        self._async: AsyncIterator[Any] | None = None
        self._size = size
        self._count = 0

    def take(self, count: int | None = None) -> list[Line]:
        """The next chunk; empty at the end of the input.

        :param count: so many documents at most, in place of the size.
        """
        if self._sync is None:
            if not isinstance(self._documents, Iterable):
                raise InputError(f"the documents are {type(self._documents).__name__}: give an iterable of dicts")
            self._sync = iter(self._documents)
        chunk = _Chunk(min(count or self._size, self._size))
        while not chunk.full and self.error is None:
            try:
                document = next(self._sync)
            except StopIteration:
                break
            except Exception as error:
                self.error = error
                break
            chunk.add(self._line(document))
        return chunk.lines

    async def atake(self, count: int | None = None) -> list[Line]:
        """:meth:`take`, of an async iterator too."""
        if isinstance(self._documents, Iterable):
            return self.take(count)
        if self._async is None:
            self._async = self._documents.__aiter__()
        chunk = _Chunk(min(count or self._size, self._size))
        while not chunk.full and self.error is None:
            try:
                document = await self._async.__anext__()
            except StopAsyncIteration:
                break
            except Exception as error:
                self.error = error
                break
            chunk.add(self._line(document))
        return chunk.lines

    def _line(self, document: Any) -> Line:
        self._count += 1
        return document if isinstance(document, Line) else Line(f"document {self._count}", document)


class _Chunk:
    def __init__(self, count: int) -> None:
        self.lines: list[Line] = []
        self._count = count
        self._left = BATCH_SIZE

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self._left -= _size(line)

    @property
    def full(self) -> bool:
        return len(self.lines) >= self._count or self._left <= 0


def _size(line: Line) -> int:
    """Of strings at any depth; an object that is there twice counts once, so that one that holds itself has an end.

    It is done for each document: floats are asked about first, since a document may hold a vector of a thousand.
    """
    if line.raw is not None or not isinstance(line.document, dict):
        return line.size
    size = 0
    containers: list[Any] = [line.document]
    known = {id(line.document)}
    for container in containers:  # which grows meanwhile
        for value in container.values() if isinstance(container, dict) else container:
            if isinstance(value, str):
                size += len(value)
            elif type(value) is not float and isinstance(value, _CONTAINERS) and id(value) not in known:
                known.add(id(value))
                containers.append(value)
    return size


def mark(line: Line) -> str:
    """A short digest by which the same line is known again."""
    return hashlib.blake2b(line.raw if line.raw is not None else _as_bytes(line.document), digest_size=8).hexdigest()


def _as_bytes(document: Any) -> bytes:
    """The same in every process: of what has no JSON form, only its kind."""
    try:
        return json.dumps(document, default=lambda value: type(value).__name__).encode()
    except (TypeError, ValueError, RecursionError):
        return type(document).__name__.encode()
