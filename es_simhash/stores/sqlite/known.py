"""The fingerprints of all documents of the file in memory, during a large load.

A search in the file costs more, the more documents share segments. In a large load nearly all searches find nothing, or
documents that are near-equal. So once a load has looked up many documents in comparison with those of the file, their
fingerprints (:class:`es_simhash.search.near_index.NearIndex`) are read. Then only what is near is searched. What this
program writes is added. ``PRAGMA data_version`` says whether another program has written: then they are dropped, and
read again later.

Methods are called while the caller has the connection (:meth:`Database.use`), so no other thread of the program writes
meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.fingerprinting.encoding import from_longs
from es_simhash.free_memory import free_memory
from es_simhash.search.near_index import LARGEST_DISTANCE, NearIndex, most_held
from es_simhash.stores.sqlite.longs import are_integers, long_columns

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

    from es_simhash.contract import Row

LEAST = 100
"""Searches of a request from which on it belongs to a load."""
WORTHWHILE = 8
"""They are read if the file has at most so many documents for each one that was looked up. To read one document takes
less than an eighth of the time of a search."""
_PAGE = 10_000
"""Documents that are added together."""


class KnownFingerprints:
    """The fingerprints of the documents of one file, as far as they are known."""

    def __init__(self) -> None:
        self._table: NearIndex | None = None
        self._version = -1
        """``PRAGMA data_version`` when the table was read."""
        self._most = 0
        self._looked_up = 0
        self._enough = 0
        """Documents are counted again when so many were looked up."""

    def table(self, looked_up: int, connection: Connection, bits: int) -> NearIndex | None:
        """Return the fingerprints of all documents of the file; None if they are not known.

        :param looked_up: how many documents the request looks up.
        :param bits: width of the fingerprints.
        """
        if looked_up < LEAST:
            return None
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        if self._table is not None and version != self._version:
            self.forget()
        self._looked_up += looked_up
        if self._table is None and self._looked_up >= self._enough:
            documents: int = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
            self._enough = max(2 * self._looked_up, documents // WORTHWHILE)
            self._most = most_held(free_memory(), bits)
            if documents <= min(self._most, WORTHWHILE * self._looked_up):
                self._table, self._version = _read(connection, bits), version
        return self._table

    def forget(self) -> None:
        """Read the documents again before they are used, because some were written without :meth:`add`."""
        self._table, self._looked_up, self._enough = None, 0, 0

    def add(self, rows: Sequence[Row]) -> None:
        """Add Rows that are being written. If the transaction is rolled back, a few more documents are searched."""
        if self._table is not None:
            self._table.add([row.fingerprint for row in rows])
            if len(self._table) > self._most:
                self._table = None


def _read(connection: Connection, bits: int) -> NearIndex:
    """Return the fingerprints of all documents."""
    table = NearIndex(bits, LARGEST_DISTANCE, positions=False)
    names = long_columns(bits)
    found = connection.execute(f"SELECT {', '.join(names)} FROM documents WHERE {are_integers(names)}")
    while page := found.fetchmany(_PAGE):
        table.add([from_longs(longs) for longs in page])
    return table
