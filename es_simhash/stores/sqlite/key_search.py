"""Documents that share keys, in SQLite: the view ``keys`` has the documents of each key.

The documents themselves are read where a filter or a length needs them, and for the Rows that are returned.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.search.keys import ROUNDED_TO, rarity
from es_simhash.stores.sqlite.filters import to_sql
from es_simhash.stores.sqlite.schema import (
    LENGTHS,
    id_list,
    key_entries,
    of_each_level,
    row_columns,
    time_expression,
    to_row,
)
from es_simhash.stores.stored_row import without_damaged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from es_simhash.contract import Candidates, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.sqlite.database import Database

    Times = tuple[int, int]
    Range = tuple[int, int]
    """The first and the last entry of a key."""

_READ_IF_ONE_IS_ENOUGH = 500
"""Entries of one key that are read, if a query asks for one common key. A key of a template may have many more."""
_READ = 20_000
"""Entries of one key that are read, if a query asks for several common keys."""
_COUNTED = 512
"""To choose the rarest keys, the entries of a key are counted up to this number, and further if need be."""
_SIZES = 500_000
"""Keys whose numbers of entries are remembered. With more, all are forgotten."""

_NO_DOCUMENTS = np.zeros(0, dtype=np.int64)

_WITH_ENTRIES = "SELECT value FROM json_each(?1) WHERE " + " OR ".join(
    of_each_level("EXISTS (SELECT 1 FROM {keys} WHERE key BETWEEN value AND value + ?2)")
)
_ENTRIES = " UNION ALL ".join(
    of_each_level(
        "SELECT {keys}.key, written FROM json_each(?1) CROSS JOIN {keys} ON {keys}.key BETWEEN value AND value + ?2 "
        "WHERE typeof(written) = 'integer'"
    )
)
"""The entries of each table are in their order."""
_FIRST_ENTRIES = """
    SELECT key, written FROM keys WHERE key BETWEEN ? AND ? AND typeof(written) = 'integer'
    ORDER BY key, written LIMIT ?
"""


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


def _ranges(numbers: Iterable[int], query: KeyQuery) -> list[Range]:
    """Return the range of entries of each key: those with the lengths of the query.

    :param numbers: the smallest entry of each key.
    """
    shortest, longest = (0, LENGTHS - 1) if query.lengths is None else query.lengths
    shortest, longest = min(shortest, LENGTHS - 1), min(longest, LENGTHS - 1)
    return [(number + shortest, number + longest) for number in numbers]


def _by_width(ranges: Iterable[Range]) -> dict[int, list[int]]:
    """Return where the ranges of each width begin."""
    found: dict[int, list[int]] = {}
    for first, last in ranges:
        found.setdefault(last - first, []).append(first)
    return found


class KeySearch:
    """Finds documents that share keys, for one request.

    A key may have very many documents. Of each key only some are read. First only the rarest keys of each query are
    read. If they find too many documents, all its keys are read, and the documents with the rarest common keys come
    first. If a query asks for numbers that few documents have, these documents are its candidates.
    """

    def __init__(self, request: Candidates, database: Database) -> None:
        self._request = request
        self._database = database
        if len(database.key_sizes) > _SIZES:
            database.key_sizes = {}  # not cleared: another thread may be reading it
        self._sizes = database.key_sizes
        self._rarest: dict[KeyQuery, list[Range]] = {}
        self._with_numbers: dict[KeyQuery, NDArray[np.int64]] = {}
        self._entries: dict[tuple[Range, int], NDArray[np.int64]] = {}
        self._rows_read: dict[int, Row | None] = {}

    def read(self, queries: Collection[KeyQuery]) -> None:
        """Read the entries of the rarest keys of these queries together, in place of those that were read before."""
        self._entries = {}
        self._read_numbers([query for query in queries if query.numbers])
        queries = [query for query in queries if not self._has_few(query)]
        every = key_entries([key for query in queries for key in query.keys], 0).tolist()
        ends = accumulate(len(query.keys) for query in queries)
        numbers = {query: every[end - len(query.keys) : end] for query, end in zip(queries, ends, strict=True)}
        self._count_entries({query: some for query, some in numbers.items() if query.minimum > 1})
        of_most: dict[int, set[Range]] = {}
        for query, some in numbers.items():
            if query.minimum > 1:
                some = sorted(some, key=self._sizes.__getitem__)[: query.rarest()[0]]
            self._rarest[query] = ranges = _ranges(some, query)
            of_most.setdefault(_most_entries(query), set()).update(ranges)
        for most, asked in of_most.items():
            self._read_ranges(asked, most)

    def _read_numbers(self, queries: Sequence[KeyQuery]) -> None:
        """Read the write orders of the documents with the numbers that these queries ask for, unless they are many."""
        ranges = {query: _ranges(key_entries(query.numbers, 0).tolist(), query) for query in queries}
        self._read_ranges({each for some in ranges.values() for each in some}, _READ)
        for query, some in ranges.items():
            entries = [array for each in some if (array := self._entries.get((each, _READ))) is not None]
            if all(len(array) < _READ for array in entries):
                self._with_numbers[query] = np.unique(np.concatenate(entries)) if entries else _NO_DOCUMENTS

    def _has_few(self, query: KeyQuery) -> bool:
        """Return whether few documents have the numbers that a query asks for."""
        documents = self._with_numbers.get(query)
        return documents is not None and len(documents) <= _READ_IF_ONE_IS_ENOUGH

    def _count_entries(self, numbers: Mapping[KeyQuery, Sequence[int]]) -> None:
        """Find out about how many documents have each key. It is exact enough to choose the rarest.

        :param numbers: of the keys of each query.
        """
        sizes = self._sizes
        counts = of_each_level(
            "(SELECT count(*) FROM (SELECT 1 FROM {keys} WHERE key BETWEEN value AND value + {longest} LIMIT ?2))",
            longest=str(LENGTHS - 1),
        )
        sql = f"SELECT value, min(?2, {' + '.join(counts)}) FROM json_each(?1)"
        most = _COUNTED
        unknown = {number for some in numbers.values() for number in some if number not in sizes}
        while unknown and most < _READ:
            with self._database.use() as connection:
                sizes.update(connection.execute(sql, [json.dumps(sorted(unknown)), most]).fetchall())
            # Where too few keys are rare, the others are told from each other.
            unknown = {
                number
                for query, some in numbers.items()
                if sum(sizes[number] < most for number in some) < query.rarest()[0]
                for number in some
                if number in unknown and sizes[number] == most
            }
            most *= 16

    def _read_ranges(self, asked: Collection[Range], most: int) -> None:
        """Read the first entries of each of these ranges."""
        sizes = self._sizes
        if most <= _READ_IF_ONE_IS_ENOUGH:  # their entries were not counted, and most of these keys have none
            large = list(self._with_entries(asked))
        else:
            large = [each for each in asked if sizes.get(each[0] & -LENGTHS, 0) >= most]
            self._read_whole([each for each in asked if sizes.get(each[0] & -LENGTHS, 0) < most], most)
        with self._database.use() as connection:
            for first, last in large:
                if some := connection.execute(_FIRST_ENTRIES, [first, last, most]).fetchall():
                    self._entries[(first, last), most] = np.array(some, dtype=np.int64)[:, 1]

    def _with_entries(self, asked: Iterable[Range]) -> Iterator[Range]:
        """Yield the ranges that have an entry."""
        for width, some in _by_width(asked).items():
            with self._database.use() as connection:
                found = connection.execute(_WITH_ENTRIES, [json.dumps(sorted(some)), width]).fetchall()
            yield from ((first, first + width) for (first,) in found)

    def _read_whole(self, asked: Iterable[Range], most: int) -> None:
        """Read these ranges. Those of one key are read together: texts of many lengths look for it."""
        of_key: dict[int, list[Range]] = {}
        for each in asked:
            of_key.setdefault(each[0] & -LENGTHS, []).append(each)
        together = {(min(first for first, _ in some), max(last for _, last in some)): some for some in of_key.values()}
        for width, firsts in _by_width(together).items():
            with self._database.use() as connection:
                found = connection.execute(_ENTRIES, [json.dumps(sorted(firsts)), width]).fetchall()
            entries, written = np.fromiter(chain.from_iterable(found), np.int64, 2 * len(found)).reshape(-1, 2).T
            order = np.argsort(entries, kind="stable")  # it merges what comes in order
            entries, written = entries[order], written[order]
            some = [each for first in firsts for each in together[first, first + width]]
            starts = np.searchsorted(entries, [first for first, _ in some])
            ends = np.searchsorted(entries, [last for _, last in some], side="right")
            for each, start, end in zip(some, starts.tolist(), ends.tolist(), strict=True):
                if end - start > most:
                    first_ones = start + np.lexsort((written[start:end], entries[start:end]))[:most]
                    self._entries[each, most] = written[first_ones]
                elif start < end:
                    self._entries[each, most] = written[start:end]

    def sharing(self, queries: Sequence[KeyQuery], times: Times | None, most: int) -> tuple[list[Row], int]:
        """Return the Rows of at most ``most`` documents that fulfil a query, and how many others there are.

        :meth:`read` must have read the keys of the queries.

        If entries were not read, there may be more others, and the number is at least 1.

        :param times: the first and the last time of the documents; None for all documents.
        """
        if times is None and (few := self._few(queries, most)) is not None:
            return few
        found = [some for query in queries if (some := self._fulfilling(query, times)) is not None]
        if not found:
            return [], 0
        documents = np.unique(np.concatenate([some.documents for some in found]))
        ranked = (self._ranked(documents, found) if len(documents) > most else documents).tolist()
        rows = list(islice(self._rows(ranked, most + 1), most))
        left_out = self._count(ranked) - most if len(rows) == most < len(ranked) else 0
        return rows, max(left_out, int(any(some.was_cut for some in found)))

    def _few(self, queries: Sequence[KeyQuery], most: int) -> tuple[list[Row], int] | None:
        """:meth:`sharing` by the rarest keys; None if these find more than ``most`` documents."""
        found: list[NDArray[np.int64]] = []
        was_cut = False
        if all(map(self._has_few, queries)):
            return self._with_few_numbers(queries, most)
        for query in queries:
            if self._has_few(query):  # among the lengths of another query of the text they may be many
                found.append(self._with_numbers[query])
                continue
            read = _most_entries(query)
            entries = [array for each in self._rarest[query] if (array := self._entries.get((each, read))) is not None]
            if not entries:
                continue
            was_cut |= any(len(array) == read for array in entries)
            _, common = query.rarest()
            documents, counts = np.unique(np.concatenate(entries), return_counts=True)
            found.append(documents[counts >= common])
        if not found:
            return [], 0
        together = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
        if len(together) > most:
            return None
        rows = [row for row in self._rows(together.tolist(), max(1, len(together))) if _fulfils_any(row, queries)]
        return rows, int(was_cut)

    def _with_few_numbers(self, queries: Sequence[KeyQuery], most: int) -> tuple[list[Row], int]:
        """:meth:`sharing` among the few documents that have the numbers of the queries.

        All keys count as equally rare.
        """
        documents = np.unique(np.concatenate([self._with_numbers[query] for query in queries])).tolist()
        rows = [row for row in self._rows(documents, max(1, len(documents))) if _fulfils_any(row, queries)]
        if len(rows) > most:
            rows.sort(key=lambda row: -max(len(set(query.keys).intersection(row.keys)) for query in queries))
        return rows[:most], max(0, len(rows) - most)

    def _fulfilling(self, query: KeyQuery, times: Times | None) -> _Fulfilling | None:
        most = _most_entries(query)
        ranges = _ranges(key_entries(query.keys, 0).tolist(), query)
        self._read_ranges([each for each in ranges if (each, most) not in self._entries], most)
        every_entry = {each: array for each in ranges if (array := self._entries.get((each, most))) is not None}
        sizes = {each: len(array) for each, array in every_entry.items()}
        if times is not None:
            in_times = {each: self._entries_in_times(each, most, times) for each in every_entry}
            every_entry = {each: array for each, array in in_times.items() if len(array)}
        entries = list(every_entry.values())
        if not entries:
            return None
        every, counts = np.unique(np.concatenate(entries), return_counts=True)
        documents = every[counts >= query.minimum]
        if query.lengths is not None:
            documents = self._with_length(documents, query.lengths)
        if query.numbers:
            documents = self._having_numbers(documents, query)
        was_cut = any(len(array) == most for array in entries)
        return _Fulfilling(documents, entries, [sizes[each] for each in every_entry], was_cut)

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

    def _entries_in_times(self, entries: Range, most: int, times: Times) -> NDArray[np.int64]:
        """Return the write orders of the first documents in some times with a key."""
        assert self._request.time_field is not None
        selects = of_each_level(
            "SELECT key, written FROM {keys} CROSS JOIN documents USING (written) "
            "WHERE key BETWEEN ?1 AND ?2 AND {time} BETWEEN ?3 AND ?4",
            time=time_expression(self._request.time_field),
        )
        sql = f"{' UNION ALL '.join(selects)} ORDER BY key, written LIMIT ?5"
        with self._database.use() as connection:
            found = connection.execute(sql, [*entries, *times, most]).fetchall()
        return np.array(found, dtype=np.int64).reshape(-1, 2)[:, 1]

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

    def _having_numbers(self, documents: NDArray[np.int64], query: KeyQuery) -> NDArray[np.int64]:
        """Return those of the documents that have the numbers which a query asks for."""
        if (having := self._with_numbers.get(query)) is None:
            sql = "SELECT written FROM keys WHERE key BETWEEN ? AND ? AND written IN (SELECT value FROM json_each(?))"
            some = json.dumps(documents.tolist())
            with self._database.use() as connection:
                found = [
                    connection.execute(sql, [*each, some]).fetchall()
                    for each in _ranges(key_entries(query.numbers, 0).tolist(), query)
                ]
            having = np.array([written for rows in found for (written,) in rows], dtype=np.int64)
        return documents[np.isin(documents, having)]

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
        read = self._rows_read
        for start in range(0, len(ranked), size):
            some = ranked[start : start + size]
            if unknown := [written for written in some if written not in read]:
                with self._database.use() as connection:
                    values = connection.execute(sql, [json.dumps(unknown), *parameters]).fetchall()
                read.update(dict.fromkeys(unknown))
                read.update({row.written: row for row in without_damaged(map(to_row, values))})
            for written in some:
                row = read[written]
                if row is not None and not (self._request.one_per_digest and row.digest in digests):
                    digests.add(row.digest)
                    yield row


def _fulfils_any(row: Row, queries: Sequence[KeyQuery]) -> bool:
    """Return whether a document fulfils one of the queries; True if it is damaged, for others to see."""
    return bool(row.damaged) or any(query.is_fulfilled_by(row.keys, row.length) for query in queries)


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
