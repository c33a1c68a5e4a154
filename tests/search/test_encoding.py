"""The text form of keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.search.encoding import ALPHABET, KEY_BITS, decoded, encoded

keys = st.lists(st.integers(0, (1 << KEY_BITS) - 1))


@given(keys)
def test_keys_come_back_from_their_text_form(some: list[int]) -> None:
    texts = encoded(some)
    assert texts == ["".join(ALPHABET[key >> shift & 63] for shift in range(30, -1, -6)) for key in some]
    assert decoded(texts) == tuple(some)


@pytest.mark.parametrize("odd", ["", "0", "00000", "0000000", "00000é", "00 000", "00000+", "000000\n", "00000["])
@pytest.mark.parametrize("others", [[], ["000000"], ["0000000"]])
def test_what_is_no_text_form_of_a_key_is_refused(odd: str, others: list[str]) -> None:
    assert decoded([odd, *others]) == ()
    assert decoded([*others, odd]) == ()
