"""Near pairs among the rows of one partition. This module knows Arrow and numpy, and not Spark.

Rows with one key are candidates of each other. A partition has all rows of its keys, sorted by key. The rows are
compared with those behind them, at first with the next one, then with the one after that, while the keys are equal:
so numpy compares very many short lists at once.

A *chunked* key has too many rows for one task. Its rows are cut into chunks, and each pair of chunks is a key of its
own (:mod:`es_simhash.tools.spark.keys`). There only rows of different chunks are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.groups.links import unite
from es_simhash.groups.near_pairs import nearest
from es_simhash.search.hamming import distances_at
from es_simhash.search.keys import SHORT
from es_simhash.similarity.edits import levenshtein

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Indices = tuple[NDArray[np.intp], NDArray[np.intp], Integers]
    """Two indices of rows and their distance, for each pair."""

ROWS = 100_000
"""Rows that are compared at once, at least, if the partition has so many."""
KEY = ("number", "key", "low", "high")
"""The columns that make a key: the number of the kind of key, its value, and the two chunks."""
FOUND = "earlier long, later long, distance int, left_out long"
"""The columns of the pairs. ``distance`` is null for a pair that only connects two documents. A row with a ``left_out``
is not a pair: it says how many pairs were left out."""


@dataclass(frozen=True)
class NearSearch:
    """Which pairs of rows with one key are near.

    :param bits: the fingerprint width.
    :param max_distance: in bits; None for any distance, and for rows without a fingerprint.
    :param nearest: each row is paired with at most as many earlier ones as its column ``most`` says: the nearest, then
        the first ones. Else the pairs are enough for links: each row with its nearest earlier row, and enough others to
        connect all.
    :param masks: of the blocks that are the keys, one for each number of a key and each word of the fingerprint. With
        them a pair is found only once, though it may have several keys in common.
    :param least: the rows have ``characters``, and are near only if their Levenshtein similarity is this or more.
    :param held: pairs that are held before the farther ones are dropped.
    """

    bits: int
    max_distance: int | None
    nearest: bool = False
    masks: tuple[tuple[int, ...], ...] = ()
    least: float | None = None
    held: int = 1_000_000

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the near pairs of a partition, with the columns of :data:`FOUND`."""
        for table in whole_keys(batches):
            yield from (self._nearest if self.nearest else self._linked)(_Rows(table, self))

    def _linked(self, rows: _Rows) -> Iterator[pa.RecordBatch]:
        positions, index = np.unique(rows.positions, return_inverse=True)
        # As in links(): the distance in the high bits, the earlier document below.
        best = np.full(len(positions), np.iinfo(np.int64).max, dtype=np.int64)

        def linked() -> Iterator[NDArray[np.int64]]:
            for left, right, distances in self._pairs(rows):
                pairs = np.sort(np.stack([index[left], index[right]], axis=1), axis=1)
                np.minimum.at(best, pairs[:, 1], distances << 48 | pairs[:, 0])
                yield pairs

        lowest = unite(len(positions), linked())
        later = np.flatnonzero(best != np.iinfo(np.int64).max)
        yield _batch(positions[best[later] & ((1 << 48) - 1)], positions[later], best[later] >> 48)
        connected = np.flatnonzero(lowest != np.arange(len(lowest)))
        yield _batch(positions[lowest[connected]], positions[connected], None)

    def _nearest(self, rows: _Rows) -> Iterator[pa.RecordBatch]:
        positions, first = np.unique(rows.positions, return_index=True)
        most = rows.most[first]
        found: list[NDArray[np.int64]] = [np.empty((0, 3), dtype=np.int64)]
        size = left_out = 0

        def kept() -> NDArray[np.int64]:
            nonlocal left_out
            every = np.concatenate(found)
            if not self.masks:  # a pair may have several keys in common
                every = np.unique(every, axis=0)
            index = nearest(every[:, :2], every[:, 2], most[np.searchsorted(positions, every[:, 1])])
            left_out += len(every) - len(index)
            return every[index]

        for left, right, distances in self._pairs(rows):
            pairs = np.sort(np.stack([rows.positions[left], rows.positions[right]], axis=1), axis=1)
            found.append(np.concatenate([pairs, distances[:, None]], axis=1))
            size += len(pairs)
            if size > self.held:
                found, size = [kept()], 0
        every = kept()
        yield _batch(every[:, 0], every[:, 1], every[:, 2])
        if left_out:
            yield _batch(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), None, left_out)

    def _pairs(self, rows: _Rows) -> Iterator[Indices]:
        """Yield the near pairs of rows with one key."""
        left = np.arange(len(rows.keys))
        for offset in count(1):
            left = left[: np.searchsorted(left, len(rows.keys) - offset)]
            left = left[rows.keys[left] == rows.keys[left + offset]]
            if not len(left):
                return
            yield self._near(rows, left, left + offset)

    def _near(self, rows: _Rows, left: NDArray[np.intp], right: NDArray[np.intp]) -> Indices:
        # Most pairs end at the first condition, so it takes most of the time.
        counts = distances_at(rows.words, left, right)
        if self.max_distance is not None:
            near = np.flatnonzero(counts <= self.max_distance)
            left, right, counts = left[near], right[near], counts[near]
        distances = counts.astype(np.int64)
        distances[~(rows.has_value[left] & rows.has_value[right])] = self.bits + 1
        compared = ~rows.across[left] | (rows.sides[left] != rows.sides[right])
        if self.max_distance is not None:
            compared &= distances <= self.max_distance
        if self.masks:
            differing = [word[left] ^ word[right] for word in rows.words]
            compared &= self._found_first(rows.numbers[left], differing, compared)
        left, right, distances = left[compared], right[compared], distances[compared]
        if self.least is not None:
            similar = [self._similar(rows.texts[i], rows.texts[j]) for i, j in zip(left, right, strict=True)]
            mask = np.array(similar, dtype=np.bool_)
            left, right, distances = left[mask], right[mask], distances[mask]
        return left, right, distances

    def _found_first(
        self, numbers: Integers, differing: list[NDArray[np.uint64]], near: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which of the near pairs have no key of a lower number in common."""
        first = np.zeros(len(near), dtype=np.bool_)
        some = np.flatnonzero(near)
        for number in range(len(self.masks)):
            if not len(some):
                break
            equal = np.ones(len(some), dtype=np.bool_)
            for word, mask in zip(differing, self.masks[number], strict=True):
                equal &= word[some] & np.uint64(mask) == 0
            first[some[equal]] = numbers[some[equal]] == number
            some = some[~equal]
        return first

    def _similar(self, one: str, other: str) -> bool:
        assert self.least is not None
        return min(len(one), len(other)) <= SHORT and levenshtein(one, other, self.least) >= self.least


class _Rows:
    """The rows of some whole keys as arrays."""

    def __init__(self, table: pa.Table, search: NearSearch) -> None:
        columns = {name: table[name].to_numpy() for name in (*KEY, "side", "position")}
        changes = np.zeros(table.num_rows, dtype=np.int64)
        for name in KEY:
            changes[1:] |= columns[name][1:] != columns[name][:-1]
        self.keys = np.cumsum(changes)
        self.numbers = columns["number"]
        self.across = columns["low"] != columns["high"]
        self.sides, self.positions = columns["side"], columns["position"]
        self.has_value = ~table["fp0"].is_null().to_numpy()
        self.words = [table[name].fill_null(0).to_numpy().view(np.uint64) for name in word_names(search.bits)]
        self.texts: list[str] = table["characters"].to_pylist() if search.least is not None else []
        self.most = table["most"].to_numpy() if search.nearest else np.empty(0, dtype=np.int64)


def whole_keys(batches: Iterable[pa.RecordBatch], rows: int = ROWS) -> Iterator[pa.Table]:
    """Join the batches of a partition, and cut them between two keys.

    :param batches: their rows are sorted by :data:`KEY`.
    :returns: tables of ``rows`` rows or somewhat more. All rows of a key are in one table.
    """
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= rows and batch.num_rows:
            table = pa.Table.from_batches(held)
            last = {name: table[name].to_numpy() for name in KEY}
            of_last = np.logical_and.reduce([values == values[-1] for values in last.values()])
            end = table.num_rows - int(of_last.sum())
            if end:
                yield table.slice(0, end)
            held = table.slice(end).to_batches()
            # A key that is longer than the table is copied rarely, not with each batch.
            size = 0 if end else size // 2
    if held:
        yield pa.Table.from_batches(held)


def word_names(bits: int) -> list[str]:
    """Return the names of the columns with the words of a fingerprint as signed longs, the highest first."""
    return ["fp0", "fp1"][: bits // 64]


def _batch(earlier: Integers, later: Integers, distance: Integers | None, left_out: int = 0) -> pa.RecordBatch:
    """Return rows with the columns of :data:`FOUND`.

    :param left_out: of each row.
    """
    import pyarrow as pa

    distances = pa.nulls(len(earlier), pa.int32()) if distance is None else pa.array(distance.astype(np.int32))
    columns = [pa.array(earlier), pa.array(later), distances, pa.array(np.full(len(earlier), left_out, dtype=np.int64))]
    return pa.RecordBatch.from_arrays(columns, names=["earlier", "later", "distance", "left_out"])
