"""A SegmentIndex finds what a comparison of each fingerprint with each finds."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from es_simhash.search import segment_index
from es_simhash.search.segment_index import SegmentIndex


@st.composite
def fingerprints(draw: st.DrawFn, bits: int) -> list[list[int]]:
    """Several lists of fingerprints. Many are near each other."""
    rng = draw(st.randoms(use_true_random=False))
    centres = [rng.getrandbits(bits) for _ in range(draw(st.integers(1, 20)))] + [0, (1 << bits) - 1]
    lists = []
    for count in draw(st.lists(st.integers(0, 15), min_size=2, max_size=4)):
        values = [rng.choice(centres) if rng.random() < 0.7 else rng.getrandbits(bits) for _ in range(count)]
        lists.append([v ^ sum(1 << bit for bit in rng.sample(range(bits), rng.randint(0, 9))) for v in values])
    return lists


@pytest.mark.parametrize("few", [0, segment_index._FEW])
@pytest.mark.parametrize("bits", [64, 128])
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_near_fingerprints_are_those_of_a_comparison_of_each_with_each(
    bits: int, few: int, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(segment_index, "_FEW", few)
    *added, asked = data.draw(fingerprints(bits))
    max_distance = data.draw(st.integers(-1, bits // 8 - 1))
    index, stored = SegmentIndex(bits), []
    for some in added:
        index.add(some)
        stored += some
        expected = {
            index
            for index, value in enumerate(stored)
            if any((value ^ other).bit_count() <= max_distance for other in asked)
        }
        assert len(index) == len(stored)
        assert index.near(asked, max_distance) == expected


@pytest.mark.parametrize("bits", [64, 128])
def test_among_thousands_the_same_are_found_however_many_share_a_segment(bits: int) -> None:
    rng = random.Random(bits)
    random_ones = [rng.getrandbits(bits) for _ in range(3_000)]
    one_segment = [rng.getrandbits(bits - 16) for _ in range(3_000)]
    for stored in (random_ones, one_segment):
        index = SegmentIndex(bits)
        index.add(stored)
        asked = [value ^ 1 << rng.randrange(bits) for value in stored[::60]]
        for max_distance in (0, 3):
            assert index.near(asked, max_distance) == {
                index
                for index, value in enumerate(stored)
                if any((value ^ other).bit_count() <= max_distance for other in asked)
            }
