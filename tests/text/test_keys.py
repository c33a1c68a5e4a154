"""Keys of a text, and the queries that find similar texts by them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.near.key_index import KeyIndex
from es_simhash.text.keys import (
    ALPHABET,
    HASH_BITS,
    KEY_BITS,
    LEAST,
    LONGEST_WITH_GRAMS,
    LONGEST_WITH_PAIRS,
    MEDIUM,
    SHORT,
    decoded,
    encoded,
    key_queries,
    keys_of_texts,
)

HAN = [chr(0x4E00 + 3 * number) for number in range(2_000)]
LETTERS = "暴雨橙色预警abc12"
words = st.text(LETTERS, min_size=1, max_size=90)


@st.composite
def similar_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A text about as long as the boundary, and the same with a few edits."""
    text = draw(st.text(LETTERS, min_size=40, max_size=80))
    other = list(text)
    for _ in range(draw(st.integers(0, 14))):
        at = draw(st.integers(0, len(other) - 1))
        match draw(st.sampled_from("rid")):
            case "r":
                other[at] = draw(st.sampled_from(LETTERS))
            case "i":
                other.insert(at, draw(st.sampled_from(LETTERS)))
            case _ if len(other) > 1:
                del other[at]
    return text, "".join(other)


def finds(asker: str, other: str, similarity: float) -> bool:
    own = keys_of_texts([other])[0]
    index = KeyIndex()
    index.add([0], [own.values], [own.length])
    return len(index.near([key_queries(keys_of_texts([asker])[0], similarity)]).positions) == 1


@pytest.mark.parametrize(
    ("length", "kinds"),
    [
        *(
            (0, ""),
            (1, "g"),
            (SHORT, "g"),
            (SHORT + 1, "gp"),
            (LONGEST_WITH_GRAMS, "gp"),
            (LONGEST_WITH_GRAMS + 1, "p"),
        ),
        *((MEDIUM, "p"), (MEDIUM + 1, "mp"), (LONGEST_WITH_PAIRS, "mp"), (LONGEST_WITH_PAIRS + 1, "m"), (9_999, "m")),
    ],
)
def test_the_length_says_which_kinds_of_keys_a_text_has(length: int, kinds: str) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(length))
    assert "".join(sorted({"gpmn"[key >> HASH_BITS] for key in keys_of_texts([text])[0].values})) == kinds


@pytest.mark.slow
@pytest.mark.parametrize("boundary", [SHORT, LONGEST_WITH_GRAMS, MEDIUM, LONGEST_WITH_PAIRS])
@pytest.mark.parametrize("longer", [0, 1, 2, 8])
def test_pairs_across_each_boundary_are_found_from_either_side(boundary: int, longer: int) -> None:
    random = Random(boundary + longer)
    found = []
    for _ in range(100):
        for length in range(boundary - 1, boundary + 2):
            text = random.choices(HAN, k=length)
            other = text + random.choices(HAN, k=longer)
            for at in random.sample(range(length), length // 20):  # 5 % wrong characters
                other[at] = random.choice(HAN)
            found += [finds("".join(text), "".join(other), LEAST), finds("".join(other), "".join(text), LEAST)]
    assert sum(found) > 0.99 * len(found)


@given(texts=similar_pairs())
def test_a_pair_with_a_short_text_is_found_from_either_side(texts: tuple[str, str]) -> None:
    if min(map(len, texts)) <= SHORT and Levenshtein.normalized_similarity(*texts) >= LEAST:
        first, second = texts
        assert finds(first, second, LEAST)
        assert finds(second, first, LEAST)


@given(texts=st.lists(st.text(LETTERS, max_size=9).map(lambda text: text * 20) | words | st.just("")))
def test_the_keys_of_a_text_are_all_different_and_the_same_beside_other_texts(texts: list[str]) -> None:
    made = keys_of_texts(texts)
    assert made == [keys_of_texts([text])[0] for text in texts]
    for keys in made:
        assert len(set(keys.values)) == len(keys.values)


@given(st.lists(st.integers(0, (1 << KEY_BITS) - 1)))
def test_keys_come_back_from_their_text_form(some: list[int]) -> None:
    texts = encoded(some)
    assert texts == ["".join(ALPHABET[key >> shift & 63] for shift in range(30, -1, -6)) for key in some]
    assert decoded(texts) == tuple(some)


@pytest.mark.parametrize("odd", ["", "0", "00000", "0000000", "00000é", "00 000", "00000+", "000000\n", "00000["])
@pytest.mark.parametrize("others", [[], ["000000"], ["0000000"]])
def test_what_is_no_text_form_of_a_key_is_refused(odd: str, others: list[str]) -> None:
    assert decoded([odd, *others]) == ()
    assert decoded([*others, odd]) == ()
