"""Features that the caller supplies in place of a text: any strings, each with a weight.

The digest of such features is the digest of their canonical form: a JSON list of ``[feature, weight in units of
1/1024]``, sorted by feature, without white space, in UTF-8. Features with equal digests have equal fingerprints. The
order of the features does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.fingerprinting.units import to_units

if TYPE_CHECKING:
    from collections.abc import Iterable

Features: TypeAlias = "Mapping[str, float] | Iterable[tuple[str, float]]"
"""Features and their weights: levels such as 1 to 5, or any other positive finite numbers."""

_EXAMPLE = "('暴雨', 3)"


def parse_features(features: Features) -> dict[str, int]:
    """Return the distinct features, each with its weight in units of 1/1024.

    The function does not normalise, split or drop a feature. If a feature occurs twice, its weights are added.

    :raises InputError: if there are no features, or if one is invalid; the message names the feature.
    """
    if isinstance(features, str | bytes):
        raise InputError(f"features is a single string: pass pairs of a feature and a weight, such as [{_EXAMPLE}]")
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
        raise InputError(f"{name} is {pair!r}: pass a pair of a feature and a weight, such as {_EXAMPLE}")
    feature, weight = pair
    if not isinstance(feature, str) or not feature:
        raise InputError(f"{name} is {feature!r}: pass a non-empty string")
    check_surrogates(feature, name)
    units = to_units(weight)
    if units is None:
        raise InputError(f"{name}, {feature!r}, has the weight {weight!r}: pass a positive finite number")
    return feature, units


def canonical_form(weights: Mapping[str, int]) -> str:
    """Return the string whose digest is the digest of the features."""
    return json.dumps(sorted(weights.items()), ensure_ascii=False, separators=(",", ":"))
