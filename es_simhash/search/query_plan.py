"""Which values of which segments must be asked for, so that everything within max_distance is found.

Let d0..d(n-1) be the differing bits of the n segments, k at most in all. Of them at least::

    m = n - floor(k / (r + 1))    differ in at most r bits, for any r

since each of the others takes r + 1 bits or more (the pigeonhole principle, general form: Qin et al., "GPH: similarity
search in Hamming space", ICDE 2018). With r = floor(k/n) some segment always does. Where two do or more, to ask for
documents with m such segments finds everything and next to nothing else. Where it may be one alone, k is (n - 1)(r + 1)
or one more; then all the others differ in exactly r + 1 bits, but that one bit may be anywhere. So a second or a third
segment that differs in exactly r + 1 bits is asked for beside it: which one may be is in :func:`cover`.

Of 64 bits at k = 3 that is 40 values for one of 61 million, at k = 7 it is 500 for one of 400,000. To ask for pairs of
neighbours in a ring of segments (:mod:`es_simhash.search.pair_plan`) takes 72 and 3,408 values for about as few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Beside:
    """A segment that differs in exactly ``bits`` bits, beside one of the partners.

    :param partners: pairs (segment, how many bits at most it differs in).
    """

    segment: int
    bits: int
    partners: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cover:
    """What everything within a max_distance satisfies: ``at_least`` segments within ``radius``, or one of ``rest``."""

    segments: int
    radius: int
    at_least: int
    rest: tuple[Beside, ...]

    @property
    def values(self) -> int:
        """How many values are asked for."""
        partners = sum(ball(radius).size for beside in self.rest for _, radius in beside.partners)
        return self.segments * ball(self.radius).size + sum(sphere(b.bits).size for b in self.rest) + partners

    def share(self, fingerprints: int) -> float:
        """The share of uniform fingerprints that satisfies it for one of so many, when they are asked for together."""
        each = fingerprints / (1 << 16)
        within = ball(self.radius).size * each
        rest = sum(
            sphere(beside.bits).size * each * ball(radius).size * each
            for beside in self.rest
            for _, radius in beside.partners
        )
        return min(1.0, float(comb(self.segments, self.at_least) * within**self.at_least + rest))


@cache
def cover(max_distance: int, segments: int) -> Cover:
    """The Cover for a max_distance below twice the number of segments."""
    radius = max_distance // segments
    at_least = segments - max_distance // (radius + 1)
    if at_least > 1:
        return Cover(segments, radius, at_least, ())
    beyond = radius + 1
    over = max_distance - (segments - 1) * beyond  # 0 or 1
    # If segment i stands alone, then 0 is beyond, or else it is 0 itself or has the bit that is over: then 1 is beyond,
    # or else it is 1 itself or has that bit: then 2 is.
    rest = [
        Beside(0, beyond, tuple((i, over) for i in range(1, segments))),
        Beside(1, beyond, ((0, over), *((i, 0) for i in range(2, segments) if over))),
    ]
    if over:
        rest.append(Beside(2, beyond, ((0, 0), (1, 0))))
    return Cover(segments, radius, 2, tuple(rest))


@cache
def sphere(radius: int) -> NDArray[np.uint16]:
    """The 16-bit masks with exactly ``radius`` bits."""
    every = np.arange(1 << 16, dtype=np.uint32)
    masks: NDArray[np.uint16] = every[np.bitwise_count(every) == radius].astype(np.uint16)
    return masks


@cache
def ball(radius: int) -> NDArray[np.uint16]:
    """The 16-bit masks with at most ``radius`` bits: 1, 17, 137, 697 of them for radius 0..3."""
    return np.concatenate([sphere(r) for r in range(radius + 1)])
