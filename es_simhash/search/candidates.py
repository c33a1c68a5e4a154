"""Elasticsearch query clauses that find candidates for a fingerprint, as dicts.

Put them into any search, in filter context: they add nothing to the score.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import hex_segments, segment_columns
from es_simhash.search.query_plan import ball, query_plan, sphere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def plain_clause(fingerprint: int, field: str = "simhash", bits: int = 64) -> dict[str, Any]:
    """Return a clause for documents that have at least one segment equal to the fingerprint's.

    It is an OR of one ``term`` clause a segment. It finds everything within 3 bits (within 7 at 128 bits), by the
    pigeonhole principle, and many other documents.

    :param fingerprint: unsigned.
    :param field: the object field that holds the segments.
    :param bits: the fingerprint width, 64 or 128.
    """
    terms = [{"term": {f"{field}.s{i}": segment}} for i, segment in enumerate(hex_segments(fingerprint, bits))]
    return {"bool": {"should": terms, "minimum_should_match": 1}}


def candidates_clause(
    fingerprints: int | Sequence[int], max_distance: int = 3, field: str = "simhash", bits: int = 64
) -> dict[str, Any]:
    """Return a clause for every document within ``max_distance`` of a fingerprint, and almost no other.

    What it finds are candidates. Compare the stored fingerprint with yours before you trust one. The stored
    fingerprint is ``simhash.fp``, a signed long; at 128 bits ``simhash.fp`` is the high half and ``simhash.fp1`` the
    low one. :mod:`es_simhash.search.query_plan` explains why the clause loses nothing.

    :param fingerprints: one unsigned fingerprint, or several; several are looked for together.
    :param max_distance: 0 to 7 bits; 0 to 15 at 128 bits.
    :param field: the object field that holds the segments.
    :param bits: the fingerprint width, 64 or 128.
    :raises InputError: for another max_distance.
    """
    if not 0 <= max_distance < bits // 8:
        raise InputError(f"max_distance is {max_distance}: use 0 to {bits // 8 - 1} at {bits} bits")
    if fingerprints is None:
        raise InputError("the fingerprint is None, because its text is too short: near_query(text) finds its copies")
    values = [fingerprints] if isinstance(fingerprints, int) else list(fingerprints)
    columns = segment_columns(values, bits)

    def terms(segment: int, masks: NDArray[np.uint16]) -> dict[str, Any]:
        return _terms(f"{field}.s{segment}", columns[segment], masks)

    plan = query_plan(max_distance, bits // 16)
    near = [terms(segment, ball(plan.radius)) for segment in range(bits // 16)]
    should = [{"bool": {"should": near, "minimum_should_match": plan.minimum}}]
    for clause in plan.clauses:
        partners = [terms(segment, ball(radius)) for segment, radius in clause.partners]
        one_partner = {"bool": {"should": partners, "minimum_should_match": 1}}
        should.append({"bool": {"filter": [terms(clause.segment, sphere(clause.distance)), one_partner]}})
    return {"bool": {"should": should, "minimum_should_match": 1}}


def _terms(name: str, segments: NDArray[np.uint16], masks: NDArray[np.uint16]) -> dict[str, Any]:
    """Return a clause for the values of a segment that differ from one of these by one of the masks."""
    asked: NDArray[Any]
    if len(segments) == 1:
        asked = np.sort(segments ^ masks)
    else:
        asked = np.zeros(1 << 16, dtype=np.bool_)
        asked[segments[:, None] ^ masks] = True
    return {"terms": {name: _hex()[asked].tolist()}}


@cache
def _hex() -> NDArray[np.object_]:
    """Return every value of a segment as it is indexed, shape (65536,)."""
    return np.array([f"{value:04x}" for value in range(1 << 16)], dtype=np.object_)
