"""The fingerprints of a file, sorted by each segment. A search finds those that are near given ones.

Two fingerprints within k bits differ in at most k segments. So of any k + 1 segments one is equal in both. If there are
only n <= k segments, one of them differs in at most k // n bits (the pigeonhole principle; Manku, Jain and Das Sarma,
"Detecting near-duplicates for web crawling", 2007, section 3). So the file has each fingerprint once for each segment.
A search reads the fingerprints that have one of its segments, and compares them.

With a B-tree for each segment, each new fingerprint would change one page of each B-tree. So new fingerprints are first
appended to page 0, unsorted. Once there are some hundred of them, they are sorted and become a
:mod:`level <es_simhash.search.levels>`, which is never changed. A level has pages of the same number of fingerprints:
first all of them sorted by the first segment, then by the second, and so on; and a directory, which says with which
segment each page begins. The number of a level is never used again, so a process may keep its pages in memory.

A level has each fingerprint once, however many documents have it. The fingerprints of documents that were changed or
removed stay, until all levels become one and that one is larger than before: then it is made from the documents. This
takes about a microsecond for each document. Other writers wait for it.

The tables can be made from the documents at any time: if their rows are deleted, the next search reads the documents,
and the next write makes them again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import StoreError
from es_simhash.fingerprinting.encoding import columns, segment_count, segment_of, segments_of
from es_simhash.search.hamming import near_any, paired_distances
from es_simhash.search.levels import levels_kept
from es_simhash.search.query_plan import ball
from es_simhash.search.runs import in_any_run, pairs_in_runs
from es_simhash.stores.sqlite.longs import are_integers, long_columns

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
        size INTEGER NOT NULL,
        page INTEGER NOT NULL,
        firsts BLOB NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS segment_pages (page INTEGER PRIMARY KEY, fingerprints BLOB NOT NULL)",
)
"""A level has the number of its fingerprints, its first page, and the key of the first fingerprint of each page
(:func:`_keys`). Its pages are numbered one after the other. Page 0 has the fingerprints that are in no level."""
_KEPT = 8_192
"""The most pages of a level that are kept in memory: 32 MB. If a search needs others, the former ones are dropped."""
_AT_ONCE = 1_000_000
"""Comparisons that are made at once, so that memory does not grow with them."""
_FEW = 4
"""If a search asks for at most so many fingerprints, each is compared with all that are read from pages."""
_GROWTH = 1.2
"""If all levels become one that is so many times as large as the largest one was, it is made from the documents."""
_READ = 10_000
"""Documents that are read together."""


class _Level:
    """Fingerprints sorted by each segment.

    :param size: how many there are.
    :param page: the number of the first page.
    :param firsts: the key of the first fingerprint of each page.
    :param parts: segments of a fingerprint.
    """

    def __init__(self, size: int, page: int, firsts: NDArray[np.uint32], parts: int) -> None:
        self.size = size
        self.page = page
        self.firsts = firsts
        self.pages_of_part = len(firsts) // parts
        self.known: dict[int, Fingerprints] = {}

    def span(self, keys: NDArray[np.uint32]) -> tuple[Integers, Integers]:
        """Return the first and the last page that may have each of some keys."""
        first_of_part = (keys >> np.uint32(16)).astype(np.int64) * self.pages_of_part
        first = np.maximum(np.searchsorted(self.firsts, keys) - 1, first_of_part)
        return first, np.maximum(np.searchsorted(self.firsts, keys, side="right") - 1, first)


class StoredSegments:
    """The table of segments of one file, and those of its pages that are in memory.

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
        """Return the fingerprints that are near at least one of those that are asked, each once.

        Some of them may be former ones, which no document has now.

        :param asked: as ``encoding.to_array`` returns them.
        :param max_distance: in bits.
        """
        compared = min(max_distance + 1, segment_count(bits))
        near_segments = segments_of(asked, compared)[:, :, None] ^ ball(max_distance // segment_count(bits))
        keys = _keys(near_segments, np.arange(compared)[:, None])
        read = [self._unsorted(bits, connection)]
        found = []
        for level in self._current(bits, connection).values():
            first, last = level.span(keys)
            whole_pages = np.maximum(last - first - 1, 0).sum()
            if whole_pages > level.pages_of_part * len(asked):  # to compare each with each is cheaper
                read.append(self._every(level, bits, connection))
            elif len(asked) <= _FEW:
                read += self._pages(level, in_any_run(first.ravel(), last.ravel(), len(level.firsts)), bits, connection)
            else:
                for part in range(compared):
                    pages = in_any_run(first[:, part].ravel(), last[:, part].ravel(), len(level.firsts))
                    stored = np.concatenate(self._pages(level, pages, bits, connection))
                    found.append(_near_in_part(asked, near_segments[:, part], stored, part, max_distance))
        others = np.concatenate(read)
        found.append(others[near_any(asked, others, max_distance)])
        return _distinct(np.concatenate(found))

    def add(self, fingerprints: Fingerprints, bits: int, connection: Connection) -> None:
        """Add the fingerprints of documents that have been written.

        :param fingerprints: as ``encoding.to_array`` returns them.
        """
        if not len(fingerprints):
            return
        values = _distinct(np.concatenate([self._unsorted(bits, connection), fingerprints]))
        if len(values) > self._most_unsorted:
            self._add_level(values, bits, connection)
            values = values[:0]
        sql = "REPLACE INTO segment_pages VALUES (0, ?)"
        connection.execute(sql, [values.astype("<u8").tobytes()])

    def _add_level(self, values: Fingerprints, bits: int, connection: Connection) -> None:
        """Sort fingerprints, together with those of the smaller levels."""
        levels = self._current(bits, connection)
        kept = levels_kept([level.size for level in levels.values()], len(values))
        gone = dict(list(levels.items())[kept:])
        some = [self._every(level, bits, connection) for level in gone.values()]
        values = _distinct(np.concatenate([*some, values]))
        if not kept and len(values) > _GROWTH * max(map(len, some), default=0):
            values = _of_documents(bits, connection)
        for number, level in gone.items():
            connection.execute("DELETE FROM segment_levels WHERE level = ?", [number])
            pages = [level.page, level.page + len(level.firsts) - 1]
            connection.execute("DELETE FROM segment_pages WHERE page BETWEEN ? AND ?", pages)
        page: int = connection.execute("SELECT ifnull(max(page), 0) + 1 FROM segment_pages").fetchone()[0]
        of_page = self._page_bytes * 8 // bits
        pages_of_part = -(-len(values) // of_page)
        firsts = []
        for part in range(segment_count(bits)):
            # A stable sort of 16 bits is a radix sort.
            ordered = values[np.argsort(segment_of(values, part), kind="stable")]
            firsts.append(_keys(segment_of(ordered[::of_page], part), part))
            data = ordered.astype("<u8").tobytes()
            pieces = (data[start : start + self._page_bytes] for start in range(0, len(data), self._page_bytes))
            rows = enumerate(pieces, page + part * pages_of_part)
            connection.executemany("INSERT INTO segment_pages VALUES (?, ?)", rows)
        directory = np.concatenate(firsts).astype("<u4").tobytes()
        sql = "INSERT INTO segment_levels (size, page, firsts) VALUES (?, ?, ?)"
        connection.execute(sql, [len(values), page, directory])

    def _current(self, bits: int, connection: Connection) -> dict[int, _Level]:
        """Return the levels by their number, the largest first."""
        numbers = [number for (number,) in connection.execute("SELECT level FROM segment_levels ORDER BY level")]
        known = self._levels
        self._levels = {
            number: known[number] if number in known else self._opened(number, bits, connection) for number in numbers
        }
        return self._levels

    def _opened(self, number: int, bits: int, connection: Connection) -> _Level:
        sql = "SELECT size, page, firsts FROM segment_levels WHERE level = ?"
        size, page, firsts = connection.execute(sql, [number]).fetchone()
        try:
            keys = np.frombuffer(firsts, dtype="<u4")
        except (TypeError, ValueError) as error:
            raise self._damaged() from error
        pages = segment_count(bits) * -(-size // (self._page_bytes * 8 // bits)) if type(size) is int else 0
        if type(page) is not int or page < 1 or not pages or len(keys) != pages:
            raise self._damaged()
        return _Level(size, page, keys, segment_count(bits))

    def _every(self, level: _Level, bits: int, connection: Connection) -> Fingerprints:
        """Return all fingerprints of a level."""
        return np.concatenate(self._pages(level, np.arange(level.pages_of_part), bits, connection))

    def _pages(self, level: _Level, pages: Integers, bits: int, connection: Connection) -> list[Fingerprints]:
        """Return the fingerprints of some pages of a level."""
        wanted = pages.tolist()
        found = {page: level.known[page] for page in wanted if page in level.known}
        missing = [page for page in wanted if page not in found]
        if missing:
            if len(level.known) + len(missing) > _KEPT:
                level.known = {}
            sql = "SELECT page, fingerprints FROM segment_pages WHERE page IN (SELECT value + ? FROM json_each(?))"
            read = dict(connection.execute(sql, [level.page, json.dumps(missing)]))
            for page in missing:
                found[page] = self._page(read.get(level.page + page), level.firsts[page], bits)
            if len(missing) <= _KEPT:
                level.known |= {page: found[page] for page in missing}
        return [found[page] for page in wanted]

    def _page(self, data: bytes | None, first: np.uint32, bits: int) -> Fingerprints:
        """Return the fingerprints of a page.

        :param first: the key of the first one.
        """
        values = self._values(data, bits)
        if not len(values) or _keys(segment_of(values[:1], int(first) >> 16), int(first) >> 16) != first:
            raise self._damaged()
        return values

    def _unsorted(self, bits: int, connection: Connection) -> Fingerprints:
        """Return the fingerprints that are in no level."""
        found = connection.execute("SELECT fingerprints FROM segment_pages WHERE page = 0").fetchone()
        if found is None:  # the first write makes it
            return _of_documents(bits, connection)
        return self._values(found[0], bits)

    def _values(self, data: bytes | None, bits: int) -> Fingerprints:
        try:
            values = np.frombuffer(data, dtype="<u8")  # type: ignore[arg-type]
            return values if bits == 64 else values.reshape(-1, bits // 64)
        except (TypeError, ValueError) as error:
            raise self._damaged() from error

    def _damaged(self) -> StoreError:
        return StoreError(
            f"{self._name} is damaged: its table of segments cannot be read; restore it from a copy, or make the table "
            "again: delete all rows of segment_levels and segment_pages"
        )


def _keys(segments: NDArray[np.uint16], parts: NDArray[np.integer] | int) -> NDArray[np.uint32]:
    """Return keys: in the high 16 bits the place of a segment in its fingerprint, in the low 16 bits its value."""
    keys: NDArray[np.uint32] = segments.astype(np.uint32) | np.asarray(parts, dtype=np.uint32) << np.uint32(16)
    return keys


def _near_in_part(
    asked: Fingerprints, segments: NDArray[np.uint16], stored: Fingerprints, part: int, max_distance: int
) -> Fingerprints:
    """Return the stored fingerprints that are near one of n that are asked, and have one of its segments.

    :param segments: of each that is asked, shape (n, k).
    :param stored: sorted by this segment.
    """
    stored_segments = segment_of(stored, part)
    starts = np.searchsorted(stored_segments, segments)
    counts = np.searchsorted(stored_segments, segments, side="right") - starts
    near = np.zeros(len(stored), dtype=np.bool_)
    for number, where in pairs_in_runs(starts, counts, _AT_ONCE):
        near[where[paired_distances(stored[where], asked[number]) <= max_distance]] = True
    return stored[near]


def _distinct(fingerprints: Fingerprints) -> Fingerprints:
    """Return each fingerprint once, in their order."""
    if fingerprints.ndim == 1:
        return np.unique(fingerprints)
    ordered = fingerprints[np.lexsort(columns(fingerprints)[::-1])]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]


def _of_documents(bits: int, connection: Connection) -> Fingerprints:
    """Return the fingerprints that documents have, each once. Rows whose columns are not integers are skipped."""
    names = long_columns(bits)
    cursor = connection.execute(f"SELECT DISTINCT {', '.join(names)} FROM documents WHERE {are_integers(names)}")
    found = [np.zeros((0, len(names)), dtype=np.int64)]
    while page := cursor.fetchmany(_READ):
        found.append(np.array(page, dtype=np.int64))
    values = np.concatenate(found).view(np.uint64)
    return values[:, 0] if bits == 64 else values
