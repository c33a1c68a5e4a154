"""Keys of numbers: no text whose numbers agree is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import compared_characters, normalise
from es_simhash.search.keys import key_queries, text_keys
from es_simhash.search.number_keys import NO_NUMBERS, NumberKeys, key_of, number_keys
from es_simhash.similarity.confirm import TextFeatures, have_agreeing_numbers

FINGERPRINTER = Fingerprinter()


def keys_of(text: str) -> NumberKeys:
    normalised = normalise(text)
    return number_keys(normalised, compared_characters(normalised))


def made(stored: list[str], asked: list[str]) -> NumberKeys:
    return NumberKeys(tuple(map(key_of, stored)), tuple(map(key_of, asked)))


pieces = st.sampled_from(
    ["停水", "3日", "4日", "三日", "12", " ", "，", ".", "1 5", "第8次", "万", "%", "https://x.cn/9 "]
)
numbered = st.lists(pieces, max_size=7).map("".join)


@given(a=numbered, b=numbered)
def test_a_text_with_agreeing_numbers_has_a_key_that_is_asked_for(a: str, b: str) -> None:
    one, other = (TextFeatures(text, FINGERPRINTER) for text in (a, b))
    asked = keys_of(a).asked
    if asked and have_agreeing_numbers(one, other, "either"):
        assert set(asked) & set(keys_of(b).stored)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("停水", NO_NUMBERS),
        ("三月十五日停水", made(["15,3"], ["15,3"])),
        ("3月15日3时", made(["15,3,3"], ["15,3,3"])),
        ("3月15日3时5分", NO_NUMBERS),
        ("1 9 98年", made(["1,9,98", "1998"], ["1,9,98", "1998"])),
        ("1 2 3 4号", made(["1234"], [])),
        ("号码" + "8" * 70, NO_NUMBERS),
    ],
)
def test_the_keys_of_a_text_are(text: str, expected: NumberKeys) -> None:
    assert keys_of(text) == expected


def test_only_a_query_for_agreeing_numbers_asks_for_them() -> None:
    keys = text_keys("天地玄黄宇宙洪荒3日")
    assert keys.values == (*keys.shingles, key_of("3"))
    assert [query.numbers for query in key_queries(keys, 0.8)] == [()]
    assert [query.numbers for query in key_queries(keys, 0.8, numbers=True)] == [(key_of("3"),)]
