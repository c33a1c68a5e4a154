"""The self-join finds every near pair, and uniting gives the groups that following links one by one gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.core.groups import near_pairs, unite
from es_simhash.testing.documents import flip

fingerprints = st.lists(
    st.tuples(st.sampled_from([0, (1 << 64) - 1, 0x0123_4567_89AB_CDEF]), st.sets(st.integers(0, 63), max_size=9)).map(
        lambda drawn: flip(*drawn)
    ),
    max_size=30,
)


def linked(values: list[int], max_distance: int) -> list[int]:
    """The slow twin: for each the lowest place that can be reached by steps of at most max_distance."""
    lowest = list(range(len(values)))
    for start in reversed(range(len(values))):
        reached, todo = {start}, [start]
        while todo:
            here = todo.pop()
            for there, value in enumerate(values):
                if there not in reached and (value ^ values[here]).bit_count() <= max_distance:
                    reached.add(there)
                    todo.append(there)
        for place in reached:
            lowest[place] = min(reached)
    return lowest


@given(values=fingerprints, max_distance=st.integers(0, 7))
@settings(deadline=None, max_examples=300)
def test_groups_are_those_of_following_links_one_by_one(values: list[int], max_distance: int) -> None:
    array = np.array(values, dtype=np.uint64)
    assert unite(len(values), near_pairs(array, max_distance)).tolist() == linked(values, max_distance)


@given(values=fingerprints, max_distance=st.integers(0, 7))
@settings(deadline=None, max_examples=300)
def test_every_near_pair_is_found_and_no_other(values: list[int], max_distance: int) -> None:
    array = np.array(values, dtype=np.uint64)
    found = {frozenset((values[a], values[b])) for pairs in near_pairs(array, max_distance) for a, b in pairs.tolist()}
    near = {frozenset((a, b)) for a in values for b in values if (a ^ b).bit_count() <= max_distance}
    assert found == near


@pytest.mark.parametrize("max_distance", [3, 7])
def test_planted_groups_are_found_among_many(max_distance: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 1 << 64, size=50_000, dtype=np.uint64)
    for start in range(0, 5_000, 5):
        for n in range(1, 5):
            bits = rng.choice(64, size=max_distance, replace=False)
            values[start + n] = values[start + n - 1] ^ np.bitwise_or.reduce(np.uint64(1) << bits.astype(np.uint64))
    lowest = unite(len(values), near_pairs(values, max_distance))
    assert (lowest[:5_000] == np.arange(5_000) // 5 * 5).all()
    assert len(np.unique(lowest)) == 46_000


def test_a_chain_is_one_group_however_long() -> None:
    chain = [(1 << n) - 1 for n in range(64)]
    assert set(unite(64, near_pairs(np.array(chain, dtype=np.uint64), 1)).tolist()) == {0}


def test_many_equal_fingerprints_cost_no_more_than_one_pair_each() -> None:
    values = np.zeros(100_000, dtype=np.uint64)
    assert sum(len(pairs) for pairs in near_pairs(values, 3)) == 100_000


def test_nothing_has_no_groups() -> None:
    assert unite(0, near_pairs(np.array([], dtype=np.uint64), 3)).tolist() == []
