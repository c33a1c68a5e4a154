"""Laws of word characters and of the numbers of shingles."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.word_characters import of_normalised, shingle_numbers, word_characters

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("，。 _-天a1\u0301\u0941"))


@given(texts)
def test_what_is_left_are_letters_digits_and_the_signs_of_words(text: str) -> None:
    words = word_characters(text)
    assert all(letter.isalnum() or unicodedata.category(letter)[0] in "MP" for letter in words)
    assert all(letter in words for letter in normalise(text) if letter.isalnum())
    assert of_normalised(words) == words


@pytest.mark.parametrize("between", ["", " ", "\n", "，", "…", "_", "🌧", "\u200b"])
def test_punctuation_white_space_and_emoji_make_no_difference(between: str) -> None:
    assert word_characters(between.join("暴雨橙色预警F35")) == "暴雨橙色预警f35"


@given(a=st.text("天地a1", max_size=8), b=st.text("天地a1", max_size=8))
def test_shingles_are_equal_where_their_characters_are(a: str, b: str) -> None:
    ours, theirs = ({words[at : at + 5] for at in range(max(len(words) - 4, min(1, len(words))))} for words in (a, b))
    numbers = set(shingle_numbers(a).tolist()), set(shingle_numbers(b).tolist())
    assert (len(numbers[0]), len(numbers[1])) == (len(ours), len(theirs))
    assert len(numbers[0] & numbers[1]) == len(ours & theirs)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        word_characters("天\ud800")
