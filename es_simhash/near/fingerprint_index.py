"""Fingerprints in memory: which are within a distance of others? Complete for each distance.

Values are sorted by each of their four segments. Two fingerprints that differ in at most 3 bits have an equal segment,
by the pigeonhole principle (Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007). For a
larger distance all values are compared, which takes 1 ms a million.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import near_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_SHIFTS = (0, 16, 32, 48)
_SEGMENT = np.uint64(0xFFFF)
_UNSORTED = 512
"""Values of the largest level that is compared as a whole."""
_COMPARED_AT_ONCE = 4_000_000
"""Pairs that are compared at once, so that memory does not grow with a crowd of equal segments."""


class _Level:
    """Values in the order in which they were added, and sorted by each segment."""

    def __init__(self, first: int, values: NDArray[np.uint64]) -> None:
        self.first, self.values = first, values
        self.segments = [_sorted(values, shift) for shift in _SHIFTS] if len(values) > _UNSORTED else None


class FingerprintIndex:
    """Values have positions in the order in which they were added. 24 bytes a value, and 1 MB a level."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._count = 0

    def add(self, values: NDArray[np.uint64]) -> None:
        """Add fingerprints, shape (n,)."""
        if not len(values):
            return
        first, self._count = self._count, self._count + len(values)
        while self._levels and len(self._levels[-1].values) < 2 * len(values):
            level = self._levels.pop()
            first, values = level.first, np.concatenate([level.values, values])
        self._levels.append(_Level(first, values))

    def near(self, values: Sequence[int], distance: int) -> list[NDArray[np.int64]]:
        """Return for each of some fingerprints the positions of all that are within ``distance`` bits, ascending."""
        asked = np.array(values, dtype=np.uint64)
        pairs: list[NDArray[np.int64]] = [np.zeros((2, 0), dtype=np.int64)]
        for level in self._levels:
            pairs += _near_all(level, asked, distance) if distance > 3 or not level.segments else ()
            pairs += _near_by_segment(level, asked, distance) if distance <= 3 and level.segments else ()
        askers, positions = np.concatenate(pairs, axis=1)
        order = np.lexsort((positions, askers))
        askers, positions = askers[order], positions[order]
        ends = np.searchsorted(askers, np.arange(len(asked) + 1))
        return [positions[a:b] for a, b in pairwise(ends)]


def _near_all(level: _Level, asked: NDArray[np.uint64], distance: int) -> Iterator[NDArray[np.int64]]:
    """Yield pairs (asker, position), shape (2, n). All values are compared."""
    together = max(1, _COMPARED_AT_ONCE // len(level.values))
    for start in range(0, len(asked), together):
        askers, at = near_pairs(asked[start : start + together], level.values, distance)
        yield np.stack([askers + start, at + level.first])


def _near_by_segment(level: _Level, asked: NDArray[np.uint64], distance: int) -> Iterator[NDArray[np.int64]]:
    """Yield pairs (asker, position), shape (2, n). Values with an equal segment are compared, each pair once."""
    for number, shift in enumerate(_SHIFTS):
        order, begins = (level.segments or ())[number]
        segment = (asked >> np.uint64(shift) & _SEGMENT).astype(np.int64)
        counts = begins[segment + 1] - begins[segment]
        parts = np.cumsum(counts) // _COMPARED_AT_ONCE
        for part in np.unique(parts):
            askers = np.flatnonzero(parts == part)
            stop = np.cumsum(counts[askers])
            asker = np.repeat(askers, counts[askers])
            at = order[
                np.arange(stop[-1]) + np.repeat(begins[segment[askers]] - (stop - counts[askers]), counts[askers])
            ]
            differing = level.values[at] ^ asked[asker]
            near = np.bitwise_count(differing) <= distance
            for earlier in _SHIFTS[:number]:  # an earlier segment is equal, too: that one has yielded the pair
                near &= differing >> np.uint64(earlier) & _SEGMENT != 0
            yield np.stack([asker[near], at[near].astype(np.int64) + level.first])


def _sorted(values: NDArray[np.uint64], shift: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the order of the values by a segment, and where each of its 65,536 values begins."""
    segment = (values >> np.uint64(shift) & _SEGMENT).astype(np.uint16)
    order = np.argsort(segment, kind="stable").astype(np.uint32)
    counts = np.bincount(segment, minlength=1 << 16)
    return order, np.concatenate([[0], np.cumsum(counts)])
