"""Laws of the plan for pairs of neighbouring segments: it finds everything within max_distance, and little else.

Qin and Xiao, "Pigeonring: a principle for faster thresholded similarity search", VLDB 2018.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import comb
from operator import xor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash.search.pair_plan import pair_ranges, pairs

pytestmark = pytest.mark.slow


def of_length(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


DISTANCES = [(64, k) for k in range(8)] + [(128, k) for k in range(16)]
each_distance = pytest.mark.parametrize(("bits", "max_distance"), DISTANCES)


def part(value: int, segment: int, bits: int) -> int:
    """Return a segment, cut out of the binary digits of the number."""
    return int(f"{value:0{bits}b}"[16 * segment : 16 * segment + 16], 2)


def pair_of(value: int, segment: int, bits: int) -> int:
    """Return a segment and its neighbour, as one number of 32 bits."""
    return part(value, segment, bits) << 16 | part(value, (segment + 1) % (bits // 16), bits)


def passes(values: list[int], max_distance: int, candidate: int, bits: int) -> bool:
    return any(
        pair_of(candidate, segment, bits) in asked for segment, asked in enumerate(pairs(values, max_distance, bits))
    )


@st.composite
def flips(draw: st.DrawFn, max_distance: int, bits: int) -> int:
    """Draw a mask of at most ``max_distance`` bits: anywhere, in few segments, or spread as evenly as possible."""
    count = draw(st.integers(0, max_distance) | st.just(max_distance))
    count_of_segments = bits // 16
    segments = draw(
        st.lists(st.integers(0, count_of_segments - 1), min_size=1, max_size=count_of_segments, unique=True)
    )
    if draw(st.booleans()):
        positions = [16 * segments[i % len(segments)] + draw(st.integers(0, 15)) for i in range(count)]
    else:
        inside = st.sampled_from(segments).flatmap(lambda segment: st.integers(16 * segment, 16 * segment + 15))
        positions = draw(st.lists(inside, min_size=count, max_size=count))
    return reduce(xor, {1 << position for position in positions}, 0)


@each_distance
@settings(max_examples=20)
@given(data=st.data())
def test_everything_within_max_distance_of_any_of_several_has_a_pair(
    bits: int, max_distance: int, data: st.DataObject
) -> None:
    values = data.draw(st.lists(of_length(bits), min_size=1, max_size=4))
    candidate = data.draw(st.sampled_from(values)) ^ data.draw(flips(max_distance, bits))
    assert passes(values, max_distance, candidate, bits)


@pytest.mark.parametrize("max_distance", range(8))
def test_everything_is_found_however_the_differing_bits_are_spread(max_distance: int) -> None:
    # The theorem depends only on how many bits differ in each segment. This tries every such spread, twice.
    value = 0x0123_4567_89AB_CDEF
    asked = [set(values.tolist()) for values in pairs([value], max_distance, 64)]
    for counts in product(range(max_distance + 1), repeat=4):
        if sum(counts) <= max_distance:
            for low in (0, 9):
                near = value ^ sum(((1 << count) - 1) << low << 16 * i for i, count in enumerate(counts))
                assert (value ^ near).bit_count() == sum(counts)
                assert any(pair_of(near, i, 64) in asked[i] for i in range(4))


def test_however_15_bits_are_spread_over_eight_segments_one_of_them_passes_the_test_on_pairs() -> None:
    # There are half a million spreads, so only the two inequalities are checked here. Another test checks the pairs.
    counts = np.zeros((1, 0), dtype=np.int64)
    for _ in range(8):
        left = 15 - counts.sum(axis=1)
        rows = np.repeat(np.arange(len(counts)), left + 1)
        last = np.concatenate([np.arange(most + 1) for most in left])
        counts = np.column_stack([counts[rows], last])
    assert len(counts) == comb(23, 8)
    for max_distance in range(16):
        near = counts[counts.sum(axis=1) <= max_distance]
        both = near + np.roll(near, -1, axis=1)
        assert ((near <= max_distance // 8) & (both <= 2 * max_distance // 8)).any(axis=1).all()


@each_distance
@settings(max_examples=20)
@given(data=st.data())
def test_pairs_are_all_that_satisfy_the_two_inequalities_and_no_others(
    bits: int, max_distance: int, data: st.DataObject
) -> None:
    value = data.draw(of_length(bits))
    most, both = max_distance // (bits // 16), 2 * max_distance // (bits // 16)
    size = sum(comb(16, r) * comb(16, s) for r in range(most + 1) for s in range(both - r + 1))
    for segment, asked in enumerate(pairs([value], max_distance, bits)):
        assert len(set(asked.tolist())) == len(asked) == size
        apart = asked ^ np.uint32(pair_of(value, segment, bits))
        first, second = np.bitwise_count(apart >> 16), np.bitwise_count(apart & 0xFFFF)
        assert (first <= most).all()
        assert (first + second <= both).all()


@each_distance
@settings(max_examples=20)
@given(data=st.data())
def test_pairs_of_several_are_those_of_each(bits: int, max_distance: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(of_length(bits), min_size=1, max_size=4))
    each = zip(*(pairs([value], max_distance, bits) for value in values), strict=True)
    for asked, of_each in zip(pairs(values, max_distance, bits), each, strict=True):
        assert asked.tolist() == np.unique(np.concatenate(of_each)).tolist()


def test_at_3_bits_a_fingerprint_has_68_pairs_one_in_63_million() -> None:
    sizes = [len(asked) for asked in pairs([0xFEDC_BA98_7654_3210], 3, 64)]
    assert sizes == [17, 17, 17, 17]
    assert (1 << 32) // sum(sizes) == 63_161_283


def test_random_fingerprints_far_away_are_not_found() -> None:
    random = np.random.default_rng(3)
    query, *_ = others = random.integers(0, 1 << 64, size=200_001, dtype=np.uint64)
    turns = [others << np.uint64(16 * i) | others >> np.uint64((64 - 16 * i) % 64) for i in range(4)]
    asked = pairs([int(query)], 3, 64)
    found = [np.isin(turned >> np.uint64(32), pair) for turned, pair in zip(turns, asked, strict=True)]
    assert [np.flatnonzero(f).tolist() for f in found] == [[0]] * 4, "each finds the query itself, first of all"


@each_distance
@settings(max_examples=20)
@given(data=st.data())
def test_every_pair_is_in_the_range_of_its_first_segment(bits: int, max_distance: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(of_length(bits), max_size=4))
    for asked, ranges in zip(pairs(values, max_distance, bits), pair_ranges(values, max_distance, bits), strict=True):
        assert set((asked >> np.uint32(16) << np.uint32(16)).tolist()) == set(ranges.tolist())


def test_pairs_of_no_fingerprints_hold_nothing() -> None:
    assert [len(asked) for asked in pairs([], 3, 64)] == [0, 0, 0, 0]
