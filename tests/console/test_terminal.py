"""Columns of a terminal: how wide a text is, and where it is cut and broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from es_simhash.console.terminal import cut, padded, width_of

FAMILY, TELEPHONE, FLAG, THUMB, KEY = "👨‍👩‍👧", "☎️", "🇨🇳", "👍🏽", "1️⃣"
texts = st.lists(
    st.sampled_from(["暴", "雨", "storm", " ", "é", "e\u0301", FAMILY, TELEPHONE, FLAG, THUMB, KEY, "\x1b"])
).map("".join)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("storm", 5),
        ("暴雨", 4),
        ("e\u0301", 1),
        (FAMILY, 2),
        (TELEPHONE, 2),
        (FLAG, 2),
        (THUMB, 2),
        ("\x1b", 4),
        ("", 0),
    ],
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, columns: int) -> None:
    assert width_of(text) == columns
    assert width_of(padded(text, 9)) == 9


@given(texts, st.integers(1, 12))
def test_a_text_is_cut_between_characters_as_late_as_it_fits(text: str, width: int) -> None:
    found = cut(text, width)
    assert width_of(found) <= width
    if found != text:
        characters = list(iter_graphemes(text))
        kept = len(list(iter_graphemes(found))) - 1
        assert found == "".join(characters[:kept]) + "…"
        assert width_of("".join(characters[: kept + 1])) >= width
