"""Laws of weigh: a count becomes a whole number, and words that say nothing go first, while others remain."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.core.stop_words import STOP_WORDS
from es_simhash.core.weights import UNIT, WEIGHTS, weigh
from tests.core.test_tokens import jieba_folder

TELLING = ["暴雨", "预警", "气象台", "积水", "路段", "f-35", "市场", "𠮷野家"]
STOP = ["我们", "因为", "the", "记者"]
ONE_CHARACTER = ["雨", "的", "a", "7", "𠮷"]

some_words = st.lists(st.sampled_from(TELLING + STOP + ONE_CHARACTER), max_size=30)
each_weights = pytest.mark.parametrize("weights", WEIGHTS)


@cache
def idf() -> dict[str, Decimal]:
    """The table that jieba brings, as exact as it is written."""
    lines = jieba_folder().joinpath("analyse", "idf.txt").read_text(encoding="utf-8").split("\n")
    return {word: Decimal(number) for word, number in (line.split(" ") for line in lines if line)}


@cache
def mean_idf() -> Decimal:
    return sum(idf().values(), Decimal()) / len(idf())


def plain_weight(word: str, count: int, weights: str) -> int:
    if weights == "tf":
        return count * 1024
    if weights == "tf_idf":
        return count * round(idf().get(word, mean_idf()) * 1024)
    with localcontext() as context:
        context.prec = 100
        return int(Decimal(count).sqrt() * 1024)


def plain_weigh(words: list[str], weights: str, min_features: int) -> dict[str, int]:
    """One word after the other, counted again each time."""
    telling = [word for word in words if word not in STOP_WORDS and len(word) >= 2]
    if len(set(telling)) >= min_features:
        words = telling
    if len(set(words)) < min_features:
        return {}
    return {word: plain_weight(word, words.count(word), weights) for word in set(words)}


def test_the_words_of_these_tests_are_what_they_are_taken_for() -> None:
    assert STOP_WORDS.issuperset(STOP)
    assert STOP_WORDS.isdisjoint(TELLING + ONE_CHARACTER)
    assert {len(word) for word in ONE_CHARACTER} == {1}


@each_weights
@given(words=some_words, min_features=st.integers(1, 10))
def test_weigh_equals_its_plain_twin(weights: str, words: list[str], min_features: int) -> None:
    assert weigh(words, weights, min_features) == plain_weigh(words, weights, min_features)


@each_weights
@given(words=some_words, data=st.data())
def test_the_order_of_words_does_not_matter(weights: str, words: list[str], data: st.DataObject) -> None:
    assert weigh(data.draw(st.permutations(words)), weights, 4) == weigh(words, weights, 4)


@given(st.integers(1, 1 << 100))
def test_sqrt_tf_is_the_square_root_of_the_count_rounded_down(count: int) -> None:
    weight = WEIGHTS["sqrt_tf"]("暴雨", count)
    assert weight == plain_weight("暴雨", count, "sqrt_tf")
    assert weight**2 <= count * UNIT**2 < (weight + 1) ** 2


@given(st.integers(1, 1 << 100))
def test_tf_is_the_count(count: int) -> None:
    assert WEIGHTS["tf"]("暴雨", count) == count * UNIT


def test_tf_idf_of_every_word_in_the_table_is_the_nearest_whole_number() -> None:
    weight = WEIGHTS["tf_idf"]
    assert [word for word, number in idf().items() if weight(word, 1) != round(number * 1024)] == []


@pytest.mark.parametrize("word", ["f-35", "𠮷野家", "鵸鵌鵸鵌"])
def test_tf_idf_of_a_word_that_is_not_in_the_table_is_the_mean_of_the_table(word: str) -> None:
    assert word not in idf()
    assert WEIGHTS["tf_idf"](word, 1) == round(mean_idf() * 1024)


@given(word=st.sampled_from(TELLING), count=st.integers(1, 1 << 40))
def test_tf_idf_grows_with_the_count(word: str, count: int) -> None:
    assert WEIGHTS["tf_idf"](word, count) == count * WEIGHTS["tf_idf"](word, 1)


def test_no_word_weighs_nothing() -> None:
    assert min(idf().values()) * 1024 >= 1
    assert all(weight("暴雨", 1) >= 1 for weight in WEIGHTS.values())


@each_weights
@pytest.mark.parametrize("idle", STOP + ONE_CHARACTER)
def test_stop_words_and_words_of_one_character_are_dropped_while_enough_others_remain(idle: str, weights: str) -> None:
    assert weigh([*TELLING[:4], idle, idle], weights, 4) == weigh(TELLING[:4], weights, 4)
    assert set(weigh(TELLING[:4], weights, 4)) == set(TELLING[:4])


@each_weights
@pytest.mark.parametrize("idle", STOP + ONE_CHARACTER)
def test_stop_words_and_words_of_one_character_are_kept_where_too_few_others_remain(idle: str, weights: str) -> None:
    assert set(weigh([*TELLING[:3], idle], weights, 4)) == {*TELLING[:3], idle}


@each_weights
def test_too_few_distinct_words_have_no_features(weights: str) -> None:
    assert weigh([], weights, 1) == {}
    assert weigh(TELLING[:3] * 50, weights, 4) == {}
    assert weigh(TELLING[:4], weights, 4) != {}


def test_counting_takes_any_iterable_of_words() -> None:
    assert weigh(iter(TELLING * 2), "tf", 4) == dict.fromkeys(TELLING, 2 * UNIT)
