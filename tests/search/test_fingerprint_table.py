"""The table of fingerprints answers as a comparison of each with each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search import fingerprint_table
from es_simhash.search.fingerprint_table import LARGEST_DISTANCE, FingerprintTable
from es_simhash.search.hamming import hamming_distance


@st.composite
def near_each_other(draw: st.DrawFn, bits: int) -> int:
    """Return one of three fingerprints with some bits flipped."""
    value = draw(st.sampled_from([0, (1 << bits) - 1, 0x0123456789ABCDEF << bits - 64]))
    for bit in draw(st.lists(st.integers(0, bits - 1), max_size=6)):
        value ^= 1 << bit
    return value


@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize("crowded", [3, 10_000])
def test_it_misses_none_that_is_near_and_names_others_only_where_segments_are_crowded(
    bits: int, crowded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint_table, "CROWDED", crowded)
    some = st.lists(near_each_other(bits), max_size=12)

    @given(parts=st.lists(some, max_size=6), asked=some, max_distance=st.integers(0, LARGEST_DISTANCE))
    def law(parts: list[list[int]], asked: list[int], max_distance: int) -> None:
        table = FingerprintTable(bits)
        for part in parts:
            table = table.with_more(part)
        stored = [value for part in parts for value in part]
        assert len(table) == len(stored)
        near = [any((hamming_distance(each, value) or 0) <= max_distance for value in stored) for each in asked]
        found = table.may_be_near(asked, max_distance).tolist()
        assert found == near or (crowded == 3 and all(one >= other for one, other in zip(found, near, strict=True)))

    law()


def test_levels_are_few() -> None:
    table = FingerprintTable(64)
    for number in range(200):
        table = table.with_more(range(number * 10, number * 10 + 10))
    assert len(table) == 2_000
    assert len(table.levels) <= 5
