"""Laws of q-grams: every text with the similarity is a candidate, whatever the edits and the scripts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.text.qgrams import hashes_of_grams, shared_at_least

# Few different characters, so that q-grams repeat and edits can restore others.
texts = st.text("天地人ab1", min_size=1, max_size=14)
similarities = st.sampled_from([0.3, 0.5, 2 / 3, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0])


def plain_grams(words: str) -> Counter[str]:
    """The q-grams as the definition has them, without numbers."""
    padded = "^" + words + "$$"
    grams = []
    for start in range(len(words) + 1):
        first = padded[max(start, 1)]
        size = 2 if "\u4e00" <= first <= "\u9fff" else 3
        grams.append(padded[start : start + size])
    return Counter(grams)


def gram_hashes(words: str) -> list[int]:
    return hashes_of_grams([words]).tolist()


@st.composite
def edited(draw: st.DrawFn, words: str) -> str:
    """The text after some edits: anywhere, many of them insertions."""
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(words)))
        put = draw(st.sampled_from(["天", "地", "a", "1", ""]))
        words = words[:at] + put + words[at + draw(st.integers(0, 1)) :]
    return words


def assert_is_candidate(a: str, b: str, similarity: float) -> None:
    assert len(set(gram_hashes(a)) & set(gram_hashes(b))) >= shared_at_least(a, similarity)[len(b)]


@settings(max_examples=500)
@given(data=st.data(), a=texts, similarity=similarities)
@example(None, "天天天天天", 0.8)
def test_every_text_with_the_similarity_is_a_candidate(data: st.DataObject | None, a: str, similarity: float) -> None:
    b = data.draw(edited(a) | texts) if data else a[1:]
    if b and Levenshtein.normalized_similarity(a, b) >= similarity:
        assert_is_candidate(a, b, similarity)
        assert_is_candidate(b, a, similarity)


@given(a=texts, b=texts)
def test_texts_share_as_many_keys_as_their_multisets_of_q_grams(a: str, b: str) -> None:
    keys = gram_hashes(a)
    assert len(keys) == len(set(keys)) == len(a) + 1
    assert len(set(keys) & set(gram_hashes(b))) == (plain_grams(a) & plain_grams(b)).total()


@given(words=st.text("天地人和", min_size=1, max_size=40), similarity=st.sampled_from([0.5, 0.75, 0.8, 0.9]))
def test_of_han_characters_the_bound_is_the_one_of_the_literature(words: str, similarity: float) -> None:
    for length, least in shared_at_least(words, similarity).items():
        longer = max(len(words), length)
        assert least == max(0, longer + 1 - 2 * int((1 - similarity) * longer + 1e-9))


@pytest.mark.parametrize("similarity", [0.8, 0.9])
def test_at_the_usual_similarities_some_key_is_always_asked_for(similarity: float) -> None:
    for length in range(1, 200):
        for letter in "天a":
            assert min(shared_at_least(letter * length, similarity).values()) > 0
