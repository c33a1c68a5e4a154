"""Fingerprints in memory: which are within a distance of another one? Complete for each distance.

Two fingerprints that differ in at most 3 bits have an equal segment of the four, by the pigeonhole principle (Manku,
Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007). So segments are keys. For a larger distance
all values are compared, which takes 1 ms a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_simhash.near.key_index import POSITION_BITS, Entries, Near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SHIFTS = np.array([0, 16, 32, 48], dtype=np.uint64)
_NUMBERS = _SHIFTS << np.uint64(12)
"""The numbers of the segments, above their 16 bits: equal segments in different places are different keys."""
_SEGMENT = np.uint64(0xFFFF)


class FingerprintIndex:
    """The segments of fingerprints. 32 bytes a fingerprint."""

    def __init__(self) -> None:
        self._entries = Entries()

    def add(self, values: NDArray[np.uint64], positions: NDArray[np.int64]) -> None:
        """Add fingerprints that stand at some positions."""
        self._entries.add(_segments(values), np.repeat(positions, len(_SHIFTS)))

    def near(
        self,
        values: Sequence[int | None],
        distances: Sequence[int],
        stored: NDArray[np.uint64],
        has_one: NDArray[np.bool_],
    ) -> Near:
        """Return for each asker the positions of all fingerprints near its own. There are no scores.

        :param values: the fingerprint of each asker; None for one that has none.
        :param distances: for each, the most bits that differ.
        :param stored: the fingerprint at each position, shape (n,).
        :param has_one: whether there is one at a position, shape (n,).
        """
        own, most = np.array([value or 0 for value in values], dtype=np.uint64), np.array(distances)
        asking = np.array([value is not None for value in values], dtype=np.bool_)
        by_segments = np.flatnonzero(asking & (most <= 3))
        numbers, positions = self._entries.whole(_segments(own[by_segments]))
        askers = by_segments[numbers // len(_SHIFTS)]
        for asker in np.flatnonzero(asking & (most > 3)):
            far = np.flatnonzero((np.bitwise_count(stored ^ own[asker]) <= most[asker]) & has_one)
            askers, positions = np.append(askers, np.full(len(far), asker)), np.append(positions, far)
        is_near = np.bitwise_count(stored[positions] ^ own[askers]) <= most[askers]
        pairs = np.unique(askers[is_near] << POSITION_BITS | positions[is_near])
        return Near.of(pairs, np.zeros(len(pairs)))


def pairs_within(values: Sequence[int | None], distance: int) -> Near:
    """Return for each fingerprint, by its place, the places of those within a distance, its own too."""
    known = np.array([value or 0 for value in values], dtype=np.uint64)
    has_one = np.array([value is not None for value in values], dtype=np.bool_)
    index = FingerprintIndex()
    index.add(known[has_one], np.flatnonzero(has_one))
    return index.near(values, [distance] * len(values), known, has_one)


def _segments(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the four segments of each fingerprint as keys."""
    return (values[:, None] >> _SHIFTS & _SEGMENT | _NUMBERS).ravel()
