"""Laws of the forms of a fingerprint: each form holds every bit, and the conversion back gives the same integer."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from es_simhash.text.encoding import (
    from_signed,
    hex_segments,
    split,
    to_signed,
)

fingerprints = st.integers(0, (1 << 64) - 1)
each_length = pytest.mark.parametrize("bits", [64, 128])


def of_length(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


@each_length
@given(data=st.data())
def test_joined_segments_are_the_fingerprint(bits: int, data: st.DataObject) -> None:
    value = data.draw(of_length(bits))
    parts = split(value, bits)
    assert len(parts) == bits // 16
    assert int("".join(f"{part:016b}" for part in parts), 2) == value


def test_segment_0_holds_the_highest_bits() -> None:
    assert split(0x0123_4567_89AB_CDEF, 64) == (0x0123, 0x4567, 0x89AB, 0xCDEF)


@each_length
@given(data=st.data())
def test_joined_hex_segments_are_the_hex_of_the_fingerprint(bits: int, data: st.DataObject) -> None:
    value = data.draw(of_length(bits))
    parts = hex_segments(value, bits)
    assert "".join(parts) == hex(value)[2:].rjust(bits // 4, "0")
    assert {len(part) for part in parts} == {4}


@given(fingerprints)
@example(0)
@example((1 << 63) - 1)
@example(1 << 63)
@example((1 << 64) - 1)
def test_a_signed_long_holds_the_same_bits(value: int) -> None:
    assert to_signed(value) == int.from_bytes(value.to_bytes(8, "big"), "big", signed=True)


@given(fingerprints)
@example(1 << 63)
def test_conversion_to_a_signed_long_and_back_gives_the_same_fingerprint(value: int) -> None:
    assert from_signed(to_signed(value)) == value
