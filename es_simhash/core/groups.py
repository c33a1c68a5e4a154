"""Groups: documents that are near each other, transitively, and the one that stands for them.

Two documents belong together if their fingerprints differ in at most max_distance bits or their digests are equal;
and so do all that are linked by a chain of such pairs, however far apart its ends are. The head of a group is the
member under which most of them were grouped before; of several such, and among documents that stood alone, the one
written first. So a group keeps its head while it grows, and of two groups that meet the larger one's head stays.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Pairs = NDArray[np.int64]


def near_pairs(fingerprints: NDArray[np.uint64], max_distance: int) -> Iterator[Pairs]:
    """Every pair of fingerprints within ``max_distance``, at least once, as arrays of indices of shape (n, 2).

    Cut into k+2 blocks, two fingerprints within k bits have at least two blocks equal (Manku, Jain and Das Sarma 2007,
    section 3.1). For each choice of blocks the fingerprints are sorted by them, and compared within equal ones.
    Equal fingerprints are compared as one, and each is paired with the first of its kind.

    :param fingerprints: shape (n,), 64 bits each.
    """
    if not len(fingerprints):
        return
    distinct, first, kinds = np.unique(fingerprints, return_index=True, return_inverse=True)
    yield np.stack([np.arange(len(fingerprints)), first[kinds]], axis=1)
    if max_distance == 0:
        return
    for mask in _masks(max_distance):
        for pairs in _equal_under(distinct, mask, max_distance):
            yield first[pairs]


def _masks(max_distance: int) -> list[np.uint64]:
    """Each choice of the blocks that are equal; above 3 bits one block more, since the blocks get short."""
    equal = 2 if max_distance <= 3 else 3
    edges = np.linspace(0, 64, max_distance + equal + 1).round().astype(int).tolist()
    blocks = [(1 << end) - (1 << start) for start, end in pairwise(edges)]
    return [np.uint64(sum(chosen)) for chosen in combinations(blocks, equal)]


def _equal_under(distinct: NDArray[np.uint64], mask: np.uint64, max_distance: int) -> Iterator[Pairs]:
    """Pairs within ``max_distance`` of those that are equal where the mask has ones."""
    keys = distinct & mask
    order = np.argsort(keys)
    keys, values = keys[order], distinct[order]
    left, offset = np.arange(len(keys)), 0
    while True:
        # Each with the one behind it, then with the one behind that, as long as the keys are equal.
        offset += 1
        left = left[: np.searchsorted(left, len(keys) - offset)]
        left = left[keys[left] == keys[left + offset]]
        if not len(left):
            return
        near = left[np.bitwise_count(values[left] ^ values[left + offset]) <= max_distance]
        yield np.stack([order[near], order[near + offset]], axis=1)


def unite(count: int, pairs: Iterator[Pairs]) -> NDArray[np.int64]:
    """Unite what the pairs link.

    :returns: for each of ``count`` members the lowest index of its group, shape (n,).
    """
    lowest = np.arange(count)
    for batch in pairs:
        linked = batch[lowest[batch[:, 0]] != lowest[batch[:, 1]]]
        while len(linked):
            # The larger of two groups' lowest members takes the smaller one's place; then everybody looks up again.
            ends = np.sort(lowest[linked], axis=1)
            np.minimum.at(lowest, ends[:, 1], ends[:, 0])
            while not np.array_equal(lowest, nearer := lowest[lowest]):
                lowest = nearer
            linked = linked[lowest[linked[:, 0]] != lowest[linked[:, 1]]]
    return lowest
