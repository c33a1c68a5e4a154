"""Laws of the keys by length: no pair with a short text is lost, on either side of the boundary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.search.text_keys import LEAST, LONGEST_WITH_GRAMS, SHORT, text_keys, text_query


def finds(a: str, b: str, similarity: float) -> bool:
    """Whether a stored text b is a candidate of a."""
    query, keys = text_query(a, similarity), set(text_keys(b))
    if keys & set(query.bands):
        return True
    grams = query.grams
    return bool(
        grams and grams.shortest <= len(b) <= grams.longest and len(keys & set(grams.keys)) >= max(1, grams.least)
    )


@settings(max_examples=300)
@given(data=st.data(), size=st.integers(45, 80), similarity=st.sampled_from([LEAST, 0.9, 1.0]))
def test_no_pair_with_a_short_text_is_lost(data: st.DataObject, size: int, similarity: float) -> None:
    a = data.draw(st.text("天地人ab", min_size=size, max_size=size))
    cut, put = data.draw(st.integers(0, 16)), data.draw(st.integers(0, 16))
    at = data.draw(st.integers(0, size - cut))
    b = a[:at] + "黄" * put + a[at + cut :]
    if min(len(a), len(b)) <= SHORT and Levenshtein.normalized_similarity(a, b) >= similarity:
        assert finds(a, b, similarity)
        assert finds(b, a, similarity)


@pytest.mark.parametrize(
    ("size", "kinds"),
    [(0, ""), (1, "g"), (SHORT, "g"), (SHORT + 1, "gm"), (LONGEST_WITH_GRAMS, "gm"), (LONGEST_WITH_GRAMS + 1, "m")],
)
def test_a_text_carries_and_asks_for_keys_by_its_length(size: int, kinds: str) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(size))
    assert {key[0] for key in text_keys(text)} == set(kinds)
    if text:
        query = text_query(text)
        assert (bool(query.grams), bool(query.bands)) == ("g" in kinds, "m" in kinds)
        assert finds(text, text, 0.8)
