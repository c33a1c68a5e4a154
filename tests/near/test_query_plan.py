"""Laws of the query plan: everything within max_distance satisfies it, and almost no other fingerprint does."""

from __future__ import annotations

import json
import re
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from es_simhash.store.elastic.query_plan import SEGMENTS, candidates_clause, plain_clause

if TYPE_CHECKING:
    from numpy.typing import NDArray


def satisfied(clause: dict[str, Any], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows satisfy the clause for the fingerprint 0.

    :param counts: differing bits, one row a fingerprint, one column a segment.
    """
    ((kind, body),) = clause.items()
    if kind != "bool":
        ((field, wanted),) = body.items()
        values = wanted if kind == "terms" else [wanted]
        return np.isin(counts[:, int(field[-1])], [int(value, 16).bit_count() for value in values])
    found = sum(satisfied(each, counts).astype(np.int64) for each in body.get("should", ()))
    enough: NDArray[np.bool_] = np.full(len(counts), True) & (found >= body.get("minimum_should_match", 0))
    for each in body.get("filter", ()):
        enough &= satisfied(each, counts)
    return enough


def every_spread(bits: int, segments: int = SEGMENTS) -> NDArray[np.int64]:
    """Return every way to spread at most ``bits`` bits over the segments, one row each."""
    counts = np.zeros((1, 0), dtype=np.int64)
    for _ in range(segments):
        left = bits - counts.sum(axis=1)
        rows = np.repeat(np.arange(len(counts)), left + 1)
        counts = np.column_stack([counts[rows], np.concatenate([np.arange(most + 1) for most in left])])
    assert len(counts) == comb(bits + segments, segments)
    return counts


@pytest.mark.parametrize("max_distance", range(8))
def test_however_the_bits_are_spread_the_plan_is_satisfied(max_distance: int) -> None:
    assert satisfied(candidates_clause([0], max_distance), every_spread(max_distance)).all()


def test_a_query_has_few_terms_and_almost_no_random_fingerprint_satisfies_it() -> None:
    # The exact share: the sum over every spread. d bits of a segment differ with a chance of comb(16, d) / 65,536.
    counts = np.array(np.meshgrid(*[np.arange(17)] * 4)).reshape(4, -1).T
    chances = np.array([comb(16, d) / 65_536 for d in range(17)])[counts].prod(axis=1)
    shares = [float(chances[satisfied(candidates_clause([0], k), counts)].sum()) for k in range(8)]
    assert shares[3] == pytest.approx(1 / 61_000_000, rel=0.01)
    assert max(shares) == shares[7] < 1 / 400_000
    terms = [len(re.findall('"[0-9a-f]{4}"', json.dumps(candidates_clause([5], k)))) for k in range(8)]
    assert terms == [4, 4, 4, 40, 68, 68, 312, 500]


@pytest.mark.parametrize("bits", [64, 128])
def test_the_plain_clause_finds_what_has_a_segment_without_a_bit_that_differs(bits: int) -> None:
    clause, segments = plain_clause(0, bits=bits), bits // 16
    assert satisfied(clause, every_spread(segments - 1, segments)).all()
    assert not satisfied(clause, np.ones((1, segments), dtype=np.int64)).any()
