"""A NearIndex answers as a comparison of each fingerprint with each."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.search.hamming import hamming_distance
from es_simhash.search.near_index import LIMITS, Limits, NearIndex


@st.composite
def fingerprints(draw: st.DrawFn, bits: int) -> list[list[int | None]]:
    """Several lists of fingerprints. Many are near each other."""
    rng = draw(st.randoms(use_true_random=False))
    centres = [rng.getrandbits(bits) for _ in range(draw(st.integers(1, 20)))] + [0, (1 << bits) - 1]
    lists: list[list[int | None]] = []
    for count in draw(st.lists(st.integers(0, 15), min_size=2, max_size=6)):
        values = [rng.choice(centres) if rng.random() < 0.7 else rng.getrandbits(bits) for _ in range(count)]
        flipped = [v ^ sum(1 << bit for bit in rng.sample(range(bits), rng.randint(0, 9))) for v in values]
        lists.append([None if rng.random() < 0.1 else value for value in flipped])
    return lists


@pytest.mark.parametrize(("tail", "worthwhile"), [(0, 0), (0, 16), (7, 0), (LIMITS.tail, 16)])
@pytest.mark.parametrize("bits", [64, 128])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_what_is_near_is_what_a_comparison_of_each_with_each_finds(
    bits: int, tail: int, worthwhile: int, data: st.DataObject
) -> None:
    few, search = 0 if tail == 0 else LIMITS.few, 0 if worthwhile == 0 else LIMITS.search
    limits = Limits(tail=tail, worthwhile=worthwhile, at_once=20, few=few, search=search)
    *added, asked = data.draw(fingerprints(bits))
    max_distance = data.draw(st.integers(-1, bits // 8 - 1))
    index = NearIndex(bits, max_distance, limits=limits)
    without_positions = NearIndex(bits, max_distance, positions=False, limits=limits)
    stored: list[int | None] = []
    for some in added:
        index.add(some)
        without_positions.add(some)
        stored += some
        expected = {
            (number, position, distance)
            for number, one in enumerate(asked)
            for position, other in enumerate(stored)
            if (distance := hamming_distance(one, other)) is not None and distance <= max_distance
        }
        found = [
            pair
            for near in index.near(asked)
            for pair in zip(near.asked.tolist(), near.positions.tolist(), near.distances.tolist(), strict=True)
        ]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert len(index) == len(stored)
        assert index.near_any(asked).tolist() == sorted({position for _, position, _ in expected})
        counts = [sum(number == each for each, _, _ in expected) for number in range(len(asked))]
        assert index.count_near(asked).tolist() == counts
        for number, one in enumerate(asked):
            positions, distances = index.within(one)
            alone = sorted((position, distance) for each, position, distance in expected if each == number)
            assert list(zip(positions.tolist(), distances.tolist(), strict=True)) == alone
        best = {number: min(bits for each, _, bits in expected if each == number) for number, _, _ in expected}
        nearest = {(number, position) for number, position, bits in expected if bits == best[number]}
        assert index.nearest_any(asked).tolist() == sorted({position for _, position in nearest})
        values = [one for one in asked if one is not None]
        named = [
            sorted(
                {value for number, position in nearest if number == each and (value := stored[position]) is not None}
            )
            for each, one in enumerate(asked)
            if one is not None
        ]
        assert index.nearest(values) == without_positions.nearest(values) == named
        near = [count > 0 for count, one in zip(counts, asked, strict=True) if one is not None]
        assert index.may_be_near(values).tolist() == near
        assert without_positions.may_be_near(values).tolist() == near


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("max_distance", [0, 2, 3])
def test_among_thousands_the_same_are_found_however_many_share_a_segment(bits: int, max_distance: int) -> None:
    rng = random.Random(bits)
    random_ones = [rng.getrandbits(bits) for _ in range(6_000)]
    one_segment = [rng.getrandbits(bits - 16) for _ in range(6_000)]
    for stored in (random_ones, one_segment):
        index = NearIndex(bits, max_distance)
        index.add(stored[:5_000])
        index.add(stored[5_000:])
        asked = [value ^ 1 << rng.randrange(bits) for value in stored[::60]]
        assert set(index.near_any(asked).tolist()) == {
            position
            for position, value in enumerate(stored)
            if any((value ^ other).bit_count() <= max_distance for other in asked)
        }


def test_where_segments_are_crowded_a_fingerprint_may_be_near() -> None:
    index = NearIndex(64, 3, positions=False, limits=Limits(crowded=3, tail=0))
    index.add([0xFFFF << 16 | number << 32 for number in (0x0F, 0xF0, 0xFF, 0xF0F, 0xFF0)])
    far = 0xFFFF << 16 | 0xF000 << 32 | 0xFFFF
    assert index.may_be_near([far, 0xF000_F000_0000_F000]).tolist() == [True, False]


def test_levels_are_few() -> None:
    index = NearIndex(64, 3, limits=Limits(tail=0))
    for number in range(200):
        index.add(range(number * 10, number * 10 + 10))
    levels, _ = index._parts
    assert sum(map(len, levels)) == len(index) == 2_000
    assert len(levels) <= 5


def test_a_thread_that_asks_while_another_adds_sees_each_fingerprint_once() -> None:
    values = np.random.default_rng(1).integers(0, 1 << 64, 60_000, dtype=np.uint64).tolist()
    index = NearIndex(64, 3)
    index.add(values[:100])
    adding = threading.Thread(target=lambda: [index.add(values[n : n + 500]) for n in range(100, 60_000, 500)])
    adding.start()
    while adding.is_alive():
        assert index.count_near(values[:100]).tolist() == [1] * 100
    adding.join()
    assert index.count_near(values).tolist() == [1] * 60_000
