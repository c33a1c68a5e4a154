"""Documents that share keys, in SQLite: the table ``keys`` has the documents of each key.

The documents themselves are read where a filter or a length needs them, and for the Rows that are returned.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.search.keys import ROUNDED_TO, rarity
from es_simhash.stores.sqlite.filters import to_sql
from es_simhash.stores.sqlite.schema import id_list, row_columns, time_expression, to_row
from es_simhash.stores.stored_row import without_damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Candidates, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.sqlite.database import Database

    Times = tuple[int, int]

_READ_IF_ONE_IS_ENOUGH = 500
"""Entries of one key that are read, if a query asks for one common key. A key of a template may have many more."""
_LAST = (1 << 63) - 1
"""The largest write order that SQLite can hold."""
_READ = 20_000
"""Entries of one key that are read, if a query asks for several common keys."""


@dataclass(frozen=True)
class _Fulfilling:
    """The documents that fulfil one query.

    :param documents: their write orders.
    :param entries: for each key the write orders of the documents that have it; only of those in the times.
    :param sizes: for each key how many documents have it, whatever their times.
    :param was_cut: a key has more entries, which were not read.
    """

    documents: NDArray[np.int64]
    entries: list[NDArray[np.int64]]
    sizes: list[int]
    was_cut: bool


def _most_entries(query: KeyQuery) -> int:
    """Return how many entries of each key are read for a query."""
    return _READ_IF_ONE_IS_ENOUGH if query.minimum <= 1 else _READ


class KeySearch:
    """Finds documents that share keys, for one request.

    A key may have very many documents. Of each key only those that were written first are read.
    """

    def __init__(self, request: Candidates, database: Database) -> None:
        self._request = request
        self._database = database
        self._entries: dict[tuple[str, int], NDArray[np.int64]] = {}

    def read(self, queries: Iterable[KeyQuery]) -> None:
        """Read the entries of the keys of these queries together, in place of those that were read before."""
        self._entries = {}
        of_most: dict[int, set[str]] = {}
        for query in queries:
            of_most.setdefault(_most_entries(query), set()).update(query.keys)
        sql = """
            SELECT keys.key, written FROM json_each(?) AS asked CROSS JOIN keys ON keys.key = asked.value
            WHERE typeof(written) = 'integer' AND written <= ifnull(
                (SELECT written FROM keys WHERE keys.key = asked.value ORDER BY written LIMIT 1 OFFSET ?), ?
            )
        """
        for most, keys in of_most.items():
            with self._database.use() as connection:
                found = connection.execute(sql, [json.dumps(sorted(keys)), most - 1, _LAST]).fetchall()
            for key, entries in groupby(found, key=itemgetter(0)):
                self._entries[key, most] = np.array([written for _, written in entries], dtype=np.int64)

    def sharing(self, queries: Sequence[KeyQuery], times: Times | None, most: int) -> tuple[list[Row], int]:
        """Return the Rows of at most ``most`` documents that fulfil a query, and how many others there are.

        :meth:`read` must have read the keys of the queries.

        If entries were not read, there may be more others, and the number is at least 1.

        :param times: the first and the last time of the documents; None for all documents.
        """
        found = [some for query in queries if (some := self._fulfilling(query, times)) is not None]
        if not found:
            return [], 0
        documents = np.unique(np.concatenate([some.documents for some in found]))
        ranked = (self._ranked(documents, found) if len(documents) > most else documents).tolist()
        rows = list(islice(self._rows(ranked, most + 1), most))
        left_out = self._count(ranked) - most if len(rows) == most < len(ranked) else 0
        return rows, max(left_out, int(any(some.was_cut for some in found)))

    def _fulfilling(self, query: KeyQuery, times: Times | None) -> _Fulfilling | None:
        most = _most_entries(query)
        every_entry = {key: array for key in query.keys if (array := self._entries.get((key, most))) is not None}
        sizes = {key: len(array) for key, array in every_entry.items()}
        if times is not None:
            in_times = {key: self._entries_in_times(key, most, times) for key in every_entry}
            every_entry = {key: array for key, array in in_times.items() if len(array)}
        entries = list(every_entry.values())
        if not entries:
            return None
        every, counts = np.unique(np.concatenate(entries), return_counts=True)
        documents = every[counts >= query.minimum]
        if query.lengths is not None:
            documents = self._with_length(documents, query.lengths)
        was_cut = any(len(array) == most for array in entries)
        return _Fulfilling(documents, entries, [sizes[key] for key in every_entry], was_cut)

    def _ranked(self, documents: NDArray[np.int64], found: Sequence[_Fulfilling]) -> NDArray[np.int64]:
        """Return the documents by their scores, the highest first, then by write order."""
        best = np.zeros(len(documents))
        for some in found:
            every, indices = np.unique(np.concatenate(some.entries), return_inverse=True)
            rarities = [rarity(size, self._total) for size in some.sizes]
            scores = np.bincount(indices, np.repeat(rarities, [len(array) for array in some.entries])).round(ROUNDED_TO)
            where = np.searchsorted(documents, some.documents)
            best[where] = np.maximum(best[where], scores[np.searchsorted(every, some.documents)])
        return documents[np.argsort(-best, kind="stable")]

    def _entries_in_times(self, key: str, most: int, times: Times) -> NDArray[np.int64]:
        """Return the write orders of the first documents in some times with a key."""
        assert self._request.time_field is not None
        sql = (
            "SELECT written FROM keys CROSS JOIN documents USING (written) "
            f"WHERE key = ? AND {time_expression(self._request.time_field)} BETWEEN ? AND ? ORDER BY written LIMIT ?"
        )
        with self._database.use() as connection:
            return np.array(connection.execute(sql, [key, *times, most]).fetchall(), dtype=np.int64).reshape(-1)

    @cached_property
    def _total(self) -> int:
        """The number of documents."""
        with self._database.use() as connection:
            count: int = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
        return count

    def _with_length(self, documents: NDArray[np.int64], lengths: tuple[int, int]) -> NDArray[np.int64]:
        sql = (
            "SELECT written FROM documents WHERE written IN (SELECT value FROM json_each(?)) AND length BETWEEN ? AND ?"
        )
        with self._database.use() as connection:
            found = connection.execute(sql, [json.dumps(documents.tolist()), *lengths]).fetchall()
        return np.array(found, dtype=np.int64).reshape(-1)

    def _count(self, documents: list[int]) -> int:
        """Return how many of the documents match the request; of those with one digest one, if asked."""
        request = self._request
        if not (request.one_per_digest or request.without or request.filter is not None):
            return len(documents)
        condition, parameters = condition_of(request, self._database)
        counted = "DISTINCT digest" if request.one_per_digest else "*"
        sql = (
            f"SELECT count({counted}) FROM documents WHERE written IN (SELECT value FROM json_each(?)) AND {condition}"
        )
        with self._database.use() as connection:
            count: int = connection.execute(sql, [json.dumps(documents), *parameters]).fetchone()[0]
        return count

    def _rows(self, ranked: Sequence[int], size: int) -> Iterator[Row]:
        """Yield the Rows of these write orders that match the request, in this order; one for each digest if asked.

        :param size: so many are read together.
        """
        condition, parameters = condition_of(self._request, self._database)
        columns = row_columns(self._request.bits, keys=True, time_field=self._request.time_field)
        sql = f"SELECT {columns} FROM documents WHERE written IN (SELECT value FROM json_each(?)) AND {condition}"
        digests: set[str] = set()
        for start in range(0, len(ranked), size):
            some = ranked[start : start + size]
            with self._database.use() as connection:
                values = connection.execute(sql, [json.dumps(some), *parameters]).fetchall()
            found = {row.written: row for row in without_damaged(map(to_row, values))}
            for written in some:
                row = found.get(written)
                if row is not None and not (self._request.one_per_digest and row.digest in digests):
                    digests.add(row.digest)
                    yield row


def condition_of(request: Candidates, database: Database) -> tuple[str, list[Any]]:
    """Return the condition on every document of the reply, by the filter and the ids to leave out; its parameters."""
    conditions, parameters = ["1"], []
    if request.without:
        conditions.append("id NOT IN (SELECT value FROM json_each(?))")
        parameters.append(id_list(request.without))
    if request.filter is not None:
        condition, filter_parameters = to_sql(request.filter, trusted=database.trusted)
        conditions.append(f"({condition})")
        parameters += filter_parameters
    return " AND ".join(conditions), parameters
