"""The plan for an index on pairs of neighbouring segments: which pairs a search asks for.

The method is the pigeonring principle (Qin and Xiao, "Pigeonring: a principle for faster thresholded similarity
search", VLDB 2018). Put the n segments of a fingerprint in a ring. Segment i differs in d_i bits, and all segments
together differ in at most k bits (k is max_distance). Then there is a segment i for which *every* length l satisfies::

    d_i + … + d_(i+l-1) <= l*k/n

The lengths 1 and 2 give a test on two neighbouring segments, which an index on pairs of neighbours can answer::

    d_i <= floor(k/n)   and   d_i + d_(i+1) <= floor(2k/n)

The test loses nothing. At 64 bits and k = 3 one random fingerprint in 63 million passes it. It is made for an index on
pairs, which the SQLite store has. An index on single segments is asked for fewer values by the plan in
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
    """Return the values that a segment and its neighbour may have together in a document near a fingerprint.

    :param fingerprints: any number of them; the result covers all.
    :param max_distance: in bits.
    :param bits: the fingerprint width.
    :returns: one sorted array for each segment, without repetitions. A value has 32 bits: the segment in the high half,
        its neighbour in the low half. The neighbour of the last segment is the first one.
    """
    columns = segment_columns(fingerprints, bits).astype(np.uint32)
    neighbours = np.concatenate([columns[1:], columns[:1]])
    values = (columns << np.uint32(16) | neighbours)[:, :, None] ^ _pair_masks(max_distance, bits // 16)
    if len(fingerprints) == 1:  # the masks are all different, so the values are
        return list(np.sort(values[:, 0]))
    return [np.unique(each) for each in values]


def pair_ranges(fingerprints: Sequence[int], max_distance: int, bits: int) -> list[NDArray[np.uint32]]:
    """Return ranges of pair values that contain all of :func:`pairs`: the segment is near, the neighbour is any value.

    :returns: one sorted array for each segment, without repetitions. Each value is the first of a range of 65,536.
    """
    near = ball(max_distance // (bits // 16))
    columns = segment_columns(fingerprints, bits)
    return [np.unique(column[:, None] ^ near).astype(np.uint32) << np.uint32(16) for column in columns]


@cache
def _pair_masks(max_distance: int, segments: int) -> NDArray[np.uint32]:
    """Return every 32-bit difference of a pair that passes the test on two neighbours, shape (n,)."""
    most_together = 2 * max_distance // segments
    return np.concatenate(
        [
            (sphere(radius).astype(np.uint32)[:, None] << 16 | ball(most_together - radius)).ravel()
            for radius in range(max_distance // segments + 1)
        ]
    )
