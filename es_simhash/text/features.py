"""Features: the words of a text, or any strings that the caller supplies in place of a text, each with a weight.

Weights are integers in units of 1/1024, because a sum of integers does not depend on the order of its terms. So a
document has the same bits alone, in a batch, and on another machine.

The digest of features that the caller supplies is the digest of their canonical form: a JSON list of ``[feature, weight
in units of 1/1024]``, sorted by feature, without white space, in UTF-8. Features with equal digests have equal
fingerprints. The order of the features does not matter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite, isqrt
from numbers import Rational, Real
from typing import TYPE_CHECKING, TypeAlias

from es_simhash.errors import InputError, shown
from es_simhash.text.normalisation import check_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.text.tables import IdfTable

Features: TypeAlias = "Mapping[str, float] | Iterable[tuple[str, float]]"
"""Features and their weights: levels such as 1 to 5, or any other positive finite numbers."""

UNIT = 1024
"""The weight 1 as an integer."""
MIN_FEATURES = 4
"""A text with fewer distinct words gets no fingerprint."""
WEIGHTS = ("sqrt_tf", "tf", "tf_idf", "equal")
"""How the count of a word becomes its weight. The root is damped, so that texts from one template stay apart."""


def weigh(
    words: Iterable[str],
    weights: str,
    stop_words: frozenset[str],
    idf: IdfTable | None = None,
) -> dict[str, int]:
    """Return the features of a text, each with its weight in units of 1/1024, rounded down.

    Stop words and words of one character are dropped, if at least ``MIN_FEATURES`` distinct words remain. Otherwise
    they are kept.

    :param words: the words of the text, in any order.
    :param weights: one of ``WEIGHTS``.
    :param idf: the table, for the weights ``tf_idf``.
    :returns: an entry for each distinct feature; empty if there are fewer than ``MIN_FEATURES`` distinct words.
    """
    counts = Counter(words)
    content = {word: count for word, count in counts.items() if len(word) > 1 and word not in stop_words}
    kept = content if len(content) >= MIN_FEATURES else counts
    if len(kept) < MIN_FEATURES:
        return {}
    if idf is not None and weights == "tf_idf":
        units, mean = idf.units, idf.mean
        return {word: count * units.get(word, mean) for word, count in kept.items()}
    if weights == "sqrt_tf":
        totals = {count: isqrt(count * UNIT * UNIT) for count in set(kept.values())}
        return {word: totals[count] for word, count in kept.items()}
    return {word: UNIT if weights == "equal" else count * UNIT for word, count in kept.items()}


def parse_features(features: Features) -> dict[str, int]:
    """Return the distinct features, each with its weight in units of 1/1024.

    The function does not normalise, split or drop a feature. If a feature occurs twice, its weights are added.

    :raises InputError: if there are no features, or if one is invalid; the message names the feature.
    """
    try:
        pairs = list(features.items() if isinstance(features, Mapping) else features)
    except TypeError as error:
        kind = type(features).__name__
        raise InputError(f"features is of type {kind}: pass pairs of a feature and a weight, or a dict") from error
    weights: dict[str, int] = {}
    for number, pair in enumerate(pairs, 1):
        feature, units = _parse_pair(pair, f"feature {number}")
        weights[feature] = weights.get(feature, 0) + units
    if not weights:
        raise InputError("there are no features: pass at least one")
    return weights


def _parse_pair(pair: object, name: str) -> tuple[str, int]:
    """Return the feature and its weight in units of 1/1024; ``name`` names the pair in error messages."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"{name} is {shown(pair)}: pass a pair of a feature and a weight, such as ('暴雨', 3)")
    feature, weight = pair
    if not isinstance(feature, str) or not feature:
        raise InputError(f"{name} is {shown(feature)}: pass a non-empty string")
    check_surrogates(feature, name)
    units = to_units(weight)
    if units is None:
        raise InputError(f"{name}, {shown(feature)}, has the weight {shown(weight)}: pass a positive finite number")
    return feature, units


def canonical_form(weights: Mapping[str, int]) -> str:
    """Return the string whose digest is the digest of the features."""
    return json.dumps(sorted(weights.items()), ensure_ascii=False, separators=(",", ":"))


def to_units(number: object) -> int | None:
    """Return a number as an integer in units of 1/1024, at least 1.

    The result is rounded to the nearest integer, and a tie to the even one.

    :returns: None if ``number`` is not a positive finite number. True and False do not count as numbers.
    """
    if isinstance(number, bool) or not isinstance(number, Real):
        return None
    if isinstance(number, Rational):
        exact = Fraction(int(number.numerator), int(number.denominator))
    elif isfinite(number):
        exact = Fraction(float(number))
    else:
        return None
    return max(1, round(exact * UNIT)) if exact > 0 else None


def to_decimal(units: int) -> str:
    """Return a weight in units of 1/1024 as an exact decimal number, without trailing zeros."""
    whole, rest = divmod(units, UNIT)
    return f"{whole}.{rest * 10**10 // UNIT:010d}".rstrip("0").rstrip(".")
