"""The keys of the documents of a file: the levels of a :class:`~es_simhash.search.key_table.KeyTable` in pages.

The position of a document in the table is its ``number``, which it gets with each write. So the entries of a former
state, or of a document that was removed, lead to no document. They are dropped when all levels become one. A level has
pages of the same number of entries, and a directory: the first entry of each page. A level is never changed, and its
number is never used again. So what is known of it stays true as long as it is there. Levels are merged piece by piece.
The new level gets the pages that have been read. So the file holds no second copy, and the memory holds one piece.

A page that a search reads stays in memory. When searches have used as many pages as a level has, the whole level is
read into memory.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.free_memory import free_memory
from es_simhash.search.key_levels import (
    MOST,
    POSITION_BITS,
    Array,
    entries_of,
    positions_of,
)
from es_simhash.search.key_table import KeyTable, most_entries_held
from es_simhash.search.levels import levels_kept
from es_simhash.search.runs import in_any_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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
_PIECE = 2_000
"""Pages of the largest level that are merged with others at once."""
_MANY = 1_000_000
"""If there are more keys, those of one document in a level are not counted."""
_NO_PAGES = np.zeros(0, dtype=np.int64)
_BYTES = 8
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
        pages, last_pages = self._span(lowest, highest)
        sizes = (last_pages - pages) * self._page
        few = last_pages - pages < _COUNTED
        values = self._values(pages[few], last_pages[few])
        sizes[few] = values.sizes(lowest[few], highest[few])
        return sizes

    def entries(
        self, lowest: Words, highest: Words, most: int | None = None, *, last: bool = False
    ) -> tuple[Words, Integers]:
        if self._whole is not None:
            return self._whole.entries(lowest, highest, most, last=last)
        pages, last_pages = self._span(lowest, highest)
        if most is not None:
            room = most // self._page + 1
            if last:
                pages = np.maximum(pages, last_pages - room)
            else:
                last_pages = np.minimum(last_pages, pages + room)
        return self._values(pages, last_pages).entries(lowest, highest, most, last=last)

    @property
    def is_known(self) -> bool:
        """All entries are in memory."""
        return self._whole is not None

    def whole(self) -> Words:
        """Return all entries."""
        if self._whole is not None:
            return self._whole.values
        return np.concatenate(self._read(self.pages.tolist()))

    def bounds(self, pages: int) -> Words:
        """Return entries between which there are so many pages each."""
        return self._firsts[pages::pages]

    def between(self, low: np.uint64 | None, high: np.uint64 | None) -> tuple[Words, Integers]:
        """Return the entries from ``low`` on and below ``high``, and the pages that have entries from ``low`` on and
        end below ``high``. None is no limit.
        """
        first = 0 if low is None else max(0, int(np.searchsorted(self._firsts, low, side="right")) - 1)
        end = len(self.pages) if high is None else int(np.searchsorted(self._firsts, high))
        ended = end if high is None else max(first, int(np.searchsorted(self._firsts, high, side="right")) - 1)
        if self._whole is not None:
            values = self._whole.values
        elif first < end:
            values = np.concatenate(self._read(self.pages[first:end].tolist()))
        else:
            values = np.zeros(0, dtype=np.uint64)
        return values[_slice(values, low, high)], self.pages[first:ended]

    def _span(self, lowest: Words, highest: Words) -> tuple[Integers, Integers]:
        """Return the first and the last page that may have entries of each range."""
        pages = np.maximum(np.searchsorted(self._firsts, lowest, side="right") - 1, 0)
        return pages, np.maximum(np.searchsorted(self._firsts, highest, side="right") - 1, pages)

    def _values(self, first: Integers, last: Integers) -> Array:
        """Return the entries of the pages from each first one to the last one."""
        needed = in_any_run(first, last, len(self.pages))
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


def _slice(values: Words, low: np.uint64 | None, high: np.uint64 | None) -> slice:
    start = None if low is None else int(np.searchsorted(values, low))
    return slice(start, None if high is None else int(np.searchsorted(values, high)))


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
        kept = levels_kept([len(level) for level in every], len(entries))
        some = every[kept:]
        is_held = all(level.is_known for level in some)
        is_held &= len(entries) + sum(map(len, some)) <= most_entries_held(free_memory())
        there = _numbers_there(last, connection) if every and not kept else None
        made = _Pages(self._page, connection)
        values = []
        for piece, read in _pieces(some, entries):
            made.free(read)
            if there is not None:  # all levels become one
                piece = _of_these(piece, there)
            made.write(piece)
            if is_held:
                values.append(piece)
        firsts, pages = made.end()
        gone = [[number] for number in list(levels)[kept:]]
        connection.executemany("DELETE FROM key_levels WHERE level = ?", gone)
        sql = "INSERT INTO key_levels (last, firsts, pages) VALUES (?, ?, ?)"
        number = connection.execute(sql, [last, firsts.tobytes(), pages.tobytes()]).lastrowid
        assert number is not None
        level = self._level(firsts, pages, connection, np.concatenate(values) if is_held else None)
        self._levels = {**dict(list(levels.items())[:kept]), number: level}

    def next_number(self, count: int, connection: Connection) -> int:
        """Return the first of so many numbers that no document has."""
        last = self._last_number(connection)
        if last + count > self._most:
            last = self._renumber(connection)
        return last + 1

    def _renumber(self, connection: Connection) -> int:
        """Give the documents the numbers from 1 on, in their order; return the last one."""
        there = _numbers_there(self._last_number(connection), connection)
        old = np.flatnonzero(there)
        levels = self._current(connection)
        values = np.concatenate([np.zeros(0, dtype=np.uint64), *(level.whole() for level in levels.values())])
        values = _of_these(values, there)
        new = np.searchsorted(old, positions_of(values)) + 1
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


def _numbers_there(last: int, connection: Connection) -> NDArray[np.bool_]:
    """Return for each number up to the last one whether a document has it."""
    there = np.zeros(last + 1, dtype=np.bool_)
    numbers = connection.execute(f"SELECT number FROM documents WHERE {_NUMBERED}").fetchall()
    found = np.array(numbers, dtype=np.int64).reshape(-1)
    there[found[found <= last]] = True
    return there


def _of_these(entries: Words, there: NDArray[np.bool_]) -> Words:
    """Return the entries of documents with these numbers. Another program may have written larger ones."""
    numbers = positions_of(entries)
    return entries[there.take(numbers, mode="clip") & (numbers < len(there))]


def _pieces(levels: Sequence[FileLevel], entries: Words) -> Iterator[tuple[Words, Integers]]:
    """Yield the entries of some levels and some more in their order, with the pages that have been read."""
    bounds = levels[0].bounds(_PIECE).tolist() if levels else []
    for low, high in pairwise([None, *(np.uint64(bound) for bound in bounds), None]):
        parts = [level.between(low, high) for level in levels]
        every = np.concatenate([*(values for values, _ in parts), entries[_slice(entries, low, high)]])
        # A stable sort merges what comes in order.
        yield np.sort(every, kind="stable"), np.concatenate([_NO_PAGES, *(pages for _, pages in parts)])


class _Pages:
    """The pages of a level that is being written.

    :param size: entries of a page.
    """

    def __init__(self, size: int, connection: Connection) -> None:
        self._size = size
        self._connection = connection
        self._free: list[int] = []
        self._next: int = connection.execute("SELECT ifnull(max(page), 0) FROM key_pages").fetchone()[0] + 1
        self._left = np.zeros(0, dtype=np.uint64)
        self._firsts = [self._left]
        self._pages: list[int] = []

    def free(self, pages: Integers) -> None:
        """Use these pages again."""
        self._free += pages.tolist()

    def write(self, values: Words) -> None:
        """Write entries, as far as they fill pages."""
        values = np.concatenate([self._left, values])
        whole = len(values) // self._size * self._size
        self._write(values[:whole])
        self._left = values[whole:]

    def end(self) -> tuple[Words, Integers]:
        """Write the other entries, and remove the pages that are free. Return the first entry of each page, and the
        pages.
        """
        self._write(self._left)
        self._connection.executemany("DELETE FROM key_pages WHERE page = ?", [[page] for page in self._free])
        return np.concatenate(self._firsts), np.array(self._pages, dtype=np.int64)

    def _write(self, values: Words) -> None:
        count = -(-len(values) // self._size)
        used, self._free = self._free[:count], self._free[count:]
        new = range(self._next, self._next + count - len(used))
        self._next += len(new)
        pages = [*used, *new]
        data, size = values.astype("<u8").tobytes(), self._size * _BYTES
        rows = ((page, data[number * size : (number + 1) * size]) for number, page in enumerate(pages))
        self._connection.executemany("REPLACE INTO key_pages VALUES (?, ?)", rows)
        self._firsts.append(values[:: self._size])
        self._pages += pages
