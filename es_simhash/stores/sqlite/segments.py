"""The fingerprints of the documents of a file, sorted by each of their segments: which of them are near some others?

Two fingerprints within k bits have one of any k + 1 segments in common; if there are only n < k + 1 segments, one
differs in at most k // n bits (the pigeonhole principle; Manku, Jain and Das Sarma, "Detecting near-duplicates for web
crawling", 2007, section 3). So the file has each fingerprint once for each segment. A search reads the fingerprints
with one of its segments, and compares them.

A B-tree for each segment would do it too. But each fingerprint that is written would change another page of each of
them. So new fingerprints are only put at the end of others. Once there are some hundred of them, they are sorted and
become a :mod:`level <es_simhash.search.levels>`, which is never changed. A level has pages of the same number of
fingerprints: first all of them sorted by the first segment, then by the second, and so on; and a directory, which says
with which segment each page begins. The number of a level is never used again, so what is known of it stays true.

A level has each fingerprint once, whatever many documents have it. The fingerprints of documents that were changed or
removed stay. They are dropped when all levels become one: that one is made from the documents themselves.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.fingerprinting.encoding import columns, segment_count, segments_of
from es_simhash.search.hamming import near_of_all, paired_distances
from es_simhash.search.levels import levels_kept
from es_simhash.search.query_plan import ball
from es_simhash.search.runs import pairs_in_runs
from es_simhash.stores.stored_row import LONGS

if TYPE_CHECKING:
    from sqlite3 import Connection

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]
    Integers = NDArray[np.int64]

PAGE_BYTES = 4_000
"""Bytes of a page: with them a row of the table fills a page of the file."""
UNSORTED = 500
"""The most fingerprints that are in no level."""
TABLES = (
    """CREATE TABLE IF NOT EXISTS segment_levels (
        level INTEGER PRIMARY KEY AUTOINCREMENT,
        page INTEGER NOT NULL,
        firsts BLOB NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS segment_pages (page INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL)",
)
"""A level has the number of its first page, and the first key of each page (:func:`_keys`). The pages of a level are
numbered one after the other. Page 0 has the fingerprints that are in no level."""
_KEPT = 8_192
"""Pages of a level that are kept in memory: 32 MB. If there are more, all are read again."""
_AT_ONCE = 1_000_000
"""Comparisons that are made at once, so that memory does not grow with them."""
_FEW = 4
"""So few fingerprints are compared with all of the pages that are read for them."""
_READ = 10_000
"""Documents that are read together."""


class _Level:
    """Fingerprints sorted by each segment.

    :param page: the number of the first page.
    :param firsts: the first key of each page.
    :param size: fingerprints of a page.
    """

    def __init__(self, page: int, firsts: NDArray[np.uint32], size: int, parts: int) -> None:
        self.page = page
        self.firsts = firsts
        self.pages_of_part = len(firsts) // parts
        self.known: dict[int, Fingerprints] = {}
        self._size = size

    def __len__(self) -> int:
        """Return how many fingerprints there are at most."""
        return self.pages_of_part * self._size

    def pages(self, keys: NDArray[np.uint32]) -> tuple[Integers, Integers]:
        """Return the first and the last page that may have each of some keys."""
        first = np.maximum(np.searchsorted(self.firsts, keys) - 1, 0)
        return first, np.maximum(np.searchsorted(self.firsts, keys, side="right") - 1, first)


class StoredSegments:
    """The fingerprints of one file, as far as they are known.

    Methods are called in a transaction (:meth:`Database.transaction`).

    :param name: of the store, for messages.
    :param page_bytes: bytes of a page.
    :param unsorted: the most fingerprints that are in no level.
    """

    def __init__(self, name: str, page_bytes: int = PAGE_BYTES, unsorted: int = UNSORTED) -> None:
        self._name = name
        self._page_bytes = page_bytes
        self._most_unsorted = unsorted
        self._levels: dict[int, _Level] = {}

    def forget(self) -> None:
        """Read the levels again before they are used, because a transaction was rolled back."""
        self._levels = {}

    def near(self, asked: Fingerprints, max_distance: int, bits: int, connection: Connection) -> Fingerprints:
        """Return the fingerprints near one of some others, each once.

        There may be some that no document has now.

        :param asked: as ``encoding.to_array`` returns them.
        :param max_distance: in bits.
        """
        compared = min(max_distance + 1, segment_count(bits))
        near_segments = segments_of(asked, compared)[:, :, None] ^ ball(max_distance // segment_count(bits))
        keys = _keys(near_segments, np.arange(compared)[None, :, None]).reshape(len(asked), -1)
        read = [self._unsorted(bits, connection)]
        found = []
        for level in self._current(bits, connection).values():
            first, last = level.pages(keys)
            between = np.maximum(last - first - 1, 0).sum()
            if between > level.pages_of_part * len(asked):  # more comparisons than of each with each
                read.append(self._every(level, bits, connection))
            elif len(asked) <= _FEW:
                read += self._pages(level, _each_of(first, last, len(level.firsts)), bits, connection)
            else:
                pages = _each_of(first, last, len(level.firsts))
                some = self._pages(level, pages, bits, connection)
                found += _near_by_keys(asked, keys, some, level.firsts[pages] >> np.uint32(16), max_distance)
        found.append(_near_any(asked, np.concatenate(read), max_distance))
        return _distinct(np.concatenate(found))

    def add(self, fingerprints: Fingerprints, bits: int, connection: Connection) -> None:
        """Add the fingerprints of documents that have been written.

        :param fingerprints: as ``encoding.to_array`` returns them.
        """
        if not len(fingerprints):
            return
        values = np.concatenate([self._unsorted(bits, connection), fingerprints])
        if len(values) > self._most_unsorted:
            self._add_level(values, bits, connection)
            values = values[:0]
        sql = "REPLACE INTO segment_pages VALUES (0, ?)"
        connection.execute(sql, [values.astype("<u8").tobytes()])

    def _add_level(self, values: Fingerprints, bits: int, connection: Connection) -> None:
        """Sort fingerprints, together with those of the smaller levels."""
        levels = self._current(bits, connection)
        kept = levels_kept([len(level) for level in levels.values()], len(values))
        gone = dict(list(levels.items())[kept:])
        if kept:
            values = np.concatenate([*(self._every(level, bits, connection) for level in gone.values()), values])
        else:
            values = _of_documents(bits, connection)
        for number, level in gone.items():
            connection.execute("DELETE FROM segment_levels WHERE level = ?", [number])
            pages = [level.page, level.page + len(level.firsts) - 1]
            connection.execute("DELETE FROM segment_pages WHERE page BETWEEN ? AND ?", pages)
        page: int = connection.execute("SELECT ifnull(max(page), 0) + 1 FROM segment_pages").fetchone()[0]
        size, values = self._size(bits), _distinct(values)
        firsts = [np.zeros(0, dtype=np.uint32)]
        for part in range(segment_count(bits)):
            ordered = _sorted_by(values, part)
            firsts.append(_keys(segments_of(ordered[::size], part + 1)[:, part], part))
            data = ordered.astype("<u8").tobytes()
            pieces = (data[start : start + self._page_bytes] for start in range(0, len(data), self._page_bytes))
            first = page + part * len(firsts[-1])
            connection.executemany("INSERT INTO segment_pages VALUES (?, ?)", enumerate(pieces, first))
        if not len(values):  # another program has changed them
            return
        directory = np.concatenate(firsts)
        sql = "INSERT INTO segment_levels (page, firsts) VALUES (?, ?)"
        connection.execute(sql, [page, directory.astype("<u4").tobytes()])

    def _current(self, bits: int, connection: Connection) -> dict[int, _Level]:
        """Return the levels by their number, the largest first."""
        numbers = [number for (number,) in connection.execute("SELECT level FROM segment_levels ORDER BY level")]
        known = self._levels
        self._levels = {number: known.get(number) or self._opened(number, bits, connection) for number in numbers}
        return self._levels

    def _opened(self, number: int, bits: int, connection: Connection) -> _Level:
        sql = "SELECT page, firsts FROM segment_levels WHERE level = ?"
        page, firsts = connection.execute(sql, [number]).fetchone()
        parts = segment_count(bits)
        try:
            keys = np.frombuffer(firsts, dtype="<u4")
        except (TypeError, ValueError) as error:
            raise self._damaged() from error
        if type(page) is not int or not len(keys) or len(keys) % parts:
            raise self._damaged()
        return _Level(page, keys, self._size(bits), parts)

    def _every(self, level: _Level, bits: int, connection: Connection) -> Fingerprints:
        """Return all fingerprints of a level."""
        return np.concatenate(self._pages(level, np.arange(level.pages_of_part), bits, connection))

    def _pages(self, level: _Level, pages: Integers, bits: int, connection: Connection) -> list[Fingerprints]:
        """Return the fingerprints of some pages of a level."""
        known, wanted = level.known, pages.tolist()
        missing = [page for page in wanted if page not in known]
        if len(known) + len(missing) > _KEPT:
            known = level.known = {}
            missing = wanted
        sql = "SELECT page, fingerprints FROM segment_pages WHERE page IN (SELECT value + ? FROM json_each(?))"
        found = dict(connection.execute(sql, [level.page, json.dumps(missing)])) if missing else {}
        for page in missing:
            known[page] = self._values(found.get(level.page + page), bits)
        return [known[page] for page in wanted]

    def _unsorted(self, bits: int, connection: Connection) -> Fingerprints:
        """Return the fingerprints that are in no level."""
        found = connection.execute("SELECT fingerprints FROM segment_pages WHERE page = 0").fetchone()
        return self._values(found[0] if found else b"", bits)

    def _values(self, data: bytes | None, bits: int) -> Fingerprints:
        try:
            values = np.frombuffer(data, dtype="<u8")  # type: ignore[arg-type]
            return values if bits == 64 else values.reshape(-1, bits // 64)
        except (TypeError, ValueError) as error:
            raise self._damaged() from error

    def _size(self, bits: int) -> int:
        """Return the number of fingerprints of a page."""
        return self._page_bytes * 8 // bits

    def _damaged(self) -> StoreError:
        return StoreError(f"{self._name} is damaged: its table of segments cannot be read; restore it from a copy")


def _keys(segments: NDArray[np.uint16], parts: NDArray[np.integer] | int) -> NDArray[np.uint32]:
    """Return segments as numbers that tell them from equal segments at other places of a fingerprint."""
    places = np.asarray(parts, dtype=np.uint32) << np.uint32(16)
    keys: NDArray[np.uint32] = segments.astype(np.uint32) | places
    return keys


def _each_of(first: Integers, last: Integers, count: int) -> Integers:
    """Return the pages from each first one to the last one, each once, ascending.

    :param count: of all pages.
    """
    marks = np.zeros(count + 1, dtype=np.int64)
    np.add.at(marks, first.ravel(), 1)
    np.add.at(marks, last.ravel() + 1, -1)
    return np.flatnonzero(np.cumsum(marks)[:-1])


def _near_by_keys(
    asked: Fingerprints,
    keys: NDArray[np.uint32],
    pages: list[Fingerprints],
    parts: NDArray[np.uint32],
    max_distance: int,
) -> list[Fingerprints]:
    """Return those of the stored fingerprints that are near one of n that are asked and have one of its keys.

    :param keys: of each that is asked, shape (n, k).
    :param pages: of a level, in their order.
    :param parts: by which segment each page is sorted.
    """
    stored = np.concatenate(pages)
    part = np.repeat(parts, [len(page) for page in pages])
    word = stored if stored.ndim == 1 else stored[np.arange(len(stored)), part // 4]
    segment = (word >> (np.uint64(48) - np.uint64(16) * (part % 4))).astype(np.uint16)
    stored_keys = _keys(segment, part)
    starts = np.searchsorted(stored_keys, keys)
    counts = np.searchsorted(stored_keys, keys, side="right") - starts
    found = []
    for number, where in pairs_in_runs(starts, counts, _AT_ONCE):
        found.append(stored[where[paired_distances(stored[where], asked[number]) <= max_distance]])
    return found


def _near_any(asked: Fingerprints, stored: Fingerprints, max_distance: int) -> Fingerprints:
    """Return those of the stored fingerprints that are near one of those that are asked. All are compared."""
    near = np.zeros(len(stored), dtype=np.bool_)
    for _, some, _ in near_of_all(asked, stored, max_distance):
        near[some] = True
    return stored[near]


def _distinct(fingerprints: Fingerprints) -> Fingerprints:
    """Return each fingerprint once, in their order."""
    if fingerprints.ndim == 1:
        return np.unique(fingerprints)
    ordered = fingerprints[np.lexsort(columns(fingerprints)[::-1])]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]


def _sorted_by(fingerprints: Fingerprints, part: int) -> Fingerprints:
    """Return fingerprints sorted by one of their segments."""
    # A stable sort of 16 bits is a radix sort.
    return fingerprints[np.argsort(segments_of(fingerprints, part + 1)[:, part], kind="stable")]


def _of_documents(bits: int, connection: Connection) -> Fingerprints:
    """Return the fingerprints that documents have. Another program may have written what is none."""
    names = LONGS[: bits // 64]
    integers = " AND ".join(f"typeof({name}) = 'integer'" for name in names)
    sql = f"SELECT DISTINCT {', '.join(names)} FROM documents WHERE fp IS NOT NULL AND {integers}"
    cursor = connection.execute(sql)
    found = [np.zeros((0, len(names)), dtype=np.int64)]
    while page := cursor.fetchmany(_READ):
        found.append(np.array(page, dtype=np.int64))
    values = np.concatenate(found).view(np.uint64)
    return values[:, 0] if bits == 64 else values
