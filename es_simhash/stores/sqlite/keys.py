"""The keys of the documents of a file: the levels of a :class:`~es_simhash.search.key_table.KeyTable` in pages.

The position of a document in the table is its ``number``, which it gets with each write. So the entries of a former
state, or of a document that was removed, lead to no document. They are dropped when all levels become one. A level has
pages of the same number of entries, and a directory: the first entry of each page. A level is never changed, and its
number is never used again. So what is known of it stays true as long as it is there. When levels are merged, the new
one gets their pages: a page of the file is written anew, and no room is lost.

A page that a search reads is kept. When searches have used as many pages as a level has, all of them are read.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.free_memory import free_memory
from es_simhash.search.encoding import GRAM, kind_of
from es_simhash.search.key_table import (
    MOST,
    POSITION_BITS,
    Array,
    KeyTable,
    entries_of,
    merged,
    most_entries_held,
    without_length,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from es_simhash.contract import Row

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]

PAGE = 500
"""Entries of a page: with them a row of the table fills a page of the file."""
TABLES = (
    """CREATE TABLE IF NOT EXISTS key_levels (
        level INTEGER PRIMARY KEY AUTOINCREMENT,
        last INTEGER NOT NULL,
        firsts BLOB NOT NULL,
        pages BLOB NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS key_pages (page INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
)
"""A level has the last position that was given to a document, the first entry of each page as unsigned integers of 64
bits, and the pages as signed ones."""
_KEPT = 8_192
"""Pages of a level that are kept, unless all of them are: 32 MB. If there are more, all are read again."""
_COUNTED = 2
"""To find out how many entries a key has, up to so many pages are read."""
_NUMBERED = f"number BETWEEN 1 AND {MOST - 1}"
"""The condition on documents with a number. Another program may have written anything."""
_BYTES = 8
_LENGTHS = 128
"""Lengths that the entries of a q-gram tell apart."""
_SOME = 10
"""Documents with a frequent key that are named."""


class FileLevel:
    """A Level in the file.

    :param firsts: the first entry of each page.
    :param pages: the pages.
    :param page: entries of each page but the last one.
    :param read: returns the entries of some pages, in the order in which they were asked for.
    :param values: all entries, if they are known.
    """

    def __init__(
        self,
        firsts: Words,
        pages: Integers,
        page: int,
        read: Callable[[Sequence[int]], list[Words]],
        values: Words | None = None,
    ) -> None:
        self.pages = pages
        self._page = page
        self._firsts = firsts
        self._read = read
        self._known: dict[int, Words] = {}
        self._used = 0
        self._whole = None if values is None else Array(values)

    def __len__(self) -> int:
        return len(self.pages) * self._page if self._whole is None else len(self._whole)

    def sizes(self, lowest: Words, highest: Words) -> Integers:
        if self._whole is not None:
            return self._whole.sizes(lowest, highest)
        pages, last = self._span(lowest, highest)
        sizes = (last - pages) * self._page
        few = last - pages < _COUNTED
        values = self._values(pages[few], last[few])
        sizes[few] = values.sizes(lowest[few], highest[few])
        return sizes

    def entries(
        self, lowest: Words, highest: Words, most: int | None = None, *, last: bool = False
    ) -> tuple[Words, Integers]:
        if self._whole is not None:
            return self._whole.entries(lowest, highest, most, last=last)
        pages, last_page = self._span(lowest, highest)
        if most is not None:
            room = most // self._page + 1
            if last:
                pages = np.maximum(pages, last_page - room)
            else:
                last_page = np.minimum(last_page, pages + room)
        return self._values(pages, last_page).entries(lowest, highest, most, last=last)

    @property
    def is_known(self) -> bool:
        """All entries are in memory."""
        return self._whole is not None

    def whole(self) -> Words:
        """Return all entries."""
        if self._whole is not None:
            return self._whole.values
        return np.concatenate(self._read(self.pages.tolist()))

    def _span(self, lowest: Words, highest: Words) -> tuple[Integers, Integers]:
        """Return the first and the last page that may have entries of each range."""
        pages = np.maximum(np.searchsorted(self._firsts, lowest, side="right") - 1, 0)
        return pages, np.maximum(np.searchsorted(self._firsts, highest, side="right") - 1, pages)

    def _values(self, first: Integers, last: Integers) -> Array:
        """Return the entries of the pages from each first one to the last one."""
        marks = np.zeros(len(self.pages) + 1, dtype=np.int64)
        np.add.at(marks, first, 1)
        np.add.at(marks, last + 1, -1)
        needed = np.flatnonzero(np.cumsum(marks)[:-1])
        known = self._known
        missing = [page for page in needed.tolist() if page not in known]
        self._used += len(needed)
        if self._used > len(self.pages):
            self._used = 0
            if len(self) <= most_entries_held(free_memory()):
                self._whole, self._known = Array(self.whole()), {}
                return self._whole
        if len(known) > _KEPT:
            known, self._known = {}, {}
            missing = needed.tolist()
        for page, entries in zip(missing, self._read(self.pages[missing].tolist()), strict=True):
            known[page] = entries
        if not len(needed):
            return Array(np.zeros(0, dtype=np.uint64))
        return Array(np.concatenate([known[page] for page in needed.tolist()]))


class StoredKeys:
    """The keys of one file, as far as they are known.

    Methods are called in a transaction (:meth:`Database.transaction`).

    :param name: of the store, for messages.
    :param page: entries of a page.
    :param most: the largest position.
    """

    def __init__(self, name: str, page: int = PAGE, most: int = MOST - 1) -> None:
        self._name = name
        self._page = page
        self._most = most
        self._levels: dict[int, FileLevel] = {}

    def forget(self) -> None:
        """Read the levels again before they are used, because a transaction was rolled back."""
        self._levels = {}

    def table(self, connection: Connection) -> KeyTable:
        """Return the keys of all documents. The table can be used in this transaction."""
        return KeyTable(list(self._current(connection).values()), self._last_number(connection) + 1)

    def _current(self, connection: Connection) -> dict[int, FileLevel]:
        """Return the levels by their number, the largest first."""
        numbers = [number for (number,) in connection.execute("SELECT level FROM key_levels ORDER BY level")]
        known = self._levels
        self._levels = {number: known.get(number) or self._opened(number, connection) for number in numbers}
        return self._levels

    def _opened(self, number: int, connection: Connection) -> FileLevel:
        sql = "SELECT firsts, pages FROM key_levels WHERE level = ?"
        firsts, pages = connection.execute(sql, [number]).fetchone()
        try:
            firsts, pages = np.frombuffer(firsts, dtype="<u8"), np.frombuffer(pages, dtype="<i8")
        except (TypeError, ValueError) as error:
            raise self._damaged() from error
        if len(firsts) != len(pages):
            raise self._damaged()
        return self._level(firsts, pages, connection)

    def _level(self, firsts: Words, pages: Integers, connection: Connection, values: Words | None = None) -> FileLevel:
        return FileLevel(firsts, pages, self._page, partial(self._read_pages, connection), values)

    def _read_pages(self, connection: Connection, pages: Sequence[int]) -> list[Words]:
        sql = "SELECT page, entries FROM key_pages WHERE page IN (SELECT value FROM json_each(?))"
        found = dict(connection.execute(sql, [json.dumps(pages)]))
        try:
            return [np.frombuffer(found[page], dtype="<u8") for page in pages]
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged() from error

    def _damaged(self) -> StoreError:
        return StoreError(f"{self._name} is damaged: its table of keys cannot be read; restore it from a copy")

    def most_frequent(self, most: int, connection: Connection) -> list[tuple[int, int, list[int]]]:
        """Return the most frequent keys as entries have them, their numbers of documents, and some of these documents.

        Former states of documents are counted until all levels become one.
        """
        shift = np.uint64(POSITION_BITS)
        counted = [
            np.unique(without_length(level.whole() >> shift), return_counts=True)
            for level in self._current(connection).values()
        ]
        if not counted:
            return []
        keys, indices = np.unique(np.concatenate([some for some, _ in counted]), return_inverse=True)
        counts = np.bincount(indices, np.concatenate([some for _, some in counted])).astype(np.int64)
        found = []
        for index in np.lexsort((keys, -counts))[:most].tolist():
            lowest = keys[index : index + 1] << shift
            highest = lowest | np.uint64((_LENGTHS << POSITION_BITS if kind_of(int(keys[index])) == GRAM else MOST) - 1)
            some = [level.entries(lowest, highest, _SOME)[0] & np.uint64(MOST - 1) for level in self._levels.values()]
            found.append((int(keys[index]), int(counts[index]), np.concatenate(some).tolist()))
        return found

    def add(self, rows: Sequence[Row], numbers: Sequence[int], connection: Connection) -> None:
        """Write the keys of documents.

        :param numbers: of the documents.
        """
        entries = entries_of([row.keys for row in rows], [row.length for row in rows], np.array(numbers, np.int64))
        if len(entries):
            self._add(entries, max(numbers), connection)

    def _add(self, entries: Words, last: int, connection: Connection) -> None:
        """:meth:`add`; ``last`` is the last position that was given to a document."""
        levels = self._current(connection)
        every = list(levels.values())
        kept = merged(every, entries)
        known = all(level.is_known for level in every[kept:])
        parts = [level.whole() for level in every[kept:]]
        values = np.sort(np.concatenate([*parts, entries]), kind="stable")  # it merges what comes in order
        if not kept and every:
            values = _without_removed(values, connection)
        pages = np.concatenate([np.zeros(0, dtype=np.int64), *(level.pages for level in every[kept:])])
        pages = self._write_pages(values, pages, connection)
        firsts = values[:: self._page]
        gone = [[number] for number in list(levels)[kept:]]
        connection.executemany("DELETE FROM key_levels WHERE level = ?", gone)
        sql = "INSERT INTO key_levels (last, firsts, pages) VALUES (?, ?, ?)"
        number = connection.execute(sql, [last, firsts.tobytes(), pages.tobytes()]).lastrowid
        assert number is not None
        made = self._level(firsts, pages, connection, values if known else None)
        self._levels = {**dict(list(levels.items())[:kept]), number: made}

    def _write_pages(self, values: Words, pages: Integers, connection: Connection) -> Integers:
        """Write entries; return their pages.

        :param pages: that are used first. Those that are not needed are removed.
        """
        count = -(-len(values) // self._page)
        if len(pages) < count:
            (last,) = connection.execute("SELECT ifnull(max(page), 0) FROM key_pages").fetchone()
            pages = np.concatenate([pages, np.arange(last + 1, last + 1 + count - len(pages))])
        pages, surplus = pages[:count], pages[count:]
        data, size = values.astype("<u8").tobytes(), self._page * _BYTES
        rows = ((page, data[number * size : (number + 1) * size]) for number, page in enumerate(pages.tolist()))
        connection.executemany("REPLACE INTO key_pages VALUES (?, ?)", rows)
        connection.executemany("DELETE FROM key_pages WHERE page = ?", [[page] for page in surplus.tolist()])
        return pages

    def next_number(self, count: int, connection: Connection) -> int:
        """Return the first of so many numbers that no document has."""
        last = self._last_number(connection)
        if last + count > self._most:
            last = self._renumber(connection)
        return last + 1

    def _renumber(self, connection: Connection) -> int:
        """Give the documents the numbers from 1 on, in their order; return the last one."""
        sql = f"SELECT number FROM documents WHERE {_NUMBERED} ORDER BY number"
        old = np.array([number for (number,) in connection.execute(sql)], dtype=np.int64)
        levels = self._current(connection)
        values = np.concatenate([np.zeros(0, dtype=np.uint64), *(level.whole() for level in levels.values())])
        values = _without_removed(values, connection)
        new = np.searchsorted(old, (values & np.uint64(MOST - 1)).astype(np.int64)) + 1
        values = np.sort(values >> np.uint64(POSITION_BITS) << np.uint64(POSITION_BITS) | new.astype(np.uint64))
        changed = ((new, each) for new, each in enumerate(old.tolist(), 1))
        connection.executemany("UPDATE documents SET number = ? WHERE number = ?", changed)
        for table in ("key_levels", "key_pages"):
            connection.execute(f"DELETE FROM {table}")
        self._levels = {}
        if len(values):
            self._add(values, len(old), connection)
        return len(old)

    def _last_number(self, connection: Connection) -> int:
        last: int = connection.execute("SELECT ifnull(max(last), 0) FROM key_levels").fetchone()[0]
        if type(last) is not int or not 0 <= last < MOST:
            raise self._damaged()
        return last


def _without_removed(entries: Words, connection: Connection) -> Words:
    """Return the entries of the documents that are there."""
    found = connection.execute(f"SELECT number FROM documents WHERE {_NUMBERED}").fetchall()
    there = np.zeros(MOST, dtype=np.bool_)
    there[np.array(found, dtype=np.int64).reshape(-1)] = True
    return entries[there[(entries & np.uint64(MOST - 1)).astype(np.int64)]]
