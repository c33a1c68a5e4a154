"""Keys of a text, and the queries that find similar texts by them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.near.key_index import KeyIndex
from es_simhash.search.encoding import HASH_BITS
from es_simhash.search.keys import LEAST, LONGEST_WITH_GRAMS, LONGEST_WITH_PAIRS, MEDIUM, SHORT, key_queries, text_keys

HAN = [chr(0x4E00 + 3 * number) for number in range(2_000)]
ALPHABET = "暴雨橙色预警abc12"
words = st.text(ALPHABET, min_size=1, max_size=90)


@st.composite
def similar_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A text about as long as the boundary, and the same with a few edits."""
    text = draw(st.text(ALPHABET, min_size=40, max_size=80))
    other = list(text)
    for _ in range(draw(st.integers(0, 14))):
        at = draw(st.integers(0, len(other) - 1))
        match draw(st.sampled_from("rid")):
            case "r":
                other[at] = draw(st.sampled_from(ALPHABET))
            case "i":
                other.insert(at, draw(st.sampled_from(ALPHABET)))
            case _ if len(other) > 1:
                del other[at]
    return text, "".join(other)


def finds(asker: str, other: str, similarity: float) -> bool:
    own = text_keys(other)
    index = KeyIndex()
    index.add([own.values], [own.length])
    return len(index.near([key_queries(text_keys(asker), similarity)]).positions) == 1


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
    assert "".join(sorted({"gpmn"[key >> HASH_BITS] for key in text_keys(text).values})) == kinds


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
        assert finds(*texts, LEAST)
        assert finds(*reversed(texts), LEAST)


@given(text=words)
def test_the_keys_of_a_text_are_all_different(text: str) -> None:
    assert set(Counter(text_keys(text).values).values()) <= {1}
