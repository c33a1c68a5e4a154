"""Laws of the query plan: everything within max_distance satisfies it, and almost no other fingerprint does."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.query_plan import ball, query_plan, sphere

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_simhash.search.query_plan import QueryPlan

EACH = [(4, k) for k in range(8)] + [(8, k) for k in range(16)]
each_distance = pytest.mark.parametrize(("segments", "max_distance"), EACH)


def satisfied(plan: QueryPlan, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows satisfy the plan, by its definition.

    :param counts: differing bits, one row a fingerprint, one column a segment.
    """
    found: NDArray[np.bool_] = (counts <= plan.radius).sum(axis=1) >= plan.minimum
    for clause in plan.clauses:
        partner = np.zeros(len(counts), dtype=np.bool_)
        for segment, radius in clause.partners:
            assert segment != clause.segment
            partner |= counts[:, segment] <= radius
        found |= partner & (counts[:, clause.segment] == clause.distance)
    return found


def every_spread(segments: int, bits: int) -> NDArray[np.int64]:
    """Return every way to spread at most ``bits`` bits over the segments, one row each."""
    counts = np.zeros((1, 0), dtype=np.int64)
    for _ in range(segments):
        left = bits - counts.sum(axis=1)
        rows = np.repeat(np.arange(len(counts)), left + 1)
        counts = np.column_stack([counts[rows], np.concatenate([np.arange(most + 1) for most in left])])
    assert len(counts) == comb(bits + segments, segments)
    return counts


@each_distance
def test_however_the_bits_are_spread_the_plan_is_satisfied(segments: int, max_distance: int) -> None:
    assert satisfied(query_plan(max_distance, segments), every_spread(segments, max_distance)).all()


@pytest.mark.parametrize("max_distance", range(8))
def test_the_share_is_that_of_uniform_fingerprints(max_distance: int) -> None:
    # The exact share: the sum over every spread. d bits of a segment differ with a chance of comb(16, d) / 65,536.
    plan = query_plan(max_distance, 4)
    counts = np.array(np.meshgrid(*[np.arange(17)] * 4)).reshape(4, -1).T
    chances = np.array([comb(16, d) / 65_536 for d in range(17)])[counts].prod(axis=1)
    share = float(chances[satisfied(plan, counts)].sum())
    assert share <= plan.share(1) <= 1.3 * share


def test_the_values_asked_for_and_the_share_of_each_distance() -> None:
    found = [(query_plan(k, 4).values, round(query_plan(k, 4).share(1) * 2**32)) for k in range(8)]
    assert found == [(4, 0), (4, 0), (4, 6), (40, 70), (68, 1_734), (68, 1_734), (312, 2_214), (500, 10_374)]
    assert [query_plan(k, 8).values for k in (0, 6, 7, 13, 14, 15)] == [8, 8, 48, 136, 384, 640]


@given(together=st.integers(1, 100), k=st.integers(0, 7))
def test_several_together_let_more_through_than_each_by_itself(together: int, k: int) -> None:
    plan = query_plan(k, 4)
    assert together * plan.share(1) <= plan.share(together) * 1.000001 <= 1.000001


def test_a_sphere_has_the_masks_of_exactly_its_radius_and_a_ball_those_up_to_it() -> None:
    for radius in range(4):
        assert {int(mask).bit_count() for mask in sphere(radius)} == {radius}
        assert len(set(sphere(radius).tolist())) == comb(16, radius)
        assert set(ball(radius).tolist()) == {m for r in range(radius + 1) for m in sphere(r).tolist()}
