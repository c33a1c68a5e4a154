"""Fingerprints in memory: which are within a distance of another one? Complete for each distance.

The positions of the values stand in buckets, one for each value of each of the four segments. Two fingerprints that
differ in at most 3 bits have an equal segment, by the pigeonhole principle (Manku, Jain and Das Sarma, "Detecting
near-duplicates for web crawling", WWW 2007). For a larger distance all values are compared, which takes 1 ms a million.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_SHIFTS = (0, 16, 32, 48)
_SEGMENT = 0xFFFF
_NONE = array("I")


class FingerprintIndex:
    """Values have positions in the order in which they were added. 24 bytes a value, and at most 50 MB of buckets."""

    def __init__(self) -> None:
        self._values = array("Q")
        self._buckets: list[dict[int, array[int]]] = [{} for _ in _SHIFTS]

    def add(self, values: Iterable[int]) -> None:
        """Add fingerprints."""
        for position, value in enumerate(values, len(self._values)):
            self._values.append(value)
            for shift, buckets in zip(_SHIFTS, self._buckets, strict=True):
                buckets.setdefault(value >> shift & _SEGMENT, array("I")).append(position)

    def near(self, value: int, distance: int) -> NDArray[np.int64]:
        """Return the positions of all fingerprints that are within ``distance`` bits of this one, ascending."""
        every = np.frombuffer(self._values, dtype=np.uint64)
        if distance > 3:
            return np.flatnonzero(np.bitwise_count(every ^ np.uint64(value)) <= distance)
        positions = array("I")
        for shift, buckets in zip(_SHIFTS, self._buckets, strict=True):
            positions += buckets.get(value >> shift & _SEGMENT, _NONE)
        at = np.frombuffer(positions, dtype=np.uint32)
        near = at[np.bitwise_count(every[at] ^ np.uint64(value)) <= distance]
        return np.array(sorted(set(near.tolist())), dtype=np.int64)  # mostly a few: faster than in numpy
