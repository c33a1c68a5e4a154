"""Features of the caller's own: any strings, each with a weight of the caller's own.

Their digest is that of their canonical form: a JSON list of ``[feature, weight in units of 1/1024]``, sorted by
feature, with no white space, in UTF-8. So features with equal digests have equal fingerprints, whatever their order.
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


def checked(features: Features) -> dict[str, int]:
    """The features with their weights in units of 1/1024, one at least; a feature that comes twice weighs as both.

    Features are taken as they are: nothing is normalised, cut or dropped.

    :raises InputError: if there are none, or naming the one that can't be used.
    """
    if isinstance(features, str | bytes):
        raise InputError("features are wanted as pairs of a feature and a weight, this is a text")
    try:
        pairs = list(features.items() if isinstance(features, Mapping) else features)
    except TypeError as error:
        raise InputError("features are wanted as pairs of a feature and a weight, or a dict of them") from error
    weights: dict[str, int] = {}
    for number, pair in enumerate(pairs, 1):
        feature, units = _checked(pair, f"feature {number}")
        weights[feature] = weights.get(feature, 0) + units
    if not weights:
        raise InputError("there are no features: give one at least")
    return weights


def _checked(pair: object, place: str) -> tuple[str, int]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"{place} is {pair!r}: a pair is wanted, such as ('暴雨', 3)")
    feature, weight = pair
    if not isinstance(feature, str) or not feature:
        raise InputError(f"{place} is {feature!r}: a string is wanted that is not empty")
    check_surrogates(feature, place)
    units = to_units(weight)
    if units is None:
        raise InputError(f"{place}, {feature!r}, has the weight {weight!r}: a positive finite number is wanted")
    return feature, units


def canonical(weights: Mapping[str, int]) -> str:
    """What the digest of features is taken of."""
    return json.dumps(sorted(weights.items()), ensure_ascii=False, separators=(",", ":"))
