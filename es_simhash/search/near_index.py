"""Fingerprints in memory, from a few to those of a whole store: which of them are near some others?

Two fingerprints within k bits have one of any k + 1 segments in common (the pigeonhole principle). So the index holds
each fingerprint k + 1 times, sorted by each of k + 1 segments, and compares a fingerprint with those that have one of
its segments. This is the first choice of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling"
(2007), section 3. At 3 bits a fingerprint of 64 bits takes 32 bytes, one of 128 bits 64 bytes.

New fingerprints are compared one by one. Once there are some hundred of them, they are sorted and become a
:mod:`level <es_simhash.search.levels>`.

Where very many fingerprints share segments, and at distances for which there are not enough segments, each fingerprint
is compared with each: this reads memory in order, so it is fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from es_simhash.fingerprinting.encoding import SEGMENT_BITS, columns, segment_count, segments_of, to_array
from es_simhash.search.hamming import near_of_all, paired_distances
from es_simhash.search.levels import levels_kept
from es_simhash.search.runs import pairs_in_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_Other = TypeVar("_Other", np.int64, np.uint64)
_NO_POSITIONS = np.zeros(0, dtype=np.uint32)
_CHANGED_BITS = 2
"""Fingerprints of 64 bits are looked up with up to so many bits changed: that is 2,081 values."""
LARGEST_DISTANCE = 3
"""In bits. An index of all fingerprints of a store has at most so large a distance."""
PART = 4
"""An index may take 1 / PART of the free memory."""


_IF_UNKNOWN = 25_000_000
"""The largest number of fingerprints, if the free memory is not known."""


def most_held(free: float | None, bits: int) -> int:
    """Return how many fingerprints an index without positions may have, at ``LARGEST_DISTANCE``.

    Each takes ``bits`` / 2 bytes, and twice that in a merge. ``nearest`` takes 8 bytes more for each of 64 bits.

    :param free: bytes of memory; None if it is not known.
    :param bits: width of the fingerprints.
    """
    return _IF_UNKNOWN if free is None else int(free) // PART // bits


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a NearIndex takes another way, because that one is faster or needs less memory.

    :param crowded: comparisons for one fingerprint in a level. If more would be needed, ``may_be_near`` says that it
        may be near.
    :param tail: fingerprints that are not sorted: to compare them all takes less time than to sort them.
    :param at_once: comparisons that are made at once, so that memory does not grow with them.
    :param worthwhile: fingerprints with a common segment are compared one by one if they are less than one of so many
        of all pairs.
    :param few: up to so many pairs are all compared: this takes less time than to look segments up.
    :param search: to search a value among sorted ones takes as long as so many comparisons.
    """

    crowded: int = 10_000
    tail: int = 768
    at_once: int = 1_000_000
    worthwhile: int = 16
    few: int = 20_000
    search: int = 50


LIMITS = Limits()


class Near(NamedTuple):
    """Pairs of near fingerprints, in arrays of one length.

    :param asked: the position of the one in the question.
    :param positions: the position of the other one in the index: how many were added before it.
    :param distances: in bits.
    """

    asked: NDArray[np.int64]
    positions: NDArray[np.int64]
    distances: NDArray[np.uint8]


class NearIndex:
    """Fingerprints in memory. New ones are added at the end. A thread may ask while another one adds.

    :param bits: width of the fingerprints.
    :param max_distance: in bits, how far two near fingerprints are apart at most; below 0 nothing is near.
    :param positions: False if only :meth:`may_be_near` and :meth:`nearest` will be called. Positions take half of the
        memory again.
    """

    def __init__(self, bits: int, max_distance: int, *, positions: bool = True, limits: Limits = LIMITS) -> None:
        self._bits = bits
        self._limits = limits
        self._max_distance = max_distance
        self._sorted_by = max_distance + 1 if 0 <= max_distance < segment_count(bits) else 0
        self._positions = positions
        # Replaced at once, so that another thread sees each fingerprint once.
        self._parts: tuple[tuple[_Level, ...], _Tail] = (), _Tail.of(bits)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, fingerprints: Sequence[int | None]) -> None:
        """Add fingerprints.

        :param fingerprints: unsigned, of the width of the index. None has a position and is near nothing.
        """
        there, values = self._values_of(fingerprints)
        positions = there + self._count
        self._count += len(fingerprints)
        levels, tail = self._parts
        if tail.size + len(values) <= self._limits.tail or not self._sorted_by:
            self._parts = levels, tail.with_more(values, positions)
            return
        values = np.concatenate([tail.values, values])
        kept = np.concatenate([tail.positions, positions.astype(np.uint32)]) if self._positions else _NO_POSITIONS
        larger = levels_kept([len(level) for level in levels], len(values))
        some = levels[larger:]
        values = np.concatenate([*(level.fingerprints for level in some), values])
        if self._positions:
            kept = np.concatenate([*(level.positions[: len(level)] for level in some), kept])
        self._parts = (*levels[:larger], _Level.of(values, kept, self._sorted_by)), _Tail.of(self._bits)

    def near(self, fingerprints: Sequence[int | None]) -> Iterator[Near]:
        """Yield all pairs of one of these and one of the index that are within ``max_distance``, many at once."""
        numbers, asked = self._values_of(fingerprints)
        for found in self._near(asked):
            yield Near(numbers[found.asked], found.positions, found.distances)

    def within(self, fingerprint: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what is near one fingerprint: the positions, ascending, and the distances in bits."""
        found = list(self._near(self._values_of([fingerprint])[1]))
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        _, positions, distances = found[0]
        if len(found) > 1:
            positions = np.concatenate([some.positions for some in found])
            distances = np.concatenate([some.distances for some in found])
        order = np.argsort(positions)
        return positions[order], distances[order].astype(np.int64)

    def near_any(self, fingerprints: Sequence[int | None]) -> NDArray[np.int64]:
        """Return the positions of what is near at least one of these, ascending."""
        found = np.zeros(self._count, dtype=np.bool_)
        for some in self._near(self._values_of(fingerprints)[1]):
            found[some.positions] = True
        return np.flatnonzero(found)

    def count_near(self, fingerprints: Sequence[int | None]) -> NDArray[np.int64]:
        """Return for each of n fingerprints how many of the index are near it, shape (n,)."""
        counts = np.zeros(len(fingerprints), dtype=np.int64)
        for some in self.near(fingerprints):
            counts += np.bincount(some.asked, minlength=len(counts))
        return counts

    def may_be_near(self, fingerprints: Sequence[int]) -> NDArray[np.bool_]:
        """Return for each of n fingerprints whether it may be near one of the index, shape (n,).

        It is True for all that are near, and for those that would need more than ``crowded`` comparisons in a level.
        """
        asked = to_array(fingerprints, self._bits)
        found = np.zeros(len(asked), dtype=np.bool_)
        levels, tail = self._parts
        if not len(asked) or self._max_distance < 0:
            return found
        for level in levels:
            starts, counts = level.runs(asked)
            crowded = counts.sum(axis=1) > self._limits.crowded
            counts[crowded] = 0
            found |= crowded
            for of_asked, where in pairs_in_runs(starts, counts, self._limits.at_once):
                near = paired_distances(level.values[where], asked[of_asked]) <= self._max_distance
                found[of_asked[near]] = True
        for numbers, _, _ in near_of_all(asked, tail.values, self._max_distance):
            found[numbers] = True
        return found

    def nearest_any(self, fingerprints: Sequence[int | None]) -> NDArray[np.int64]:
        """Return the positions of what is nearest to at least one of these, within ``max_distance``, ascending."""
        asked = self._values_of(fingerprints)[1]
        found = np.zeros(self._count, dtype=np.bool_)
        for _, positions in _nearest(self._near(asked, only_nearest=True), len(asked)):
            found[positions] = True
        return np.flatnonzero(found)

    def nearest(self, fingerprints: Sequence[int]) -> list[list[int]]:
        """Return for each fingerprint the different ones of the index that are nearest to it, within ``max_distance``.

        :param fingerprints: unsigned, of the width of the index.
        """
        asked = to_array(fingerprints, self._bits)
        levels, tail = self._parts
        left, every = self._at_small_distances(asked, levels)
        places = [(left, level.fingerprints) for level in levels]
        every += [
            (some[numbers], values[others], distances)
            for some, values in (*places, (np.arange(len(asked)), tail.values))
            for numbers, others, distances in near_of_all(asked[some], values, self._max_distance, only_nearest=True)
        ]
        nearest: list[set[int]] = [set() for _ in fingerprints]
        for numbers, values in _nearest(every, len(asked)):
            words = [column.tolist() for column in columns(values)]
            for number, value in zip(numbers.tolist(), zip(*words, strict=True), strict=True):
                nearest[number].add(value[0] if len(value) == 1 else value[0] << 64 | value[1])
        return [sorted(some) for some in nearest]

    def _at_small_distances(
        self, asked: NDArray[np.uint64], levels: Sequence[_Level]
    ) -> tuple[NDArray[np.int64], list[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]]]]:
        """Look fingerprints of 64 bits up in the levels with 0, 1 and 2 bits changed, as long as this is faster than
        comparing each with each.

        :returns: the positions in the question of those that were not found, and the pairs that were: positions in the
            question, fingerprints of the index, distances in bits.
        """
        left = np.arange(len(asked))
        found = []
        for distance in range(min(self._max_distance, _CHANGED_BITS) + 1):
            masks = _changes(distance)
            if self._bits != 64 or sum(map(len, levels)) < self._limits.search * len(masks):
                break
            hit = np.zeros(len(left), dtype=np.bool_)
            step = max(1, self._limits.at_once // len(masks))
            for start in range(0, len(left), step):
                changed = asked[left[start : start + step]][:, None] ^ masks
                for level in levels:
                    numbers, kinds = np.nonzero(level.has(changed))
                    hit[start + numbers] = True
                    distances = np.full(len(numbers), distance, dtype=np.uint8)
                    found.append((left[start + numbers], changed[numbers, kinds], distances))
            left = left[~hit]
        return left, found

    def _values_of(self, fingerprints: Sequence[int | None]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the positions of those that are not None, and their values."""
        if None not in fingerprints:
            return np.arange(len(fingerprints)), to_array(cast("Sequence[int]", fingerprints), self._bits)
        numbers = [n for n, value in enumerate(fingerprints) if value is not None]
        return np.array(numbers, dtype=np.int64), to_array((v for v in fingerprints if v is not None), self._bits)

    def _near(self, asked: NDArray[np.uint64], *, only_nearest: bool = False) -> Iterator[Near]:
        """Yield near pairs.

        :param only_nearest: pairs that are not the nearest may be missing.
        """
        levels, tail = self._parts
        if not len(asked) or self._max_distance < 0:
            return
        for level in levels:
            every_pair = len(level) * len(asked)
            if every_pair > self._limits.few:
                starts, counts = level.runs(asked)
            if every_pair <= self._limits.few or counts.sum() * self._limits.worthwhile >= every_pair:
                every = near_of_all(asked, level.fingerprints, self._max_distance, only_nearest=only_nearest)
                for numbers, others, distances in every:
                    yield Near(numbers, level.positions[others].astype(np.int64), distances)
                continue
            for of_asked, where in pairs_in_runs(starts, counts, self._limits.at_once):
                bits = paired_distances(level.values[where], asked[of_asked])
                near = bits <= self._max_distance
                # Two near fingerprints may have several segments in common.
                pairs = of_asked[near] << 32 | level.positions[where[near]]
                pairs, first = np.unique(pairs, return_index=True)
                yield Near(pairs >> 32, pairs & 0xFFFFFFFF, bits[near][first])
        every = near_of_all(asked, tail.values, self._max_distance, only_nearest=only_nearest)
        for numbers, others, distances in every:
            yield Near(numbers, tail.positions[others], distances)


class _Tail(NamedTuple):
    """Fingerprints that are not sorted: the first ``size`` of an array that has room for more.

    :param every_position: of each in the index.
    """

    every_value: NDArray[np.uint64]
    every_position: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, bits: int, room: int = 16) -> _Tail:
        shape = (room,) if bits == 64 else (room, bits // 64)
        return cls(np.empty(shape, dtype=np.uint64), np.empty(room, dtype=np.int64), 0)

    @property
    def values(self) -> NDArray[np.uint64]:
        return self.every_value[: self.size]

    @property
    def positions(self) -> NDArray[np.int64]:
        return self.every_position[: self.size]

    def with_more(self, values: NDArray[np.uint64], positions: NDArray[np.int64]) -> _Tail:
        """Return the tail with more fingerprints. It may use the room of this one."""
        size = self.size + len(values)
        tail = self
        if size > len(self.every_value):
            tail = _Tail.of(64 * (values.size // max(1, len(values))), 2 * size)
            tail.every_value[: self.size], tail.every_position[: self.size] = self.values, self.positions
        tail.every_value[self.size : size], tail.every_position[self.size : size] = values, positions
        return _Tail(tail.every_value, tail.every_position, size)


@dataclass(frozen=True)
class _Level:
    """n fingerprints, sorted by each of k segments.

    :param values: sorted by the first segment, then by the second, and so on; shape (k n,), at 128 bits (k n, 2).
    :param positions: of each value in the index; empty if they are not kept.
    :param starts: where the values begin whose segment begins with the same bits: for each segment, for each such
        beginning; then k n.
    :param segments: k.
    :param beginning: so many bits of a segment; fewer if there are few fingerprints.
    """

    values: NDArray[np.uint64]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    segments: int
    beginning: int

    @classmethod
    def of(cls, fingerprints: NDArray[np.uint64], positions: NDArray[np.uint32], segments: int) -> _Level:
        count, beginning = len(fingerprints), min(SEGMENT_BITS, len(fingerprints).bit_length())
        values = np.empty((segments * count, *fingerprints.shape[1:]), dtype=np.uint64)
        every_position = np.empty(segments * len(positions), dtype=np.uint32)
        sizes = np.empty(segments << beginning, dtype=np.int64)
        for number, column in enumerate(_beginnings(fingerprints, segments, beginning).T):
            order = np.argsort(column, kind="stable")  # of 16 bits, so it is a radix sort
            values[number * count : (number + 1) * count] = fingerprints[order]
            if len(positions):
                every_position[number * count : (number + 1) * count] = positions[order]
            sizes[number << beginning : (number + 1) << beginning] = np.bincount(column, minlength=1 << beginning)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(values, every_position, starts, segments, beginning)

    def __len__(self) -> int:
        return len(self.values) // self.segments

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        return self.values[: len(self)]

    @cached_property
    def _sorted(self) -> NDArray[np.uint64]:
        """The fingerprints of 64 bits as numbers in their order."""
        return np.sort(self.fingerprints)

    def has(self, values: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each of some fingerprints of 64 bits whether it is in the level, in their shape."""
        where = np.searchsorted(self._sorted, values)
        there: NDArray[np.bool_] = self._sorted[np.minimum(where, len(self) - 1)] == values
        return there

    def runs(self, asked: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the values begin that may share each segment with each of m fingerprints, and how many they are.

        :returns: two arrays of shape (m, k).
        """
        keys = _beginnings(asked, self.segments, self.beginning) + (np.arange(self.segments) << self.beginning)
        starts = self.starts[keys]
        return starts, self.starts[keys + 1] - starts


@cache
def _changes(changed: int) -> NDArray[np.uint64]:
    """Return the numbers of 64 bits of which so many are set, shape (n,)."""
    return np.array([sum(1 << bit for bit in some) for some in combinations(range(64), changed)], dtype=np.uint64)


def _nearest(
    pairs: Iterable[tuple[NDArray[np.int64], NDArray[_Other], NDArray[np.uint8]]], count: int
) -> list[tuple[NDArray[np.int64], NDArray[_Other]]]:
    """Return the nearest of near pairs: arrays of positions in the question, and of what is nearest to these.

    :param pairs: with their distances.
    :param count: of what is asked.
    """
    best = np.full(count, 255, dtype=np.uint8)
    found = []
    for numbers, others, distances in pairs:
        np.minimum.at(best, numbers, distances)
        kept = distances == best[numbers]
        found.append((numbers[kept], others[kept], distances[kept]))
    nearest = [(numbers, others, distances == best[numbers]) for numbers, others, distances in found]
    return [(numbers[kept], others[kept]) for numbers, others, kept in nearest]


def _beginnings(fingerprints: NDArray[np.uint64], segments: int, beginning: int) -> NDArray[np.uint16]:
    """Return the first bits of the first segments of n fingerprints, shape (n, segments)."""
    every = segments_of(fingerprints, segments)
    return every if beginning == SEGMENT_BITS else every >> np.uint16(SEGMENT_BITS - beginning)
