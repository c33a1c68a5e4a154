"""Add the votes of the features of a text on each bit, and take the signs: the last step of Simhash.

The hash of each feature votes on every bit, with the weight of the feature: for the bit where the hash has a 1, against
it where the hash has a 0. The sign of the sum of the votes is the bit.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.fingerprinting.hashing import hasher
from es_simhash.fingerprinting.weights import PART

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FEW = 50
"""The votes of texts with so few features are added together: for one such text, the calls of numpy cost more than the
sums. Measured: 20 features took 10 µs alone and 6 µs together; from 70 features on it is slower."""
TOGETHER = 2_000
"""Features whose votes are added together, at 64 bits: their array of 1 MB stays in the cache of a processor."""
_EXACT = 1 << 53
"""Doubles add integers exactly while no sum reaches this."""


def aggregate_all(
    texts: Sequence[Mapping[str, int]], hash_name: str, bits: int, *, few: int = FEW, together: int = TOGETHER
) -> list[int | None]:
    """Return for each text what :func:`aggregate` returns for its features; None for a text without features.

    :param few: the votes of texts with so few features are added together.
    :param together: so many features are added together.
    """
    values: list[int | None] = [None] * len(texts)
    small: list[int] = []
    count = 0
    for index, weights in enumerate(texts):
        if len(weights) > few or sum(weights.values()) >= _EXACT:
            values[index] = aggregate(weights, hash_name, bits)
        elif weights:
            small.append(index)
            count += len(weights)
            if count >= together:
                _fill(values, small, texts, hash_name, bits)
                small, count = [], 0
    if small:
        _fill(values, small, texts, hash_name, bits)
    return values


def _fill(
    values: list[int | None], indices: Sequence[int], texts: Sequence[Mapping[str, int]], hash_name: str, bits: int
) -> None:
    """Set the values of the texts with these indices. Their features are added in one array."""
    some = [texts[index] for index in indices]
    hash_word = hasher(hash_name, bits // 8)
    hashes = np.frombuffer(b"".join([hash_word(word) for weights in some for word in weights]), dtype=np.uint8)
    votes = np.unpackbits(hashes.reshape(-1, bits // 8), axis=1).astype(np.float64)
    all_weights = np.array([weight for weights in some for weight in weights.values()], dtype=np.float64)
    votes *= all_weights[:, None]
    starts = np.cumsum([0, *map(len, some[:-1])])
    votes_for = np.add.reduceat(votes, starts, axis=0)
    totals = np.add.reduceat(all_weights, starts)
    signs = np.packbits(2 * votes_for > totals[:, None], axis=1)
    for index, sign in zip(indices, signs, strict=True):
        values[index] = int.from_bytes(sign.tobytes(), "big")


def aggregate(weights: Mapping[str, int], hash_name: str, bits: int, *, part: int = PART) -> int:
    """Add the votes of the features on each bit, and return the signs of the sums.

    :param weights: the integer weight of each feature. Their order does not matter.
    :param hash_name: the hash of a feature, one of ``HASHES``.
    :param part: so many features are hashed in one call of C code. A signal is handled between two calls.
    :returns: an integer of ``bits`` bits. Bit i (from the highest) is 1 where the votes for it are the majority.
    """
    hash_word = hasher(hash_name, bits // 8)
    # The sum of all votes +w and -w is positive exactly where the votes +w alone are over half of the total weight.
    # So one matrix product of integers is enough.
    total = sum(weights.values())
    # A product of doubles is by far the fastest. Python's integers are always exact.
    number_type = np.float64 if total < _EXACT else np.object_
    votes_for: Any = np.zeros(bits, dtype=number_type)
    features = iter(weights)
    votes = np.fromiter(weights.values(), dtype=number_type, count=len(weights))
    for start in range(0, len(weights), part):
        hashes = b"".join(map(hash_word, islice(features, part)))
        signs = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8).reshape(-1, bits // 8), axis=1)
        votes_for += votes[start : start + part] @ signs.astype(number_type)
    return int.from_bytes(np.packbits((2 * votes_for > total).astype(bool)).tobytes(), "big")
