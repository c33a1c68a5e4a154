"""Laws of the cover: everything within max_distance satisfies it, however the bits are spread; and little else does."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.query_plan import ball, cover, sphere

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_simhash.search.query_plan import Cover

EACH = [(4, k) for k in range(8)] + [(8, k) for k in range(16)]
each_distance = pytest.mark.parametrize(("segments", "max_distance"), EACH)


def satisfied(wanted: Cover, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows of differing bits, one column a segment, satisfy it: what the query asks, in other words."""
    found: NDArray[np.bool_] = (counts <= wanted.radius).sum(axis=1) >= wanted.at_least
    for beside in wanted.rest:
        partner = np.zeros(len(counts), dtype=np.bool_)
        for segment, radius in beside.partners:
            assert segment != beside.segment
            partner |= counts[:, segment] <= radius
        found |= partner & (counts[:, beside.segment] == beside.bits)
    return found


def every_way(segments: int, bits: int) -> NDArray[np.int64]:
    """Every way in which at most so many bits are spread over the segments."""
    counts = np.zeros((1, 0), dtype=np.int64)
    for _ in range(segments):
        left = bits - counts.sum(axis=1)
        rows = np.repeat(np.arange(len(counts)), left + 1)
        counts = np.column_stack([counts[rows], np.concatenate([np.arange(most + 1) for most in left])])
    assert len(counts) == comb(bits + segments, segments)
    return counts


@each_distance
def test_however_the_bits_are_spread_the_cover_is_satisfied(segments: int, max_distance: int) -> None:
    assert satisfied(cover(max_distance, segments), every_way(segments, max_distance)).all()


@pytest.mark.parametrize("max_distance", range(8))
def test_the_share_is_that_of_uniform_fingerprints(max_distance: int) -> None:
    # By the chance of each way, of d differing bits in a segment comb(16, d) / 65,536; what overlaps counts once here.
    wanted = cover(max_distance, 4)
    counts = np.array(np.meshgrid(*[np.arange(17)] * 4)).reshape(4, -1).T
    chances = np.array([comb(16, d) / 65_536 for d in range(17)])[counts].prod(axis=1)
    share = float(chances[satisfied(wanted, counts)].sum())
    assert share <= wanted.share(1) <= 1.3 * share


def test_the_values_asked_for_and_the_share_of_each_distance() -> None:
    asked = [(cover(k, 4).values, round(cover(k, 4).share(1) * 2**32)) for k in range(8)]
    assert asked == [(4, 0), (4, 0), (4, 6), (40, 70), (68, 1_734), (68, 1_734), (312, 2_214), (500, 10_374)]
    assert [cover(k, 8).values for k in (0, 6, 7, 13, 14, 15)] == [8, 8, 48, 136, 384, 640]


@given(together=st.integers(1, 100), k=st.integers(0, 7))
def test_several_together_let_more_through_than_each_by_itself(together: int, k: int) -> None:
    wanted = cover(k, 4)
    assert together * wanted.share(1) <= wanted.share(together) * 1.000001 <= 1.000001


def test_spheres_and_balls_hold_the_masks_of_so_many_bits() -> None:
    for radius in range(4):
        assert {int(mask).bit_count() for mask in sphere(radius)} == {radius}
        assert len(set(sphere(radius).tolist())) == comb(16, radius)
        assert set(ball(radius).tolist()) == {m for r in range(radius + 1) for m in sphere(r).tolist()}
