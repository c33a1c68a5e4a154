"""Laws of near pairs and groups: every near pair is found, and the groups equal those of the reference."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.groups.links import unite
from es_simhash.groups.near_pairs import NearPairs
from tests.contract.documents import flip

pytestmark = pytest.mark.slow

DISTANCES = {64: st.integers(0, 7), 128: st.integers(0, 15)}
each_length = pytest.mark.parametrize("bits", DISTANCES)


def fingerprints(bits: int) -> st.SearchStrategy[list[int]]:
    """Draw fingerprints: some are near each other, some almost, some not."""
    centres = st.sampled_from([0, (1 << bits) - 1, 0x0123_4567_89AB_CDEF << bits - 64 | 0x0F1E_2D3C])
    flips = st.sets(st.integers(0, bits - 1), max_size=bits // 8 + 1)
    return st.lists(st.tuples(centres, flips).map(lambda drawn: flip(*drawn)), max_size=30)


def reference_groups(values: list[int], max_distance: int) -> list[int]:
    """Return for each fingerprint the lowest index that steps of at most max_distance bits reach."""
    lowest = list(range(len(values)))
    for start in reversed(range(len(values))):
        reached, todo = {start}, [start]
        while todo:
            here = todo.pop()
            for there, value in enumerate(values):
                if there not in reached and (value ^ values[here]).bit_count() <= max_distance:
                    reached.add(there)
                    todo.append(there)
        for index in reached:
            lowest[index] = min(reached)
    return lowest


@each_length
@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_groups_equal_the_reference(bits: int, data: st.DataObject) -> None:
    values, max_distance = data.draw(fingerprints(bits)), data.draw(DISTANCES[bits])
    array = to_array(values, bits)
    assert unite(len(values), NearPairs(array, max_distance).connecting()).tolist() == reference_groups(
        values, max_distance
    )


@each_length
@pytest.mark.parametrize("equal", [None, 1, 2, 3, 4])
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_every_near_pair_is_found_and_no_other(bits: int, equal: int | None, data: st.DataObject) -> None:
    values, max_distance = data.draw(fingerprints(bits)), data.draw(DISTANCES[bits])
    arrays = list(NearPairs(to_array(values, bits), max_distance, equal=equal).connecting())
    found = {frozenset((values[a], values[b])) for pairs in arrays for a, b in pairs.tolist()}
    near = {frozenset((a, b)) for a in values for b in values if (a ^ b).bit_count() <= max_distance}
    assert found == near


@each_length
@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_every_near_pair_is_returned_once_with_its_distance(bits: int, data: st.DataObject) -> None:
    values, max_distance = data.draw(fingerprints(bits)), data.draw(DISTANCES[bits] | st.just(-1))
    pairs, distances = NearPairs(to_array(values, bits), max_distance).every(100)
    found = [(a, b, d) for (a, b), d in zip(pairs.tolist(), distances.tolist(), strict=True)]
    near = [(a, b, (values[a] ^ values[b]).bit_count()) for b in range(len(values)) for a in range(b)]
    assert sorted(found) == sorted((a, b, d) for a, b, d in near if d <= max_distance)


@each_length
@given(data=st.data(), most=st.integers(1, 4), neighbours=st.integers(1, 5))
@settings(deadline=None, max_examples=200)
def test_with_a_limit_each_has_the_nearest_of_its_kind_and_what_is_missing_is_counted(
    bits: int, data: st.DataObject, most: int, neighbours: int
) -> None:
    values, max_distance = data.draw(fingerprints(bits)), data.draw(DISTANCES[bits])
    every = {
        (a, b) for b in range(len(values)) for a in range(b) if (values[a] ^ values[b]).bit_count() <= max_distance
    }
    near = NearPairs(to_array(values, bits), max_distance, neighbours=neighbours)
    pairs = [(a, b) for a, b in near.every(most)[0].tolist()]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) <= every
    later = Counter(b for _, b in pairs)
    assert all(count <= most for count in later.values())
    assert near.left_out >= bool(len(pairs) < len(every))
    for b in range(len(values)):
        copies = [a for a in range(b) if values[a] == values[b]]
        assert {(a, b) for a in copies[:most]} <= set(pairs)


@pytest.mark.parametrize(("bits", "max_distance"), [(64, 3), (64, 7), (128, 3), (128, 7), (128, 15)])
def test_planted_groups_are_found_among_many(bits: int, max_distance: int) -> None:
    rng = np.random.default_rng(5)
    data = rng.bytes(50_000 * bits // 8)
    values = [int.from_bytes(data[start : start + bits // 8], "big") for start in range(0, len(data), bits // 8)]
    for start in range(0, 5_000, 5):
        for n in range(1, 5):
            values[start + n] = flip(values[start + n - 1], rng.choice(bits, max_distance, replace=False).tolist())
    lowest = unite(len(values), NearPairs(to_array(values, bits), max_distance).connecting())
    assert (lowest[:5_000] == np.arange(5_000) // 5 * 5).all()
    assert len(np.unique(lowest)) == 46_000


@each_length
def test_a_chain_is_one_group_however_long(bits: int) -> None:
    chain = [(1 << n) - 1 for n in range(bits)]
    assert set(unite(bits, NearPairs(to_array(chain, bits), 1).connecting()).tolist()) == {0}


@each_length
def test_many_equal_fingerprints_cost_no_more_than_one_pair_each(bits: int) -> None:
    values = to_array([0] * 100_000, bits)
    assert sum(len(pairs) for pairs in NearPairs(values, 3).connecting()) == 100_000


@each_length
def test_below_distance_0_nothing_is_near(bits: int) -> None:
    assert list(NearPairs(to_array([0, 0], bits), -1).connecting()) == []


@each_length
def test_no_fingerprints_have_no_pairs_and_no_groups(bits: int) -> None:
    assert NearPairs(to_array([], bits), 3).every(20)[0].tolist() == []
    assert unite(0, NearPairs(to_array([], bits), 3).connecting()).tolist() == []
