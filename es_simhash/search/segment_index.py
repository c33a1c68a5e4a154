"""Find the near fingerprints among some thousand in memory, without a comparison of each with each.

Below as many bits as there are segments, two near fingerprints have a segment in common (the pigeonhole principle). So
the index keeps, for each segment, its values in order, each with the position of its fingerprint. It looks up the
segments of a fingerprint there, and compares the fingerprint with those that it finds. At larger distances, or where
very many fingerprints have a segment in common, it compares each with each. It does so for a few fingerprints, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import segment_count, to_array
from es_simhash.search.hamming import paired_distances, pairs_within
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_POSITION_BITS = np.uint64(32)
_WORTHWHILE = 16
"""Fingerprints with a common segment are compared one by one if they are less than one of so many of all pairs."""
_FEW = 20_000
"""Up to so many pairs are compared at once: this takes less time than to put new fingerprints in order."""


class SegmentIndex:
    """Fingerprints in memory. New ones are added at the end.

    :param bits: width of the fingerprints.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._values = to_array([], bits) if bits == 64 else np.zeros((0, bits // 64), dtype=np.uint64)
        # The highest bits are the number and the value of a segment, the lowest are a position. Sorted.
        self._segments = np.zeros(0, dtype=np.uint64)
        self._sorted = 0
        """The fingerprints whose segments are there. Those that came later follow when they are needed."""

    def __len__(self) -> int:
        return len(self._values)

    def add(self, fingerprints: Sequence[int]) -> None:
        """Add fingerprints.

        :param fingerprints: unsigned, of the width of the index.
        """
        if fingerprints:
            self._values = np.concatenate([self._values, to_array(fingerprints, self._bits)])

    def _sort(self) -> None:
        if self._sorted == len(self):
            return
        positions = np.arange(self._sorted, len(self), dtype=np.uint64)
        entries = _segments(self._values[self._sorted :]) << _POSITION_BITS | positions[:, None]
        self._sorted = len(self)
        # A stable sort merges what is sorted already with what is new.
        self._segments = np.sort(np.concatenate([self._segments, np.sort(entries.ravel())]), kind="stable")

    def near(self, fingerprints: Iterable[int], max_distance: int) -> set[int]:
        """Return the positions of fingerprints within ``max_distance`` of at least one of these.

        :param fingerprints: unsigned, of the width of the index.
        :param max_distance: in bits; below 0 nothing is near.
        """
        asked = list(dict.fromkeys(fingerprints))
        if not asked or not len(self) or max_distance < 0:
            return set()
        ours = to_array(asked, self._bits)
        if max_distance < segment_count(self._bits) and len(ours) * len(self) > _FEW:
            self._sort()
            segments = _segments(ours)
            starts = np.searchsorted(self._segments, segments.ravel() << _POSITION_BITS)
            ends = np.searchsorted(self._segments, (segments.ravel() + np.uint64(1)) << _POSITION_BITS)
            counts = ends - starts
            if counts.sum() * _WORTHWHILE < len(self) * len(ours):
                return self._near_of_pairs(ours, starts, counts, max_distance)
        return {position for _, position, _ in pairs_within(ours, self._values, max_distance)}

    def _near_of_pairs(
        self, ours: NDArray[np.uint64], starts: NDArray[np.intp], counts: NDArray[np.intp], max_distance: int
    ) -> set[int]:
        """Return the positions that are near, of those with a common segment.

        :param ours: n fingerprints.
        :param starts: for each segment of each of them, shape (n × segments,): where its value begins.
        :param counts: how many entries have this value.
        """
        entries = self._segments[run_positions(starts, counts)]
        positions = (entries & np.uint64(0xFFFFFFFF)).astype(np.intp)
        asking = np.repeat(np.arange(counts.size) // segment_count(self._bits), counts)
        near = paired_distances(ours[asking], self._values[positions]) <= max_distance
        return set(positions[near].tolist())


def _segments(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the segments of n fingerprints, each with its number in front of its value, shape (n, segments)."""
    words = values.reshape(len(values), -1)
    shifts = np.arange(48, -1, -16, dtype=np.uint64)
    segments = (words[:, :, None] >> shifts & np.uint64(0xFFFF)).reshape(len(values), -1)
    numbers: NDArray[np.uint64] = segments | np.arange(segments.shape[1], dtype=np.uint64) << np.uint64(16)
    return numbers
