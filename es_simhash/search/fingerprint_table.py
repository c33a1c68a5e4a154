"""Is a fingerprint near one of very many in memory? A table that answers it for all documents of a store.

Two fingerprints within three bits have one of any four segments in common (the pigeonhole principle). So the table
holds each fingerprint four times, sorted by each of four segments, and compares a fingerprint with those that have one
of its segments. This is the first choice of Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling"
(2007), section 3. It takes 32 bytes for each fingerprint of 64 bits, 64 bytes for one of 128 bits.

New fingerprints become a table of their own, a level. Levels of similar size are merged, as in a log-structured
merge-tree (O'Neil et al., 1996). So there are few levels, and each fingerprint is sorted a few times only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.search.hamming import paired_distances
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST_DISTANCE = 3
"""In bits. Four segments cannot all differ within it."""
CROWDED = 10_000
"""Comparisons for one fingerprint. If more would be needed, the answer is that it may be near."""
_SHIFTS = np.array([48, 32, 16, 0], dtype=np.uint64)
_VALUES = 1 << 16
_MERGE = 4
"""A level is merged with the one before it, until that one has at least so many times its fingerprints."""
PART = 4
"""A table may take 1 / PART of the free memory."""


def most_held(free: float, bits: int) -> int:
    """Return how many fingerprints a table may have: each takes ``bits`` / 2 bytes, and twice that in a merge.

    :param free: bytes of memory.
    :param bits: width of the fingerprints.
    """
    return int(free) // PART // bits


@dataclass(frozen=True)
class FingerprintTable:
    """Fingerprints that are looked up by four segments. It does not change.

    :param bits: width of the fingerprints.
    :param levels: the largest first.
    """

    bits: int
    levels: tuple[_Level, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def with_more(self, fingerprints: Sequence[int]) -> FingerprintTable:
        """Return a table that has these fingerprints too.

        :param fingerprints: unsigned, of the width of the table.
        """
        if not fingerprints:
            return self
        values, levels = to_array(fingerprints, self.bits), list(self.levels)
        while levels and len(levels[-1]) < _MERGE * len(values):
            values = np.concatenate([levels.pop().fingerprints, values])
        return FingerprintTable(self.bits, (*levels, _Level.of(values)))

    def may_be_near(self, fingerprints: Sequence[int], max_distance: int) -> NDArray[np.bool_]:
        """Return for each of n fingerprints whether it may be near one of the table, shape (n,).

        It is True for all that are near, and for those that would need more than ``CROWDED`` comparisons in a level.

        :param fingerprints: unsigned, of the width of the table.
        :param max_distance: in bits, from 0 to ``LARGEST_DISTANCE``.
        """
        asked = to_array(fingerprints, self.bits)
        found = np.zeros(len(fingerprints), dtype=np.bool_)
        if len(fingerprints):
            for level in self.levels:
                found |= level.may_be_near(asked, max_distance)
        return found


@dataclass(frozen=True)
class _Level:
    """n fingerprints, four times.

    :param values: sorted by the first segment, then by the second, and so on; shape (4 n,), at 128 bits (4 n, 2).
    :param starts: of each value of each of the four segments, where its fingerprints begin; then 4 n. Shape (262,145,).
    """

    values: NDArray[np.uint64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, fingerprints: NDArray[np.uint64]) -> _Level:
        count = len(fingerprints)
        values = np.empty((4 * count, *fingerprints.shape[1:]), dtype=np.uint64)
        sizes = np.empty(4 * _VALUES, dtype=np.int64)
        for number, segments in enumerate(_segments(fingerprints).T):
            order = np.argsort(segments, kind="stable")  # of 16 bits, so it is a radix sort
            values[number * count : (number + 1) * count] = fingerprints[order]
            sizes[number * _VALUES : (number + 1) * _VALUES] = np.bincount(segments, minlength=_VALUES)
        return cls(values, np.concatenate([[0], np.cumsum(sizes)]))

    def __len__(self) -> int:
        return len(self.values) // 4

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        return self.values[: len(self)]

    def may_be_near(self, asked: NDArray[np.uint64], max_distance: int) -> NDArray[np.bool_]:
        keys = _segments(asked) + np.arange(0, 4 * _VALUES, _VALUES)
        starts = self.starts[keys]
        counts = self.starts[keys + 1] - starts
        found: NDArray[np.bool_] = counts.sum(axis=1) > CROWDED
        counts[found] = 0
        positions = run_positions(starts.ravel(), counts.ravel())  # of all with a common segment
        of_asked = np.repeat(np.arange(len(asked)), counts.sum(axis=1))
        near = paired_distances(self.values[positions], asked[of_asked]) <= max_distance
        found[of_asked[near]] = True
        return found


def _segments(fingerprints: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the first four segments of n fingerprints, shape (n, 4)."""
    first = fingerprints if fingerprints.ndim == 1 else fingerprints[:, 0]
    segments: NDArray[np.uint16] = (first[:, None] >> _SHIFTS).astype(np.uint16)
    return segments
