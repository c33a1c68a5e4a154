"""Turn the words of a text into features, each with an integer weight.

Weights are integers (in units of 1/1024), because a sum of integers does not depend on the order of its terms. So a
document has the same bits alone, in a batch, and on another machine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from math import isqrt
from typing import TYPE_CHECKING, TypeVar

from es_simhash.fingerprinting.features import UNIT
from es_simhash.fingerprinting.tables import STOP_WORDS, jieba_idf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from es_simhash.fingerprinting.tables import IdfTable

W = TypeVar("W")

MIN_FEATURES = 4
"""A text with fewer distinct features gets no fingerprint."""

PART = 100_000
"""Words that are counted, or features that are hashed, in one call of C code. A signal waits until the call returns."""


@dataclass(frozen=True)
class Weight:
    """A kind of weights.

    :param total: takes the count of a word and the weight of one occurrence, in units of 1/1024; returns the weight
        of the word in the same units, rounded down.
    :param idf: True if one occurrence weighs the IDF of the word; False if it weighs 1 for every word.
    """

    total: Callable[[int, int], int]
    idf: bool = False


def _sqrt(count: int, one: int) -> int:
    return isqrt(count * one * one)


def _times(count: int, one: int) -> int:
    return count * one


def _once(count: int, one: int) -> int:
    return one


WEIGHTS: dict[str, Weight] = {
    "sqrt_tf": Weight(_sqrt),  # damped, so that texts from one template stay apart
    "tf": Weight(_times),
    "tf_idf": Weight(_times, idf=True),
    "equal": Weight(_once),
}


def count_words(words: Iterable[W], part: int = PART) -> dict[W, int]:
    """Return how often each word occurs, in the order of first occurrence. A signal is handled between two parts."""
    if isinstance(words, list) and len(words) <= part:
        return Counter(words)
    counts: Counter[W] = Counter()
    rest = iter(words)
    while some := list(islice(rest, part)):
        counts.update(some)
    return counts


def weigh(
    words: Iterable[str],
    weights: str,
    min_features: int,
    stop_words: frozenset[str] = STOP_WORDS,
    idf: IdfTable | None = None,
    keep_all: bool = False,
) -> dict[str, int]:
    """Return the features of a text, each with its weight in units of 1/1024.

    Stop words and words of one character are dropped, if at least ``min_features`` distinct words remain. Otherwise
    they are kept.

    :param words: the words of the text, in any order.
    :param weights: the kind of weights, a key of ``WEIGHTS``.
    :param min_features: the smallest number of distinct words that a fingerprint needs.
    :param idf: a custom table, for weights that use IDF; None for jieba's table.
    :param keep_all: True to drop no word.
    :returns: an entry for each distinct feature; empty if there are fewer than ``min_features`` distinct words.
    """
    counts = count_words(words)
    content = {word: count for word, count in counts.items() if len(word) > 1 and word not in stop_words}
    kept = content if len(content) >= min_features and not keep_all else counts
    if len(kept) < min_features:
        return {}
    weight = WEIGHTS[weights]
    total = weight.total
    if weight.idf:
        table = idf or jieba_idf()
        units, mean = table.units, table.mean
        return {word: total(count, units.get(word, mean)) for word, count in kept.items()}
    totals = {count: total(count, UNIT) for count in set(kept.values())}
    return {word: totals[count] for word, count in kept.items()}
