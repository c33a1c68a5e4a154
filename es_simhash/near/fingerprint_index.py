"""Fingerprints in memory: which are within a distance of another one? Complete for each distance.

Two fingerprints that differ in at most 3 bits have an equal segment of the four, by the pigeonhole principle (Manku,
Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007). So segments are keys. For a larger distance
all values are compared, which takes 1 ms a million.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.near.key_index import POSITION_BITS, Entries, Near, sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SHIFTS = np.array([0, 16, 32, 48], dtype=np.uint64)
_NUMBERS = _SHIFTS << np.uint64(12)
"""The numbers of the segments, above their 16 bits: equal segments in different places are different keys."""
_SEGMENT = np.uint64(0xFFFF)


class FingerprintIndex:
    """Values have positions in the order in which they were added. 40 bytes a value."""

    def __init__(self) -> None:
        self._values = array("Q")
        self._entries = Entries()

    def add(self, values: Sequence[int]) -> None:
        """Add fingerprints."""
        positions = np.arange(len(self._values), len(self._values) + len(values))
        self._values.extend(values)
        self._entries.add(_segments(np.array(values, dtype=np.uint64)), np.repeat(positions, len(_SHIFTS)))

    def near(self, values: Sequence[int | None], distances: Sequence[int]) -> Near:
        """Return for each asker the positions of all fingerprints near its own. There are no scores.

        :param values: the fingerprint of each asker; None for one that has none.
        :param distances: for each, the most bits that differ.
        """
        every = np.frombuffer(self._values, dtype=np.uint64)
        own, most = np.array([value or 0 for value in values], dtype=np.uint64), np.array(distances)
        asking = np.array([value is not None for value in values], dtype=np.bool_)
        by_segments = np.flatnonzero(asking & (most <= 3))
        segments = _segments(own[by_segments])
        ranges = self._entries.ranges(segments, segments)
        numbers, positions = self._entries.read(ranges, sizes_of(ranges, len(segments)))
        askers = by_segments[numbers // len(_SHIFTS)]
        for asker in np.flatnonzero(asking & (most > 3)):
            far = np.flatnonzero(np.bitwise_count(every ^ own[asker]) <= most[asker])
            askers, positions = np.append(askers, np.full(len(far), asker)), np.append(positions, far)
        is_near = np.bitwise_count(every[positions] ^ own[askers]) <= most[askers]
        pairs = np.unique(askers[is_near] << POSITION_BITS | positions[is_near])
        return Near.of(pairs, np.zeros(len(pairs)))


def _segments(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the four segments of each fingerprint as keys."""
    return (values[:, None] >> _SHIFTS & _SEGMENT | _NUMBERS).ravel()
