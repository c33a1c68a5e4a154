"""The clauses find every document within the distance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.fingerprinting.encoding import hex_segments, to_longs
from es_simhash.search.candidates import candidates_clause, plain_clause


def matches(clause: dict[str, Any], fields: dict[str, str | int]) -> bool:
    """Return what a server says of a document with these fields."""
    ((kind, body),) = clause.items()
    if kind == "bool":
        count = sum(matches(each, fields) for each in body.get("should", ()))
        return count >= body.get("minimum_should_match", 0) and all(
            matches(each, fields) for each in body.get("filter", ())
        )
    ((field, values),) = body.items()
    return fields[field] in values if kind == "terms" else fields[field] == values


def found(clause: dict[str, Any], value: int, bits: int) -> bool:
    """Return whether a clause finds the document with a fingerprint."""
    segments = {f"simhash.s{number}": segment for number, segment in enumerate(hex_segments(value, bits))}
    return matches(
        clause, {**segments, **dict(zip(("simhash.fp", "simhash.fp1"), to_longs(value, bits), strict=False))}
    )


@pytest.mark.parametrize("bits", [64, 128])
@given(data=st.data())
def test_what_is_within_the_distance_is_found(bits: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, (1 << bits) - 1))
    distance = data.draw(st.integers(0, bits // 8 - 1))
    flipped = data.draw(st.lists(st.integers(0, bits - 1), max_size=distance, unique=True))
    near = value
    for bit in flipped:
        near ^= 1 << bit
    assert found(candidates_clause([value, 7], distance, bits=bits), near, bits)
    assert found(plain_clause(value, bits=bits), near, bits) or len(flipped) >= bits // 16


@pytest.mark.parametrize("bits", [64, 128])
def test_what_differs_in_half_of_the_bits_is_not_found(bits: int) -> None:
    far = int("0f" * (bits // 8), 16)
    assert not found(candidates_clause(0, bits // 8 - 1, bits=bits), far, bits)
    assert not found(plain_clause(0, bits=bits), far, bits)
