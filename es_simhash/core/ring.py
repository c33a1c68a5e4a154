"""Which pairs of segments must be asked for, so that everything within max_distance is found.

**Plain** (pigeonhole): at most 3 differing bits over four segments leave at least one segment equal. An OR of
four terms finds everything within 3 bits, and N/16,384 others among N uniform fingerprints.

**Ring** (pigeonring; Qin and Xiao, "Pigeonring: a principle for faster thresholded similarity search", VLDB
2018): let d0..d(n-1) be the differing bits of the n segments, k at most in all, the segments in a ring. Then
some i has d_i + … + d_(i+l-1) <= l*k/n for *every* length l. The lengths 1 and 2 give a test on two
neighbouring segments, which an index on the same fields answers::

    d_i <= floor(k/n)   and   d_i + d_(i+1) <= floor(2k/n)

An Arc is that test for one i and one exact r = d_i: the values that segment i may have, and those that its
neighbour may have. The OR over all Arcs loses nothing, and lets through one in 63 million for k = 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.core.segments import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Arc:
    """Segment ``first`` is one of ``first_values``, and its neighbour ``second`` is one of ``second_values``."""

    first: int
    first_values: NDArray[np.uint16]
    second: int
    second_values: NDArray[np.uint16]


def arcs(fingerprints: Sequence[int], max_distance: int, bits: int) -> list[Arc]:
    """The Arcs that everything within ``max_distance`` of any of the fingerprints lies on at least one of.

    For several fingerprints each Arc holds the values of all of them: what lies on it is near one of them or
    near none, never the other way round.
    """
    segments = bits // 16
    columns = np.array([split(value, bits) for value in fingerprints], dtype=np.uint16).reshape(-1, segments).T
    reach = 2 * max_distance // segments
    return [
        Arc(
            first,
            np.unique(columns[first][:, None] ^ _sphere(radius)),
            second := (first + 1) % segments,
            np.unique(columns[second][:, None] ^ _ball(reach - radius)),
        )
        for first in range(segments)
        for radius in range(max_distance // segments + 1)
    ]


def pairs(fingerprints: Sequence[int], max_distance: int, bits: int) -> list[NDArray[np.uint32]]:
    """The same test as numbers of 32 bits, for an index on pairs of neighbouring segments.

    :returns: for each segment the values that it and its neighbour may have together, segment first.
    """
    columns = np.array([split(value, bits) for value in fingerprints], dtype=np.uint32).reshape(-1, bits // 16).T
    masks = _pair_masks(max_distance, bits // 16)
    neighbours = np.roll(columns, -1, axis=0)
    return [np.unique((column << 16 | next)[:, None] ^ masks) for column, next in zip(columns, neighbours, strict=True)]


@cache
def _pair_masks(max_distance: int, segments: int) -> NDArray[np.uint32]:
    reach = 2 * max_distance // segments
    return np.concatenate(
        [
            (_sphere(radius).astype(np.uint32)[:, None] << 16 | _ball(reach - radius)).ravel()
            for radius in range(max_distance // segments + 1)
        ]
    )


@cache
def _sphere(radius: int) -> NDArray[np.uint16]:
    """The 16-bit masks with exactly ``radius`` bits."""
    every = np.arange(1 << 16, dtype=np.uint32)
    masks: NDArray[np.uint16] = every[np.bitwise_count(every) == radius].astype(np.uint16)
    return masks


@cache
def _ball(radius: int) -> NDArray[np.uint16]:
    """The 16-bit masks with at most ``radius`` bits: 1, 17, 137, 697 of them for radius 0..3."""
    return np.concatenate([_sphere(r) for r in range(radius + 1)])
