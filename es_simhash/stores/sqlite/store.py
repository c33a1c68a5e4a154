"""The SQLite store: one file that holds documents, seen items, or both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from es_simhash.stores.sqlite import documents, users  # noqa: F401  they register what they answer
from es_simhash.stores.sqlite.answer import answer
from es_simhash.stores.sqlite.database import Database

if TYPE_CHECKING:
    from es_simhash.contract import Request

R = TypeVar("R")


class SqliteStore:
    """Performs the requests on one SQLite file.

    Several processes may use the file at once: each write is one transaction, others wait for it.

    :param path: of the file; ``:memory:`` for none.
    """

    embedded = True

    def __init__(self, path: str) -> None:
        self._database = Database(path)
        self.name = self._database.name

    def perform(self, op: Request[R]) -> R:
        reply: R = answer(op, self._database)
        return reply

    def close(self) -> None:
        self._database.close()


class AsyncSqliteStore:
    """:class:`SqliteStore` for async programs: each request runs in a thread."""

    embedded = True

    def __init__(self, path: str) -> None:
        self._store = SqliteStore(path)
        self.name = self._store.name

    async def perform(self, op: Request[R]) -> R:
        return await asyncio.to_thread(self._store.perform, op)

    async def close(self) -> None:
        await asyncio.to_thread(self._store.close)
