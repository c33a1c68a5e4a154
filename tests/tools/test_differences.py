"""The words in which two texts differ, compared with a slow search for the longest common subsequence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from es_simhash import Scheme, compare
from es_simhash.text.normalisation import normalise
from es_simhash.text.tokens import segmenter, words_in_order
from es_simhash.tools.differences import LONGEST, Part, differences, shortened

WORDS = st.lists(st.sampled_from(["storm", "Storm", "rain", "暴雨", "3", "３", "，", ". ", "\n", " "]), max_size=12)
TEXTS = st.one_of(WORDS.map("".join), WORDS.map(" ".join), st.text(max_size=12))


def words_of(text: str) -> list[str]:
    return [normalise(word, "simplified") for word in words_in_order(text, segmenter())]


def longest_common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence, by the table of the textbook."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@settings(max_examples=50)
@given(TEXTS, TEXTS)
def test_the_parts_are_the_texts_and_as_few_words_as_possible_differ(a: str, b: str) -> None:
    parts = differences(a, b, Scheme())
    assert "".join(part.a for part in parts) == a
    assert "".join(part.b for part in parts) == b
    for side, text in ((0, a), (1, b)):
        marked = sum(len(words_of((part.a, part.b)[side])) for part in parts if not part.same)
        assert marked == len(words_of(text)) - longest_common(words_of(a), words_of(b))


def test_only_words_are_marked_and_forms_of_a_word_do_not_differ() -> None:
    parts = differences("今晨发布暴雨橙色预警，请注意。", "今晨發布暴雨红色预警,请注意!", Scheme())
    assert [part for part in parts if not part.same] == [Part(False, "橙色", "红色")]
    parts = differences("<p>Heavy <b>rain</b></p>", "heavy snow", Scheme(markup="html"))
    assert parts == [Part(True, "Heavy", "heavy"), Part(True, " ", " "), Part(False, "rain", "snow")]


def test_long_texts_are_compared_at_their_beginning_in_bounded_time() -> None:
    a, b = ("a b " * LONGEST, "b a " * LONGEST)
    parts = differences(a, b, Scheme())
    assert "".join(part.a for part in parts) == a[:LONGEST]


@given(TEXTS, TEXTS, st.integers(1, 5), st.integers(1, 40))
def test_shortened_parts_are_short_and_keep_what_differs(a: str, b: str, context: int, most: int) -> None:
    parts = differences(a, b, Scheme())
    shown, left = shortened(parts, context, most)
    assert sum(max(len(part.a), len(part.b)) for part in shown) <= most + len(shown)
    assert sum(not part.same for part in shown) + left == sum(not part.same for part in parts)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        ([Part(True, "a" * 20, "b" * 5)], [Part(True, "aa…aa", "b" * 5)]),
        (
            [Part(True, "123456", "123456"), Part(False, "x", ""), Part(True, "123456", "123456")],
            [Part(True, "12…56", "12…56"), Part(False, "x", ""), Part(True, "12…56", "12…56")],
        ),
    ],
)
def test_a_same_part_is_kept_at_its_ends(parts: list[Part], shown: list[Part]) -> None:
    assert shortened(parts, 2, 100) == (shown, 0)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("首批涉及12个小区", "首批涉及15个小区"),
        ("指数上涨+0.85%收盘", "指数上涨-0.85%收盘"),
        ("注册资本1.2亿元", "注册资本12亿元"),
        ("C++ 语言教程", "C# 语言教程"),
        ("当 x < 5 时", "当 x > 5 时"),
        ("今天会议上调利率", "今天会议下调利率"),
    ],
)
def test_a_contradiction_is_marked_where_it_stands(a: str, b: str) -> None:
    contradictions = compare(a, b).contradictions
    assert contradictions
    parts = differences(a, b, Scheme(), contradictions)
    assert [part.contradicts for part in parts if not part.same] == [True]
    assert not any(part.contradicts for part in differences(a, b, Scheme()))
