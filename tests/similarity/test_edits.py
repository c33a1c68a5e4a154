"""Laws of the Levenshtein similarity: long texts, compared piece by piece, count as an exact comparison does."""

from __future__ import annotations

import time
import tracemalloc
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from es_simhash.similarity import measures
from es_simhash.similarity.measures import anchors, pieces

HAN = [chr(0x4E00 + number) for number in range(3_000)]
words = st.text("暴雨橙色预警ab", max_size=40)


def levenshtein(a: str, b: str, least: float = 0.0) -> float:
    [similarity] = measures.levenshtein(a, [b], least)
    return float(similarity)


def plain_levenshtein(a: str, b: str) -> float:
    """The similarity of the whole texts, whatever their length."""
    return Levenshtein.normalized_similarity(a, b)


def prose(length: int, random: Random) -> str:
    """A text in which some characters are more common than others."""
    return "".join(random.choices(HAN, weights=[1 / (rank + 9) for rank in range(len(HAN))], k=length))


def edited(text: str, share: float, random: Random) -> str:
    """The text with edits of single characters all over."""
    letters = list(text)
    for at in random.sample(range(len(letters)), int(len(letters) * share)):
        letters[at] = random.choice(["", random.choice(HAN), letters[at] + random.choice(HAN)])
    return "".join(letters)


@given(a=words, b=words)
def test_short_texts_are_compared_as_by_the_slow_reference(a: str, b: str) -> None:
    assert levenshtein(a, b) == pytest.approx(plain_levenshtein(a, b))
    assert levenshtein(a, b, 0.8) in (0.0, levenshtein(a, b))


@given(text=words, others=st.lists(words, min_size=1))
def test_texts_together_have_the_similarities_that_each_has_alone(text: str, others: list[str]) -> None:
    assert measures.levenshtein(text, others) == [levenshtein(text, other) for other in others]


@given(a=words, b=words, exact=st.integers(1, 20), piece=st.integers(1, 9))
def test_pieces_join_to_the_texts_and_never_count_as_more_similar(a: str, b: str, exact: int, piece: int) -> None:
    with patch("es_simhash.similarity.measures._PIECE", piece), patch("es_simhash.similarity.measures.EXACT", exact):
        assert tuple(map("".join, zip(*pieces(a, b), strict=True))) == (a, b)
        assert levenshtein(a, b) <= plain_levenshtein(a, b) + 1e-9


@pytest.mark.parametrize("share", [0.02, 0.1, 0.19])
def test_a_long_text_with_edits_all_over_counts_as_if_compared_exactly(share: float) -> None:
    random = Random(1)
    text = prose(19_000, random)
    copy = edited(text, share, random)
    exact = levenshtein(text, copy)
    with patch("es_simhash.similarity.measures.EXACT", 9_000):
        assert exact - 0.002 <= levenshtein(text, copy, 0.8) <= exact
        assert levenshtein(text, copy, exact + 0.01) == 0


def test_a_long_text_whose_first_third_was_moved_to_its_end_counts_as_if_compared_exactly() -> None:
    text = prose(12_000, Random(3))
    moved = text[4_000:] + text[:4_000]
    exact = levenshtein(text, moved)
    with patch("es_simhash.similarity.measures.EXACT", 9_000):
        assert exact - 0.002 <= levenshtein(text, moved) <= exact


@pytest.mark.slow
@pytest.mark.nightly
def test_two_texts_of_a_million_characters_take_seconds_and_some_hundred_megabytes() -> None:
    random = Random(2)
    text = prose(1_000_000, random)
    copy, begin = edited(text, 0.19, random), time.process_time()
    tracemalloc.start()
    try:
        assert levenshtein(text, copy, 0.8) > 0.8
        assert tracemalloc.get_traced_memory()[1] < 400e6
    finally:
        tracemalloc.stop()
    assert levenshtein("ab" * 500_000, "ba" * 500_000, 0.8) > 0.99  # without a single anchor
    assert time.process_time() - begin < 60


@given(a=words, b=words)
def test_an_anchor_is_a_shingle_that_occurs_once_in_each_text(a: str, b: str) -> None:
    def once(text: str) -> dict[str, int]:
        cut = [text[at : at + 5] for at in range(max(len(text) - 4, min(len(text), 1)))]
        return {shingle: at for at, shingle in enumerate(cut) if cut.count(shingle) == 1}

    ours, theirs = once(a), once(b)
    expected = sorted((ours[shingle], theirs[shingle]) for shingle in ours.keys() & theirs.keys())
    assert list(zip(*(places.tolist() for places in anchors(a, b)), strict=True)) == expected
