"""Every pair of fingerprints within max_distance, found by sorting blocks of their bits."""

from __future__ import annotations

from itertools import chain, combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Pairs = NDArray[np.int64]

_WORD = (1 << 64) - 1
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of the word before it is lost


def near_pairs(fingerprints: NDArray[np.uint64], max_distance: int) -> Iterator[Pairs]:
    """Every pair of fingerprints within ``max_distance``, at least once, as arrays of indices of shape (n, 2).

    Cut into k+m blocks, two fingerprints within k bits have at least m blocks equal (Manku, Jain and Das Sarma 2007,
    section 3.1). For each choice of m blocks the fingerprints are sorted by them, and compared within equal ones.
    Equal fingerprints are compared as one, and each is paired with the first of its kind.

    :param fingerprints: of 64 bits, shape (n,), or of 128, shape (n, 2), as ``segments.to_array`` gives them.
    """
    if not len(fingerprints) or max_distance < 0:
        return
    words = columns(fingerprints)
    first, kinds = _kinds(words)
    yield np.stack([np.arange(len(kinds)), first[kinds]], axis=1)
    for pairs in _near_kinds([word[first] for word in words], max_distance):
        yield first[pairs]


def every_near_pair(fingerprints: NDArray[np.uint64], max_distance: int) -> tuple[Pairs, NDArray[np.int64]]:
    """Every pair of fingerprints within ``max_distance`` exactly once, and their distances.

    :returns: arrays of shape (n, 2), the lower index first, and (n,).
    """
    words = columns(fingerprints)
    if not len(fingerprints) or max_distance < 0:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
    first, kinds = _kinds(words)
    distinct = [word[first] for word in words]
    own = np.stack([np.arange(len(first))] * 2, axis=1)
    left, right = _each_once(chain([own], _near_kinds(distinct, max_distance)), len(first))
    # Each member of the one kind with each of the other.
    members, sizes = np.argsort(kinds, kind="stable"), np.bincount(kinds)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[left] * sizes[right]
    at = np.repeat(np.arange(len(left)), counts)
    number = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = sizes[right][at]
    ones = members[starts[left][at] + number // width]
    others = members[starts[right][at] + number % width]
    pairs = np.sort(np.stack([ones, others], axis=1), axis=1)
    # Of two of one kind both orders are there.
    keep = (ones < others) | (left != right)[at]
    pairs = pairs[keep]
    distances = sum(np.bitwise_count(word[pairs[:, 0]] ^ word[pairs[:, 1]]).astype(np.int64) for word in words)
    return pairs, np.asarray(distances, dtype=np.int64)


def _each_once(batches: Iterator[Pairs], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of numbers below ``count``, the lower first, without those that come again."""
    known, more, size = np.empty(0, dtype=np.int64), [], 0
    for pairs in batches:
        more.append(pairs.min(axis=1) * count + pairs.max(axis=1))
        size += len(pairs)
        if size > max(1_000_000, len(known)):  # as they come: each may come for many masks
            known, more, size = np.unique(np.concatenate([known, *more])), [], 0
    return np.divmod(np.unique(np.concatenate([known, *more])), count)


def _near_kinds(distinct: list[NDArray[np.uint64]], max_distance: int) -> Iterator[Pairs]:
    """Every pair within ``max_distance`` of fingerprints that all differ, at least once."""
    if max_distance > 0:
        for masks in _masks(max_distance, len(distinct), len(distinct[0])):
            yield from _equal_under(distinct, masks, max_distance)


def _kinds(words: list[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The place of the first of each kind, and for each fingerprint which kind it is."""
    if len(words) == 1:
        _, first, kinds = np.unique(words[0], return_index=True, return_inverse=True)
        return first, kinds
    order = np.lexsort(words)  # equal ones stay in their order
    changes = np.zeros(len(order), dtype=np.bool_)
    changes[0] = True
    for word in words:
        changes[1:] |= word[order[1:]] != word[order[:-1]]
    kinds = np.empty(len(order), dtype=np.int64)
    kinds[order] = np.cumsum(changes) - 1
    return order[changes], kinds


def _masks(max_distance: int, words: int, count: int) -> list[list[np.uint64]]:
    """Each choice of the blocks that are equal, as a mask for each word; m is what costs least for so many."""
    bits = 64 * words
    equal = min(range(1, 5), key=lambda equal: _nanoseconds(bits, max_distance, equal, count))
    edges = np.linspace(0, bits, max_distance + equal + 1).round().astype(int).tolist()
    blocks = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    chosen = map(sum, combinations(blocks, equal))
    return [[np.uint64(mask >> 64 * word & _WORD) for word in reversed(range(words))] for mask in chosen]


def _nanoseconds(bits: int, max_distance: int, equal: int, count: int) -> float:
    """About how long it takes: 60 ns to sort one fingerprint once, 40 to compare two that are spread evenly.

    It is 16 in truth; real ones are not spread evenly, and more of them meet.
    """
    blocks = max_distance + equal
    met: float = count * count / 2 / 2.0 ** (bits * equal / blocks)
    return comb(blocks, equal) * (60 * count + 40 * met)


def _equal_under(distinct: list[NDArray[np.uint64]], masks: list[np.uint64], max_distance: int) -> Iterator[Pairs]:
    """Pairs within ``max_distance`` of those that are equal where the masks have ones."""
    keys = distinct[0] & masks[0]
    for word, mask in zip(distinct[1:], masks[1:], strict=True):
        keys = keys * _MIX + (word & mask)  # others may get the same key: they are compared in vain, no more
    order = np.argsort(keys)
    keys, values = keys[order], [word[order] for word in distinct]
    left, offset = np.arange(len(keys)), 0
    while True:
        # Each with the one behind it, then with the one behind that, as long as the keys are equal.
        offset += 1
        left = left[: np.searchsorted(left, len(keys) - offset)]
        left = left[keys[left] == keys[left + offset]]
        if not len(left):
            return
        apart = np.bitwise_count(values[0][left] ^ values[0][left + offset])
        for word in values[1:]:
            apart += np.bitwise_count(word[left] ^ word[left + offset])
        near = left[apart <= max_distance]
        yield np.stack([order[near], order[near + offset]], axis=1)
