"""The SQLite stores: one file that holds documents, seen items, or both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from es_simhash.contract import handler_of
from es_simhash.stores.sqlite import documents, examine, users
from es_simhash.stores.sqlite.database import Database, SourceNotJson

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.contract import Request

R = TypeVar("R")

HANDLERS = documents.HANDLERS | users.HANDLERS | examine.HANDLERS
"""The function that answers each type of request."""


class _FileStore:
    """A store on one SQLite file.

    Several processes may use the file at once: each write is one transaction, and the others wait for it.

    :param path: path of the file; ``:memory:`` for a store in memory.
    """

    embedded = True

    def __init__(self, path: str) -> None:
        self._database = Database(path)
        self.name = self._database.name

    def _answer(self, request: Request[R]) -> R:
        answer: Callable[..., R] = handler_of(HANDLERS, request, self.name)
        try:
            return answer(request, self._database)
        except SourceNotJson:
            if not self._database.trusted:
                raise
            self._database.trusted = False
            return answer(request, self._database)


class SqliteStore(_FileStore):
    """A Store on one SQLite file. Several processes may use the file at once.

    :param path: path of the file; ``:memory:`` for a store in memory.
    """

    def perform(self, request: Request[R]) -> R:
        """Return the reply to a request."""
        return self._answer(request)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class AsyncSqliteStore(_FileStore):
    """:class:`SqliteStore` for async programs: each request runs in a thread."""

    async def perform(self, request: Request[R]) -> R:
        """Return the reply to a request."""
        return await asyncio.to_thread(self._answer, request)

    async def close(self) -> None:
        """Close the file."""
        await asyncio.to_thread(self._database.close)
