"""Near pairs: all pairs of fingerprints within max_distance, found by sorting blocks of their bits.

Cut the bits of a fingerprint into k + m blocks, where k is max_distance. Two fingerprints within k bits have at least m
equal blocks (Manku, Jain and Das Sarma 2007, section 3.1). For each choice of m blocks, the fingerprints are sorted by
these blocks, and those with equal blocks are compared.

Equal fingerprints are compared only once: they form a *kind*, and the first of them stands for the kind.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.fingerprinting.encoding import columns
from es_simhash.search.hamming import distances_at
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Pairs = NDArray[np.int64]

NEIGHBOURS = 1_000
"""Fingerprints with which one is compared, of those with equal blocks."""
_SLICE = 1_000_000
"""Pairs that are made or compared at once, so that memory does not grow with them."""
_WORD = (1 << 64) - 1
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication loses no bit of the word


class Costs(NamedTuple):
    """Nanoseconds.

    :param sort: to sort one fingerprint once.
    :param compare: to compare one with another.
    """

    sort: float
    compare: float


HERE = Costs(60, 40)
"""In this process. A comparison takes 16 ns, but it is counted as 40 ns: real fingerprints are not uniform, so more of
them are compared."""


class NearPairs:
    """The pairs of fingerprints within ``max_distance``.

    The fingerprints of a template may all be near each other. Then not all pairs are compared: a fingerprint is
    compared with at most ``neighbours`` others that have equal blocks, and ``left_out`` counts the pairs that remain.

    :param fingerprints: shape (n,) for 64 bits, (n, 2) for 128, as ``encoding.to_array`` returns them.
    :param max_distance: in bits; below 0 there are no pairs.
    :param equal: the number of equal blocks; by default the one that takes the least time.
    """

    def __init__(
        self,
        fingerprints: NDArray[np.uint64],
        max_distance: int,
        *,
        neighbours: int = NEIGHBOURS,
        equal: int | None = None,
    ) -> None:
        self._fingerprints = fingerprints
        self._max_distance = max_distance
        self._neighbours = neighbours
        self._equal = equal
        self.left_out = 0
        """About how many pairs were not compared, after an iteration."""

    def connecting(self) -> Iterator[Pairs]:
        """Yield pairs enough to connect all fingerprints that are near.

        Each fingerprint is paired with the first of its kind, which may be itself. The first of a kind is paired with
        the first of every other kind within max_distance, at least once.

        :returns: arrays of indices, each of shape (m, 2).
        """
        if not len(self._fingerprints) or self._max_distance < 0:
            return
        words = columns(self._fingerprints)
        first, kinds = kinds_of(words)
        for start in range(0, len(kinds), _SLICE):
            some = kinds[start : start + _SLICE]
            yield np.stack([np.arange(start, start + len(some)), first[some]], axis=1)
        del kinds  # it is large
        for pairs in self._near_kinds([word[first] for word in words]):
            yield first[pairs]

    def every(self, most: int) -> tuple[Pairs, NDArray[np.int64]]:
        """Return every near pair exactly once, and the distances in bits.

        Each fingerprint is paired with at most ``most`` of those before it: the nearest ones, then the first ones.

        :returns: indices of shape (m, 2), the lower index first; distances of shape (m,).
        """
        words = columns(self._fingerprints)
        if not len(self._fingerprints) or self._max_distance < 0:
            return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)
        first, kinds = kinds_of(words)
        order = np.argsort(first)  # number the kinds in the order of their first fingerprints
        first, kinds = first[order], np.argsort(order)[kinds]
        pairs = self._each_once([word[first] for word in words], most)
        members = _Members(kinds, len(first))
        itself = np.arange(len(first))
        compared = (np.stack([itself, itself], axis=1), pairs, pairs[:, ::-1])
        every = np.concatenate([members.pairs(of, most) for of in compared])
        distances = distances_at(words, every[:, 0], every[:, 1]).astype(np.int64)
        kept = nearest(every, distances, most)
        sizes = np.bincount(kinds)
        of_one_kind = int((sizes * (sizes - 1) // 2).sum())
        self.left_out += of_one_kind + int(sizes[pairs].prod(axis=1).sum()) - len(kept)
        return every[kept], distances[kept]

    def _each_once(self, distinct: list[NDArray[np.uint64]], most: int) -> Pairs:
        """Return each pair of near kinds once, the lower one first, and for each kind at most ``most`` lower ones."""
        count = len(distinct[0])
        known, more, size = np.empty(0, dtype=np.int64), [np.empty(0, dtype=np.int64)], 0

        def merged() -> NDArray[np.int64]:
            numbers = np.unique(np.concatenate([known, *more]))
            pairs = np.stack(np.divmod(numbers, count), axis=1)
            kept = nearest(pairs, distances_at(distinct, pairs[:, 0], pairs[:, 1]), most)
            self.left_out += len(numbers) - len(kept)
            return numbers[kept]

        for pairs in self._near_kinds(distinct):
            more.append(pairs.min(axis=1) * count + pairs.max(axis=1))
            size += len(pairs)
            if size > max(1_000_000, len(known)):  # from time to time, since a pair may come again for many masks
                known, more, size = merged(), [], 0
        return np.stack(np.divmod(merged(), count), axis=1)

    def _near_kinds(self, distinct: list[NDArray[np.uint64]]) -> Iterator[Pairs]:
        """Yield every pair within ``max_distance`` at least once, of fingerprints that all differ.

        :param distinct: the 64-bit words of the fingerprints, the highest first; arrays of shape (n,).
        """
        if self._max_distance > 0:
            for masks in block_masks(self._max_distance, len(distinct), len(distinct[0]), equal=self._equal):
                yield from self._equal_under(distinct, masks)

    def _equal_under(self, distinct: list[NDArray[np.uint64]], masks: list[np.uint64]) -> Iterator[Pairs]:
        """Yield the pairs within max_distance among the fingerprints that are equal in the bits of the masks."""
        keys = distinct[0] & masks[0]
        for word, mask in zip(distinct[1:], masks[1:], strict=True):
            keys = keys * _MIX + (word & mask)  # different words may get one key; then they are only compared
        order = np.argsort(keys)
        keys, values = keys[order], [word[order] for word in distinct]
        left = np.flatnonzero(keys[:-1] == keys[1:])
        for offset in range(1, self._neighbours + 1):
            # Compare each with the next one, then with the one after that, while the keys are equal.
            if not len(left):
                return
            for start in range(0, len(left), _SLICE):
                ones = left[start : start + _SLICE]
                near = ones[distances_at(values, ones, ones + offset) <= self._max_distance]
                yield np.stack([order[near], order[near + offset]], axis=1)
            left = left[: np.searchsorted(left, len(keys) - offset - 1)]
            left = left[keys[left] == keys[left + offset + 1]]
        more = np.maximum(np.unique(keys, return_counts=True)[1] - self._neighbours, 0)
        self.left_out += int((more * (more - 1) // 2).sum())


class _Members:
    """The fingerprints of each kind.

    :param kinds: the number of the kind of each fingerprint, shape (n,).
    :param count: of the kinds.
    """

    def __init__(self, kinds: NDArray[np.int64], count: int) -> None:
        self._members = np.argsort(kinds, kind="stable")  # in the order of their kinds
        self._sizes = np.bincount(kinds, minlength=count)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def pairs(self, of: Pairs, most: int) -> Pairs:
        """Return pairs of a member of the first kind and a later member of the second kind, shape (m, 2).

        :param of: pairs of kinds, shape (m, 2).
        :param most: so many members of the first kind are paired, the first ones.
        """
        widths = np.minimum(self._sizes[of[:, 0]], most)
        counts = widths * self._sizes[of[:, 1]]
        pair_of_kinds = np.repeat(np.arange(len(of)), counts)
        number = run_positions(0, counts)
        width = widths[pair_of_kinds]
        ones = self._members[self._starts[of[:, 0]][pair_of_kinds] + number % width]
        others = self._members[self._starts[of[:, 1]][pair_of_kinds] + number // width]
        found: Pairs = np.stack([ones, others], axis=1)[ones < others]
        return found


def nearest(pairs: Pairs, distances: NDArray[np.integer], most: int | NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the positions of the ``most`` nearest pairs of each later one, then the first ones; ascending.

    :param most: a number for all, or for each pair that of its later one.
    """
    order = np.lexsort((pairs[:, 0], distances, pairs[:, 1]))
    later = pairs[order, 1]
    rank = np.arange(len(order)) - np.searchsorted(later, later)
    kept: NDArray[np.int64] = np.sort(order[rank < (most if isinstance(most, int) else most[order])])
    return kept


def kinds_of(words: list[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index of the first value of each kind, and the number of the kind of each value.

    :param words: the 64-bit words of the values, the highest first; arrays of shape (n,).
    """
    order = np.argsort(words[0]) if len(words) == 1 else np.lexsort(words)
    changes = np.zeros(len(order), dtype=np.bool_)
    changes[:1] = True
    for word in words:
        sorted_word = word[order]
        changes[1:] |= sorted_word[1:] != sorted_word[:-1]
    starts = np.flatnonzero(changes)
    kinds = np.empty(len(order), dtype=np.int64)
    kinds[order] = np.cumsum(changes) - 1
    return (np.minimum.reduceat(order, starts) if len(starts) else order), kinds


def block_masks(
    max_distance: int, words: int, count: int, costs: Costs = HERE, equal: int | None = None
) -> list[list[np.uint64]]:
    """Return a mask for each choice of m equal blocks.

    :param words: 64-bit words of a fingerprint.
    :param count: the number of fingerprints.
    :param costs: of sorting and of comparing, which choose m if it is not given.
    :param equal: m.
    :returns: for each choice one mask a word, the highest word first.
    """
    bits = 64 * words
    if equal is None:
        equal = min(range(1, 5), key=lambda equal: _nanoseconds(bits, max_distance, equal, count, costs))
    edges = np.linspace(0, bits, max_distance + equal + 1).round().astype(int).tolist()
    blocks = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    chosen = map(sum, combinations(blocks, equal))
    return [[np.uint64(mask >> 64 * word & _WORD) for word in reversed(range(words))] for mask in chosen]


def _nanoseconds(bits: int, max_distance: int, equal: int, count: int, costs: Costs) -> float:
    """Return about how many nanoseconds the search takes with ``equal`` equal blocks.

    The number of comparisons is that of uniformly random fingerprints.
    """
    blocks = max_distance + equal
    comparisons: float = count * count / 2 / 2.0 ** (bits * equal / blocks)
    return comb(blocks, equal) * (costs.sort * count + costs.compare * comparisons)
