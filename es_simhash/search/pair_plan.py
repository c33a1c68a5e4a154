"""Which pairs of neighbouring segments must be looked up, so that everything within max_distance is found.

**Ring** (pigeonring; Qin and Xiao, "Pigeonring: a principle for faster thresholded similarity search", VLDB
2018): let d0..d(n-1) be the differing bits of the n segments, k at most in all, the segments in a ring. Then
some i has d_i + … + d_(i+l-1) <= l*k/n for *every* length l. The lengths 1 and 2 give a test on two
neighbouring segments, which an index on such pairs answers::

    d_i <= floor(k/n)   and   d_i + d_(i+1) <= floor(2k/n)

It loses nothing, and lets through one in 63 million for k = 3. An index on each segment by itself is asked for less by
:mod:`es_simhash.search.query_plan`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import segment_columns
from es_simhash.search.query_plan import ball, sphere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def pairs(fingerprints: Sequence[int], max_distance: int, bits: int) -> list[NDArray[np.uint32]]:
    """What a segment and its neighbour may hold, as numbers of 32 bits.

    :returns: for each segment the values that it and its neighbour may have together, segment first.
    """
    columns = segment_columns(fingerprints, bits).astype(np.uint32)
    masks = _pair_masks(max_distance, bits // 16)
    neighbours = np.roll(columns, -1, axis=0)
    return [np.unique((column << 16 | next)[:, None] ^ masks) for column, next in zip(columns, neighbours, strict=True)]


def firsts(fingerprints: Sequence[int], max_distance: int, bits: int) -> list[NDArray[np.uint32]]:
    """The same without a look at the neighbour: the first value of each range of 65,536 pairs, for each segment."""
    near = ball(max_distance // (bits // 16))
    columns = segment_columns(fingerprints, bits)
    return [np.unique(column[:, None] ^ near).astype(np.uint32) << np.uint32(16) for column in columns]


@cache
def _pair_masks(max_distance: int, segments: int) -> NDArray[np.uint32]:
    reach = 2 * max_distance // segments
    return np.concatenate(
        [
            (sphere(radius).astype(np.uint32)[:, None] << 16 | ball(reach - radius)).ravel()
            for radius in range(max_distance // segments + 1)
        ]
    )
