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
random fingerprints. ``_PAIRS`` says which pairs are enough.

**Cost.** At 64 bits and k = 3 the plan asks for 40 values, and one random fingerprint in 61 million passes. At k = 7 it
asks for 500 values, and one in 400,000 passes. The test on two neighbouring segments of a ring (Qin and Xiao,
"Pigeonring: a principle for faster thresholded similarity search", VLDB 2018) would ask the same index for 72 and 3,408
values, and about as few would pass.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import InputError, shown, whole_number
from es_simhash.text.encoding import ball, hex_segments, sphere, split
from es_simhash.text.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SEGMENTS = 4
"""Segments of a fingerprint in a store."""
_PAIRS: tuple[dict[int, dict[int, int]], ...] = (
    {0: {1: 0, 2: 0, 3: 0}, 1: {0: 0}},
    {0: {1: 1, 2: 1, 3: 1}, 1: {0: 1, 2: 0, 3: 0}, 2: {0: 0, 1: 0}},
)
"""By the bits that are left over, 0 or 1: a segment that differs in exactly r + 1 bits; and its partners, of which one
differs in at most so many bits. Why they are enough if only segment i is within the radius:

- Segment 0, and any other one within the bits left over, finds every i > 0, unless segment 0 itself has the extra bit.
- Segment 1, and segment 0 within the bits left over, finds i = 0, unless segment 1 has the extra bit. With the partners
  2 and 3 equal it also finds every i > 1 where segment 0 has the extra bit.
- Segment 2, if there is an extra bit, and segment 0 or 1 equal, finds the two cases left: i = 0 where segment 1 has the
  extra bit, and i = 1 where segment 0 has it.
"""


def plain_clause(fingerprint: int, field: str = "simhash", bits: int = 64) -> dict[str, Any]:
    """Return a clause for documents that have at least one segment equal to the fingerprint's.

    It is an OR of one ``term`` clause a segment. It finds everything within 3 bits (within 7 at 128 bits), by the
    pigeonhole principle, and many other documents.

    :param fingerprint: unsigned.
    :param field: the object field that holds the segments.
    :param bits: the fingerprint width, 64 or 128.
    :raises InputError: for another value.
    """
    Scheme(bits=bits)  # raises for another width
    fingerprint = whole_number("a fingerprint", fingerprint, 0, (1 << bits) - 1)
    if not isinstance(field, str):
        raise InputError(f"field is {shown(field)}: name the field that holds the segments")
    terms = [{"term": {f"{field}.s{i}": segment}} for i, segment in enumerate(hex_segments(fingerprint, bits))]
    return {"bool": {"should": terms, "minimum_should_match": 1}}


def candidates_clause(fingerprints: Sequence[int], max_distance: int) -> dict[str, Any]:
    """Return a clause for every document within ``max_distance`` of one of some fingerprints, and almost no other.

    What it finds are candidates. Compare the stored fingerprint, ``simhash.fp``, a signed long, with yours.

    :param fingerprints: unsigned, of 64 bits.
    :param max_distance: 0 to 7 bits.
    """
    columns = np.array([split(value, 64) for value in fingerprints], dtype=np.uint16).T

    def terms(segment: int, masks: NDArray[np.uint16]) -> dict[str, Any]:
        return _terms(f"simhash.s{segment}", columns[segment], masks)

    radius = max_distance // SEGMENTS
    minimum = SEGMENTS - max_distance // (radius + 1)
    near = [terms(segment, ball(radius)) for segment in range(SEGMENTS)]
    should = [{"bool": {"should": near, "minimum_should_match": max(2, minimum)}}]
    if minimum == 1:
        exact = radius + 1
        for segment, partners in _PAIRS[max_distance - (SEGMENTS - 1) * exact].items():
            nearby = [terms(partner, ball(bits)) for partner, bits in partners.items()]
            one_partner = {"bool": {"should": nearby, "minimum_should_match": 1}}
            should.append({"bool": {"filter": [terms(segment, sphere(exact)), one_partner]}})
    return {"bool": {"should": should, "minimum_should_match": 1}}


def _terms(name: str, segments: NDArray[np.uint16], masks: NDArray[np.uint16]) -> dict[str, Any]:
    """Return a clause for the values of a segment that differ from one of these by one of the masks."""
    values = (segments[:, None] ^ masks).ravel()
    return {"terms": {name: _hex()[values if len(segments) == 1 else np.unique(values)].tolist()}}


@cache
def _hex() -> NDArray[np.object_]:
    """Return every value of a segment as it is indexed, shape (65536,)."""
    return np.array([f"{value:04x}" for value in range(1 << 16)], dtype=np.object_)
