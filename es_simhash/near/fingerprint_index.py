"""Fingerprints in memory: which are within a distance of another one? Complete for each distance.

The positions of the values stand in buckets, one for each value of each of the four segments. Two fingerprints that
differ in at most 3 bits have an equal segment, by the pigeonhole principle (Manku, Jain and Das Sarma, "Detecting
near-duplicates for web crawling", WWW 2007). For a larger distance all values are compared, which takes 1 ms a million.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.near.key_index import POSITION_BITS, Near

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

    def near(self, values: Sequence[int | None], distances: Sequence[int]) -> Near:
        """Return for each asker the positions of all fingerprints near its own. There are no scores.

        :param values: the fingerprint of each asker; None for one that has none.
        :param distances: for each, the most bits that differ.
        """
        candidates = [self._candidates(value, most) for value, most in zip(values, distances, strict=True)]
        counts = [sum(map(len, parts)) for parts in candidates]
        positions = np.frombuffer(b"".join(chain.from_iterable(candidates)), dtype=np.uint32)
        asker = np.repeat(np.arange(len(values)), counts)
        own = np.array([value or 0 for value in values], dtype=np.uint64)
        differing = np.bitwise_count(np.frombuffer(self._values, dtype=np.uint64)[positions] ^ own[asker])
        is_near = differing <= np.array(distances)[asker]
        pairs = np.unique(asker[is_near] << POSITION_BITS | positions[is_near])
        return Near.of(pairs, np.zeros(len(pairs)))

    def _candidates(self, value: int | None, distance: int) -> list[array[int] | NDArray[np.uint32]]:
        """Return positions, some of them several times, among which are those of all near fingerprints."""
        if value is None:
            return []
        if distance > 3:
            every = np.frombuffer(self._values, dtype=np.uint64)
            near = np.bitwise_count(every ^ np.uint64(value)) <= distance
            return [np.flatnonzero(near).astype(np.uint32)]
        segments = zip(_SHIFTS, self._buckets, strict=True)
        return [buckets.get(value >> shift & _SEGMENT, _NONE) for shift, buckets in segments]
