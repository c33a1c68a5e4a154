"""Near pairs: all pairs of fingerprints within max_distance, found by sorting blocks of their bits.

Cut the bits of a fingerprint into k + m blocks, where k is max_distance. Two fingerprints within k bits have at least m
equal blocks (Manku, Jain and Das Sarma 2007, section 3.1). For each choice of m blocks, the fingerprints are sorted by
these blocks, and those with equal blocks are compared.

Equal fingerprints are compared only once: they form a *kind*, and the first of them stands for the kind.
"""

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
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication loses no bit of the word


def near_pairs(fingerprints: NDArray[np.uint64], max_distance: int) -> Iterator[Pairs]:
    """Yield pairs of fingerprints within ``max_distance``, enough to connect all that are near.

    Each fingerprint is paired with the first of its kind, which may be itself. The first of a kind is paired with the
    first of every other kind within max_distance, at least once.

    :param fingerprints: shape (n,) for 64 bits, (n, 2) for 128, as ``encoding.to_array`` returns them.
    :param max_distance: in bits; below 0 there are no pairs.
    :returns: arrays of indices, each of shape (m, 2).
    """
    if not len(fingerprints) or max_distance < 0:
        return
    words = columns(fingerprints)
    first, kinds = _kinds(words)
    yield np.stack([np.arange(len(kinds)), first[kinds]], axis=1)
    for pairs in _near_kinds([word[first] for word in words], max_distance):
        yield first[pairs]


def every_near_pair(fingerprints: NDArray[np.uint64], max_distance: int) -> tuple[Pairs, NDArray[np.int64]]:
    """Return every pair of fingerprints within ``max_distance`` exactly once, and the distances in bits.

    :param fingerprints: as for :func:`near_pairs`.
    :param max_distance: in bits; below 0 there are no pairs.
    :returns: indices of shape (m, 2), the lower index first; distances of shape (m,).
    """
    words = columns(fingerprints)
    if not len(fingerprints) or max_distance < 0:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
    first, kinds = _kinds(words)
    distinct = [word[first] for word in words]
    with_itself = np.stack([np.arange(len(first))] * 2, axis=1)
    left, right = _each_once(chain([with_itself], _near_kinds(distinct, max_distance)), len(first))
    # Pair each member of one kind with each member of the other. Members are numbered in the order of their kinds.
    members, sizes = np.argsort(kinds, kind="stable"), np.bincount(kinds)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[left] * sizes[right]
    pair_of_kinds = np.repeat(np.arange(len(left)), counts)
    number = np.arange(len(pair_of_kinds)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = sizes[right][pair_of_kinds]
    ones = members[starts[left][pair_of_kinds] + number // width]
    others = members[starts[right][pair_of_kinds] + number % width]
    pairs = np.sort(np.stack([ones, others], axis=1), axis=1)
    # Within one kind each pair comes in both orders, and each member with itself: keep one order.
    keep = (ones < others) | (left != right)[pair_of_kinds]
    pairs = pairs[keep]
    distances = sum(np.bitwise_count(word[pairs[:, 0]] ^ word[pairs[:, 1]]).astype(np.int64) for word in words)
    return pairs, np.asarray(distances, dtype=np.int64)


def _each_once(batches: Iterator[Pairs], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of numbers below ``count``, each once: the lower numbers and the higher numbers, of shape (m,)."""
    known, more, size = np.empty(0, dtype=np.int64), [], 0
    for pairs in batches:
        more.append(pairs.min(axis=1) * count + pairs.max(axis=1))
        size += len(pairs)
        if size > max(1_000_000, len(known)):  # from time to time, since a pair may come again for many masks
            known, more, size = np.unique(np.concatenate([known, *more])), [], 0
    return np.divmod(np.unique(np.concatenate([known, *more])), count)


def _near_kinds(distinct: list[NDArray[np.uint64]], max_distance: int) -> Iterator[Pairs]:
    """Yield every pair within ``max_distance`` at least once, of fingerprints that all differ.

    :param distinct: the 64-bit words of the fingerprints, the highest first; arrays of shape (n,).
    """
    if max_distance > 0:
        for masks in _masks(max_distance, len(distinct), len(distinct[0])):
            yield from _equal_under(distinct, masks, max_distance)


def _kinds(words: list[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index of the first fingerprint of each kind, and the number of the kind of each fingerprint."""
    if len(words) == 1:
        _, first, kinds = np.unique(words[0], return_index=True, return_inverse=True)
        return first, kinds
    order = np.lexsort(words)  # a stable sort: the first of a kind stays first
    changes = np.zeros(len(order), dtype=np.bool_)
    changes[0] = True
    for word in words:
        changes[1:] |= word[order[1:]] != word[order[:-1]]
    kinds = np.empty(len(order), dtype=np.int64)
    kinds[order] = np.cumsum(changes) - 1
    return order[changes], kinds


def _masks(max_distance: int, words: int, count: int) -> list[list[np.uint64]]:
    """Return a mask for each choice of m equal blocks, with the cheapest m.

    :param words: 64-bit words of a fingerprint.
    :param count: the number of fingerprints.
    :returns: for each choice one mask a word, the highest word first.
    """
    bits = 64 * words
    equal = min(range(1, 5), key=lambda equal: _nanoseconds(bits, max_distance, equal, count))
    edges = np.linspace(0, bits, max_distance + equal + 1).round().astype(int).tolist()
    blocks = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    chosen = map(sum, combinations(blocks, equal))
    return [[np.uint64(mask >> 64 * word & _WORD) for word in reversed(range(words))] for mask in chosen]


def _nanoseconds(bits: int, max_distance: int, equal: int, count: int) -> float:
    """Return about how many nanoseconds the search takes with ``equal`` equal blocks.

    It takes 60 ns to sort one fingerprint once. The number of comparisons is that of uniformly random fingerprints. A
    comparison takes 16 ns, but it is counted as 40 ns: real fingerprints are not uniform, so more of them are compared.
    """
    blocks = max_distance + equal
    comparisons: float = count * count / 2 / 2.0 ** (bits * equal / blocks)
    return comb(blocks, equal) * (60 * count + 40 * comparisons)


def _equal_under(distinct: list[NDArray[np.uint64]], masks: list[np.uint64], max_distance: int) -> Iterator[Pairs]:
    """Yield the pairs within ``max_distance`` among the fingerprints that are equal in the bits of the masks."""
    keys = distinct[0] & masks[0]
    for word, mask in zip(distinct[1:], masks[1:], strict=True):
        keys = keys * _MIX + (word & mask)  # different words may get one key; then they are only compared
    order = np.argsort(keys)
    keys, values = keys[order], [word[order] for word in distinct]
    left, offset = np.arange(len(keys)), 0
    while True:
        # Compare each with the next one, then with the one after that, while the keys are equal.
        offset += 1
        left = left[: np.searchsorted(left, len(keys) - offset)]
        left = left[keys[left] == keys[left + offset]]
        if not len(left):
            return
        distances = np.bitwise_count(values[0][left] ^ values[0][left + offset])
        for word in values[1:]:
            distances += np.bitwise_count(word[left] ^ word[left + offset])
        near = left[distances <= max_distance]
        yield np.stack([order[near], order[near + offset]], axis=1)
