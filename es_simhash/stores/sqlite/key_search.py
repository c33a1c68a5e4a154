"""Documents that share keys, in SQLite. The table of keys says which may; their rows are read and decide."""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.stores.sqlite.filters import to_sql
from es_simhash.stores.sqlite.schema import id_list, row_columns, time_expression, to_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from es_simhash.contract import Candidates, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.sqlite.database import Database

    Times = tuple[int, int]

_TOGETHER = 500
"""Searches whose keys are looked up together."""
_COUNTED = 500
"""If more documents may fulfil a query, it is not counted how many of them match the filter."""


def with_keys(request: Candidates, database: Database, connection: Connection) -> tuple[dict[str, Row], dict[int, int]]:
    """Return the Rows by id that fulfil queries of a request, and how many others there are by the index of the Probe.

    :param connection: in a transaction.
    """
    searches = list(request.key_searches().items())
    rows: dict[str, Row] = {}
    left_out: dict[int, int] = {}
    for start in range(0, len(searches), _TOGETHER):
        some = searches[start : start + _TOGETHER]
        search = _KeySearch(request, database, connection, [queries for (queries, _, _), _ in some])
        for number, ((_, times, most), probes) in enumerate(some):
            sharing, more = search.sharing(number, times, most)
            rows |= {row.id: row for row in sharing}
            if more:
                left_out |= dict.fromkeys(probes, more)
    return rows, left_out


class _KeySearch:
    """Finds documents that fulfil queries on their keys.

    If few documents may fulfil the queries of a search, their rows are read. If there are more, the documents with the
    rarest common keys are read first. A key may have very many documents: then only some count.
    """

    def __init__(
        self,
        request: Candidates,
        database: Database,
        connection: Connection,
        queries: Sequence[Sequence[KeyQuery]],
    ) -> None:
        self._request = request
        self._connection = connection
        self._queries = queries
        self._table = database.keys.table(connection)
        condition, parameters = condition_of(request, database)
        self._condition, self._parameters = condition, parameters
        columns = row_columns(request.bits, keys=True, time_field=request.time_field)
        self._sql = f"SELECT number, {columns} FROM documents WHERE number IN (SELECT value FROM json_each(?))"
        self._read: dict[int, Row | None] = {}
        self._few = self._table.sharing(queries, max(most for _, _, most in request.key_searches()))
        self._read_rows(sorted({number for some in self._few for number in some or ()}))

    def sharing(self, number: int, times: Times | None, most: int) -> tuple[list[Row], int]:
        """Return the Rows of at most ``most`` documents that fulfil a query of a search, and how many others there are.

        If not all entries of a key were read, there may be more others, and the number is at least 1.

        :param times: the first and the last time of the documents; None for all documents.
        """
        queries, few = self._queries[number], self._few[number]
        if few is not None and len(few) <= most:
            few = sorted(few, key=lambda number: row.written if (row := self._read[number]) else 0)
            rows = list(self._rows(few, queries, times, max(1, len(few))))
            return list(_first_of_digests(rows) if self._request.one_per_digest else rows), 0
        numbers, scores, was_cut = self._scored(queries, times)
        ranked = self._ranked(numbers, scores, most + 1)
        found = chain.from_iterable(self._rows(some, queries, times, most + 1) for some in ranked)
        rows = list(islice(_first_of_digests(found) if self._request.one_per_digest else found, most + 1))
        left_out = int(was_cut)
        if len(rows) > most:
            is_limited = self._condition != "1" or times is not None
            counted = is_limited and len(numbers) <= _COUNTED
            left_out = max(1, (self._count(numbers, times) if counted else len(numbers)) - most)
        return rows[:most], left_out

    def _scored(
        self, queries: Sequence[KeyQuery], times: Times | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
        """Return the numbers of the documents that may fulfil a query, ascending, their scores, and whether some are
        missing.
        """
        found = [self._table.ranked(query, len(self._table), last=times is not None) for query in queries]
        numbers, indices = np.unique(np.concatenate([some.positions for some in found]), return_inverse=True)
        best = np.zeros(len(numbers))
        np.maximum.at(best, indices, np.concatenate([some.scores for some in found]))
        return numbers, best, any(some.was_cut for some in found)

    def _ranked(self, numbers: NDArray[np.int64], scores: NDArray[np.float64], size: int) -> Iterator[list[int]]:
        """Yield the numbers of the documents that are there: the highest score first, then those written first.

        :param size: about so many come together.
        """
        order = np.argsort(-scores, kind="stable")
        start = 0
        while start < len(order):
            end = int(np.searchsorted(-scores[order], -scores[order[min(start + size, len(order)) - 1]], side="right"))
            some, start = order[start:end], end
            sql = "SELECT number, written FROM documents WHERE number IN (SELECT value FROM json_each(?))"
            written = dict(self._connection.execute(sql, [json.dumps(numbers[some].tolist())]))
            of_some = zip((-scores[some]).tolist(), numbers[some].tolist(), strict=True)
            yield [number for _, _, number in sorted((s, written[n], n) for s, n in of_some if n in written)]

    def _count(self, numbers: NDArray[np.int64], times: Times | None) -> int:
        """Return how many of the documents match the request; of those with one digest one, if asked."""
        condition, parameters = self._in_times(times)
        counted = "DISTINCT digest" if self._request.one_per_digest else "*"
        sql = f"SELECT count({counted}) FROM documents WHERE number IN (SELECT value FROM json_each(?)) AND {condition}"
        count: int = self._connection.execute(sql, [json.dumps(numbers.tolist()), *parameters]).fetchone()[0]
        return count

    def _in_times(self, times: Times | None) -> tuple[str, list[Any]]:
        """Return the condition of the request, and that on the time of a document; their parameters."""
        if times is None:
            return self._condition, self._parameters
        assert self._request.time_field is not None
        time = time_expression(self._request.time_field)
        return f"{self._condition} AND {time} BETWEEN ? AND ?", [*self._parameters, *times]

    def _rows(
        self, ranked: Sequence[int], queries: Sequence[KeyQuery], times: Times | None, size: int
    ) -> Iterator[Row]:
        """Yield the Rows with these numbers that fulfil a query, in this order.

        :param size: so many are read together.
        """
        for start in range(0, len(ranked), size):
            some = ranked[start : start + size]
            self._read_rows([number for number in some if number not in self._read])
            for number in some:
                row = self._read[number]
                if row is None:
                    continue
                if times is not None and (row.time is None or not times[0] <= row.time <= times[1]):
                    continue
                # Whether a damaged document fulfils a query is not known: it is for others to see.
                if row.damaged or any(query.is_fulfilled_by(row.keys, row.length) for query in queries):
                    yield row

    def _read_rows(self, numbers: Sequence[int]) -> None:
        """Read the documents with these numbers that match the request."""
        if not numbers:
            return
        sql = f"{self._sql} AND {self._condition}"
        found = self._connection.execute(sql, [json.dumps(numbers), *self._parameters]).fetchall()
        self._read |= dict.fromkeys(numbers)
        for number, *values in found:
            self._read[number] = to_row(values)


def _first_of_digests(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the first Row of each digest, and those of damaged documents."""
    digests: set[str] = set()
    for row in rows:
        if row.damaged or row.digest not in digests:
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
