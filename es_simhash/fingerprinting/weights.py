"""Weigh: words to features, each with a whole-number weight.

Weights are whole numbers (in units of 1/1024) because sums of whole numbers don't depend on their order: one
document alone, in a batch, or on another machine gives the same bits.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING

from es_simhash.fingerprinting.idf import jieba_idf
from es_simhash.fingerprinting.stop_words import STOP_WORDS
from es_simhash.fingerprinting.tokens import BETWEEN
from es_simhash.fingerprinting.units import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.fingerprinting.idf import IdfTable

_EXACT = Context(prec=28)  # its logarithm is rounded correctly, on every machine


@dataclass(frozen=True)
class Weight:
    """A kind of weights.

    :param of: from a word's count and what one of it weighs, in units of 1/1024, to what all weigh, rounded down.
    :param idf: one of it weighs its IDF; else it is 1 for every word.
    """

    of: Callable[[int, int], int]
    idf: bool = False


def _sqrt(count: int, one: int) -> int:
    return isqrt(count * one * one)


@lru_cache(maxsize=1 << 14)
def _log(count: int, one: int) -> int:
    return int((1 + _EXACT.ln(Decimal(count))) * one)


def _times(count: int, one: int) -> int:
    return count * one


def _once(count: int, one: int) -> int:
    return one


WEIGHTS: dict[str, Weight] = {
    "sqrt_tf": Weight(_sqrt),  # damped: keeps texts of one template apart
    "tf": Weight(_times),
    "tf_idf": Weight(_times, idf=True),
    "log_tf": Weight(_log),  # 1 + ln tf
    "sqrt_tf_idf": Weight(_sqrt, idf=True),
    "idf": Weight(_once, idf=True),
    "equal": Weight(_once),
}


def weigh(
    words: Iterable[str],
    weights: str,
    min_features: int,
    stop_words: frozenset[str] = STOP_WORDS,
    idf: IdfTable | None = None,
    neighbours: bool = False,
    every: bool = False,
) -> dict[str, int]:
    """The features of a text and their weights.

    Stop words and words of one character are left out as long as ``min_features`` others remain; a text with
    fewer features than that even so gets none.

    :param words: in the order of the text, if neighbours are asked for.
    :param idf: a table of the user's own, for weights that ask for one; None for the one that jieba brings.
    :param neighbours: each two of the remaining words that follow each other are a feature too, ``暴雨_预警``; its IDF
        is the larger one of its words', since it can't be in more documents than either. ``min_features`` is about
        the words alone.
    :param every: nothing is left out.
    :returns: a weight in units of 1/1024 for each distinct feature; empty if the text has too little to say.
    """
    words = list(words) if neighbours else words
    counts = Counter(words)
    telling = {word: count for word, count in counts.items() if len(word) > 1 and word not in stop_words}
    chosen = telling if len(telling) >= min_features and not every else counts
    if len(chosen) < min_features:
        return {}
    weight = WEIGHTS[weights]
    of = weight.of
    units: Mapping[str, int] = {}
    mean = UNIT
    if weight.idf:
        table = idf or jieba_idf()
        units, mean = table.units, table.mean
        features = {word: of(count, units.get(word, mean)) for word, count in chosen.items()}
    else:
        features = {word: of(count, UNIT) for word, count in chosen.items()}
    if neighbours:
        for (one, other), count in Counter(pairwise(word for word in words if word in chosen)).items():
            features[f"{one}{BETWEEN}{other}"] = of(count, max(units.get(one, mean), units.get(other, mean)))
    return features
