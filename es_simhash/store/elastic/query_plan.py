"""The query plan: which values of which segments a search asks for, so that it finds everything within max_distance.

**The problem.** A fingerprint is cut into n segments of 16 bits. Each segment is indexed by itself. Two fingerprints
differ in at most k bits (k is max_distance); segment i differs in d_i bits, so d_0 + … + d_(n-1) <= k. Nobody knows
how the differing bits are spread over the segments. The plan must hold for every spread.

**The counting argument.** Choose a radius r. A segment that differs in more than r bits takes at least r + 1 of the k
bits, so at most floor(k / (r + 1)) segments do. Therefore at least ::

    m = n - floor(k / (r + 1))

segments differ in at most r bits (the pigeonhole principle, general form: Qin et al., "GPH: similarity search in
Hamming space", ICDE 2018). With r = floor(k / n), m is at least 1. The plan uses this r.

**m >= 2.** The plan asks for documents with at least m segments within the radius. It loses nothing, and random
fingerprints almost never pass.

**m = 1.** One segment alone would let too many random fingerprints pass. The plan asks for two segments within the
radius, and treats the fingerprints with only one such segment apart. Let i be that segment. The n - 1 others differ in
at least r + 1 bits each, which takes (n - 1)(r + 1) bits. Here k < 2n, so k is (n - 1)(r + 1) or one more: at most one
bit is left over. So every other segment differs in *exactly* r + 1 bits, except that the bit left over may be in one of
the others; then segment i is equal. A second segment at exactly r + 1 bits, together with segment i, is rare among
random fingerprints. Each :class:`ExactDistanceClause` asks for such a pair; :func:`query_plan` says which pairs are
enough.

**Cost.** At 64 bits and k = 3 the plan asks for 40 values, and one random fingerprint in 61 million passes. At k = 7 it
asks for 500 values, and one in 400,000 passes. The test on two neighbouring segments of a ring (Qin and Xiao,
"Pigeonring: a principle for faster thresholded similarity search", VLDB 2018) would ask the same index for 72 and 3,408
values, and about as few would pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.text.encoding import ball, sphere, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SEGMENTS = 4
"""Segments of a fingerprint in a store."""


@dataclass(frozen=True)
class ExactDistanceClause:
    """A clause of a query plan: one segment at an exact distance, and one of several partners nearby.

    A fingerprint satisfies the clause if its segment ``segment`` differs in exactly ``distance`` bits, and at least one
    partner segment differs in at most as many bits as the clause allows for that partner.

    :param segment: the number of the segment, 0 for the highest bits.
    :param distance: in bits.
    :param partners: pairs (number of the partner segment, bits in which it may differ at most).
    """

    segment: int
    distance: int
    partners: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class QueryPlan:
    """A condition that every fingerprint within max_distance satisfies, and almost no other.

    A fingerprint satisfies the plan if at least ``minimum`` of its segments are within ``radius``, or if it satisfies
    one of the ``clauses``.

    :param radius: bits in which a segment may differ to be within the radius.
    :param minimum: segments that must be within the radius.
    """

    radius: int
    minimum: int
    clauses: tuple[ExactDistanceClause, ...]


@cache
def query_plan(max_distance: int) -> QueryPlan:
    """Return the query plan for a max_distance in bits, below twice the number of segments.

    Why the clauses are enough if only one segment i is within the radius (the docstring of this module has the rest).
    Let ``exact`` be r + 1, and ``extra`` the bits left over, 0 or 1.

    - Clause 0: segment 0 at ``exact``, and any other segment within ``extra``. It finds every i > 0, unless segment 0
      itself has the extra bit.
    - Clause 1: segment 1 at ``exact``, and segment 0 within ``extra``. It finds i = 0, unless segment 1 has the extra
      bit. With the partners 2, 3, … equal it also finds every i > 1 where segment 0 has the extra bit.
    - Clause 2, if there is an extra bit: segment 2 at ``exact``, and segment 0 or 1 equal. It finds the two cases left:
      i = 0 where segment 1 has the extra bit, and i = 1 where segment 0 has it.
    """
    radius = max_distance // SEGMENTS
    minimum = SEGMENTS - max_distance // (radius + 1)
    if minimum > 1:
        return QueryPlan(radius, minimum, ())
    exact = radius + 1
    extra = max_distance - (SEGMENTS - 1) * exact
    clauses = [
        ExactDistanceClause(0, exact, tuple((i, extra) for i in range(1, SEGMENTS))),
        ExactDistanceClause(1, exact, ((0, extra), *((i, 0) for i in range(2, SEGMENTS) if extra))),
    ]
    if extra:
        clauses.append(ExactDistanceClause(2, exact, ((0, 0), (1, 0))))
    return QueryPlan(radius, 2, tuple(clauses))


def candidates_clause(fingerprints: Sequence[int], max_distance: int) -> dict[str, Any]:
    """Return a clause for every document within ``max_distance`` of one of some fingerprints, and almost no other.

    What it finds are candidates. Compare the stored fingerprint, ``simhash.fp``, a signed long, with yours.

    :param fingerprints: unsigned, of 64 bits.
    :param max_distance: 0 to 7 bits.
    """
    columns = np.array([split(value, 64) for value in fingerprints], dtype=np.uint16).T

    def terms(segment: int, masks: NDArray[np.uint16]) -> dict[str, Any]:
        return _terms(f"simhash.s{segment}", columns[segment], masks)

    plan = query_plan(max_distance)
    near = [terms(segment, ball(plan.radius)) for segment in range(SEGMENTS)]
    should = [{"bool": {"should": near, "minimum_should_match": plan.minimum}}]
    for clause in plan.clauses:
        partners = [terms(segment, ball(radius)) for segment, radius in clause.partners]
        one_partner = {"bool": {"should": partners, "minimum_should_match": 1}}
        should.append({"bool": {"filter": [terms(clause.segment, sphere(clause.distance)), one_partner]}})
    return {"bool": {"should": should, "minimum_should_match": 1}}


def _terms(name: str, segments: NDArray[np.uint16], masks: NDArray[np.uint16]) -> dict[str, Any]:
    """Return a clause for the values of a segment that differ from one of these by one of the masks."""
    values = (segments[:, None] ^ masks).ravel()
    return {"terms": {name: _hex()[values if len(segments) == 1 else np.unique(values)].tolist()}}


@cache
def _hex() -> NDArray[np.object_]:
    """Return every value of a segment as it is indexed, shape (65536,)."""
    return np.array([f"{value:04x}" for value in range(1 << 16)], dtype=np.object_)
