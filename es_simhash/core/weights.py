"""Weigh: words to features, each with a whole-number weight.

Weights are whole numbers (in units of 1/1024) because sums of whole numbers don't depend on their order: one
document alone, in a batch, or on another machine gives the same bits.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.util import find_spec
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.core.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

UNIT = 1024


def _tf(word: str, count: int) -> int:
    return count * UNIT


def _sqrt_tf(word: str, count: int) -> int:
    return isqrt(count * UNIT * UNIT)


def _tf_idf(word: str, count: int) -> int:
    table, mean = _jieba_idf()
    return count * table.get(word, mean)


WEIGHTS: dict[str, Callable[[str, int], int]] = {
    "sqrt_tf": _sqrt_tf,  # damped: keeps texts of one template apart
    "tf": _tf,
    "tf_idf": _tf_idf,  # by the table that jieba brings, and its mean for words that are not in it
}


def weigh(words: Iterable[str], weights: str, min_features: int) -> dict[str, int]:
    """The features of a text and their weights.

    Stop words and words of one character are left out as long as ``min_features`` others remain; a text with
    fewer features than that even so gets none.

    :returns: a weight in units of 1/1024 for each distinct word; empty if the text has too little to say.
    """
    counts = Counter(words)
    telling = {word: count for word, count in counts.items() if len(word) > 1 and word not in STOP_WORDS}
    chosen = telling if len(telling) >= min_features else counts
    if len(chosen) < min_features:
        return {}
    weight = WEIGHTS[weights]
    return {word: weight(word, count) for word, count in chosen.items()}


@cache
def _jieba_idf() -> tuple[dict[str, int], int]:
    package = find_spec("jieba")
    assert package is not None
    assert package.origin is not None
    lines = Path(package.origin).with_name("analyse").joinpath("idf.txt").read_text(encoding="utf-8").splitlines()
    table = {word: round(float(idf) * UNIT) for word, idf in (line.split() for line in lines)}
    return table, round(sum(table.values()) / len(table))
