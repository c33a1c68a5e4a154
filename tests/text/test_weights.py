"""Laws of weigh: a weight is an integer, and stop words are dropped only if enough other words remain."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.text import features
from es_simhash.text.features import MIN_FEATURES, UNIT, WEIGHTS
from es_simhash.text.tables import STOP_WORDS, IdfTable, jieba_idf
from tests.text.test_tokens import jieba_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

CONTENT = ["暴雨", "预警", "气象台", "积水", "路段", "f-35", "市场", "𠮷野家"]
STOP = ["我们", "因为", "the", "记者"]
ONE_CHARACTER = ["雨", "的", "a", "7", "𠮷"]

some_words = st.lists(st.sampled_from(CONTENT + STOP + ONE_CHARACTER), max_size=30)


@cache
def idf() -> dict[str, Decimal]:
    """Return jieba's IDF table with the exact decimal numbers of the file."""
    lines = jieba_folder().joinpath("analyse", "idf.txt").read_text(encoding="utf-8").split("\n")
    return {word: Decimal(number) for word, number in (line.split(" ") for line in lines if line)}


@cache
def mean_idf() -> Decimal:
    return sum(idf().values(), Decimal()) / len(idf())


def plain_weight(word: str, count: int, weights: str, table: dict[str, int] | None = None) -> int:
    """Reference implementation: the definition, with a hundred digits; ``table`` is in units of 1/1024."""
    if table is not None:
        one = table.get(word, round(sum(table.values()) / len(table)))
    else:
        one = round(idf().get(word, mean_idf()) * 1024)
    with localcontext() as context:
        context.prec = 100
        exact: dict[str, Callable[[], Any]] = {
            "tf": lambda: 1024 * count,
            "sqrt_tf": lambda: 1024 * Decimal(count).sqrt(),
            "equal": lambda: 1024,
            "tf_idf": lambda: one * count,
        }
        return int(exact[weights]())


def plain_weigh(
    words: list[str],
    weights: str,
    stop_words: Collection[str] = STOP_WORDS,
    table: dict[str, int] | None = None,
) -> dict[str, int]:
    """Reference implementation: each word is counted separately."""
    content = [word for word in words if word not in stop_words and len(word) >= 2]
    if len(set(content)) >= MIN_FEATURES:
        words = content
    if len(set(words)) < MIN_FEATURES:
        return {}
    return {word: plain_weight(word, words.count(word), weights, table) for word in set(words)}


def weigh(
    words: Iterable[str],
    weights: str,
    stop_words: frozenset[str] = STOP_WORDS,
    idf: IdfTable | None = None,
) -> dict[str, int]:
    return features.weigh(words, weights, stop_words, idf or jieba_idf())


@pytest.mark.parametrize("weights", WEIGHTS)
@given(
    words=some_words,
    stop_words=st.just(STOP_WORDS) | st.frozensets(st.sampled_from(CONTENT + ONE_CHARACTER)),
    table=st.none() | st.dictionaries(st.sampled_from(CONTENT + ONE_CHARACTER), st.integers(1, 20_000), min_size=1),
)
def test_weigh_equals_its_reference(
    weights: str, words: list[str], stop_words: frozenset[str], table: dict[str, int] | None
) -> None:
    made = weigh(words, weights, stop_words, IdfTable(table) if table else None)
    assert made == plain_weigh(words, weights, stop_words, table)


@given(st.integers(1, 1 << 100))
def test_sqrt_tf_is_the_square_root_of_the_count_rounded_down(count: int) -> None:
    weight = weigh(dict.fromkeys(CONTENT[:4], count), "sqrt_tf")[CONTENT[0]]
    assert weight**2 <= count * UNIT**2 < (weight + 1) ** 2


def test_tf_idf_of_every_word_in_the_table_is_the_nearest_whole_number() -> None:
    units = jieba_idf().units
    assert [word for word, number in idf().items() if units[word] != round(number * 1024)] == []
