"""The query clauses, as dicts to be put into any search: they go in filter context and don't score."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import hex_segments, segment_columns
from es_simhash.search.query_plan import ball, cover, sphere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def plain_clause(fingerprint: int, field: str = "simhash", bits: int = 64) -> dict[str, Any]:
    """An OR of terms, one a segment: at least one is equal. It finds everything within 3 bits, and much else.

    :param fingerprint: unsigned.
    :param field: the object that holds the segments.
    :param bits: length of the fingerprint; of 128 bits it finds everything within 7.
    """
    terms = [{"term": {f"{field}.s{i}": segment}} for i, segment in enumerate(hex_segments(fingerprint, bits))]
    return {"bool": {"should": terms, "minimum_should_match": 1}}


def candidates_clause(
    fingerprints: int | Sequence[int], max_distance: int = 3, field: str = "simhash", bits: int = 64
) -> dict[str, Any]:
    """Everything within ``max_distance`` of a fingerprint (or of any of several), and almost nothing else.

    What it finds is a candidate: compare ``simhash.fp`` (a signed long; of 128 bits the higher half, ``simhash.fp1`` is
    the lower) before you trust it. Why it loses nothing is in :mod:`es_simhash.search.query_plan`.

    :param max_distance: 0 to 7 bits; of 128 bits 0 to 15.
    :raises InputError: for another distance.
    """
    if not 0 <= max_distance < bits // 8:
        raise InputError(f"max_distance is {max_distance}: use 0 to {bits // 8 - 1} at {bits} bits")
    values = [fingerprints] if isinstance(fingerprints, int) else list(fingerprints)
    columns = segment_columns(values, bits)

    def terms(segment: int, masks: NDArray[np.uint16]) -> dict[str, Any]:
        wanted = np.zeros(1 << 16, dtype=np.bool_)
        wanted[columns[segment][:, None] ^ masks] = True
        return {"terms": {f"{field}.s{segment}": _hex()[wanted].tolist()}}

    wanted = cover(max_distance, bits // 16)
    close = [terms(segment, ball(wanted.radius)) for segment in range(bits // 16)]
    should = [{"bool": {"should": close, "minimum_should_match": wanted.at_least}}]
    for beside in wanted.rest:
        partners = [terms(segment, ball(radius)) for segment, radius in beside.partners]
        one = {"bool": {"should": partners, "minimum_should_match": 1}}
        should.append({"bool": {"filter": [terms(beside.segment, sphere(beside.bits)), one]}})
    return {"bool": {"should": should, "minimum_should_match": 1}}


@cache
def _hex() -> NDArray[np.object_]:
    """Every value of a segment as it is indexed."""
    return np.array([f"{value:04x}" for value in range(1 << 16)], dtype=np.object_)


ring_clause = candidates_clause
"""Its former name."""
