"""The keys of all documents of the file in memory, during a large load.

A search by keys in the file costs more, the more documents have them. In a large load nearly all searches find
nothing. So once a load has looked up many documents in comparison with those of the file, their keys are read
(:class:`es_simhash.search.key_table.KeyTable`), and only documents that may share enough of them are searched. What
this program writes is added. ``PRAGMA data_version`` says whether another program has written: then the keys are
dropped, and read again later.

Methods are called while the caller has the connection (:meth:`Database.use`), so no other thread of the program writes
meanwhile.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from es_simhash.free_memory import free_memory
from es_simhash.search.key_table import KeyTable, most_texts_held
from es_simhash.stores.sqlite.schema import read_keys

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

    from es_simhash.contract import Row
    from es_simhash.search.keys import KeyQuery

LEAST = 100
"""Searches of a request from which on it belongs to a load."""
WORTHWHILE = 8
"""The keys are read if the file has at most so many documents for each one that was looked up. To read the keys of one
takes less than an eighth of the time of a search."""
_PAGE = 10_000
"""Documents whose keys are added together."""


class KnownKeys:
    """The keys of the documents of one file, as far as they are known."""

    def __init__(self) -> None:
        self._table: KeyTable | None = None
        self._version = -1
        """``PRAGMA data_version`` when the keys were read."""
        self._most = 0
        self._looked_up = 0
        self._enough = 0
        """Documents are counted again when so many were looked up."""

    def may_share(self, queries: Sequence[Sequence[KeyQuery]], connection: Connection) -> list[bool]:
        """Return for each asker whether a document may fulfil one of its queries.

        :param queries: of each asker.
        """
        if len(queries) < LEAST:
            return [True] * len(queries)
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        if self._table is not None and version != self._version:
            self.forget()
        self._looked_up += len(queries)
        if self._table is None and self._looked_up >= self._enough:
            documents: int = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
            self._enough = max(2 * self._looked_up, documents // WORTHWHILE)
            self._most = most_texts_held(free_memory())
            if documents <= min(self._most, WORTHWHILE * self._looked_up):
                self._table, self._version = _read(connection), version
        if self._table is None:
            return [True] * len(queries)
        found: list[bool] = self._table.may_share(queries).tolist()
        return found

    def forget(self) -> None:
        """Read the keys again before they are used, because documents were written without :meth:`add`."""
        self._table, self._looked_up, self._enough = None, 0, 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add the keys of Rows that are being written. If they are not written after all, some more are searched."""
        if self._table is not None:
            self._table.add([row.keys for row in rows], [row.length for row in rows])
            if len(self._table) > self._most:
                self._table = None


def _read(connection: Connection) -> KeyTable | None:
    """Return the keys of all documents; None if some are damaged, which a search must find."""
    table = KeyTable()
    found = connection.execute("SELECT keys, length FROM documents WHERE keys IS NOT NULL")
    while page := found.fetchmany(_PAGE):
        every = [read_keys(keys) for keys, _ in page]
        lengths = [length for _, length in page]
        lists = all(isinstance(keys, list) for keys in every)
        if not lists or not all(isinstance(each, str) for each in chain(*every)):
            return None
        if not all(isinstance(length, int) for length in lengths):
            return None
        table.add(every, lengths)
    return table
