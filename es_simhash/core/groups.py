"""Groups: documents that are near each other, transitively, and the one that stands for them.

Two documents belong together if their fingerprints differ in at most max_distance bits or their digests are equal;
and so do all that are linked by a chain of such pairs, however far apart its ends are. The head of a group, after which
it is named, is the member that was written first. It may be chosen otherwise: the one that was written last, or the one
under which most members are grouped already (of several such the first), so that few documents change.

What a document duplicates is an exact copy before a near one, then the nearest, then the first, of those that were
written before it.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Pairs = NDArray[np.int64]


HEADS = ("earliest", "latest", "kept")

_NONE = np.iinfo(np.int64).max


def links(
    fingerprints: Sequence[int | None],
    digests: Sequence[str | None],
    ids: Sequence[str],
    groups: Sequence[str],
    max_distance: int,
    head: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each document the head of its group, and what it duplicates.

    :param fingerprints: of the documents in the order in which they were written; None where there is none.
    :param digests: None for an empty text, which is nobody's copy.
    :param ids: of the documents.
    :param groups: their groups until now, as ids of heads.
    :param head: one of HEADS.
    :returns: two arrays of places, shape (n,); -1 for a document that duplicates nothing.
    """
    places = np.array([place for place, value in enumerate(fingerprints) if value is not None], dtype=np.int64)
    values = np.zeros(len(fingerprints), dtype=np.uint64)
    values[places] = np.array([value for value in fingerprints if value is not None], dtype=np.uint64)
    # Exact copies rank before all others, these by distance; at one distance the first comes first.
    best = np.full(len(fingerprints), _NONE, dtype=np.int64)

    def linked() -> Iterator[Pairs]:
        for pairs in near_pairs(values[places], max_distance):
            earlier, later = np.sort(places[pairs], axis=1).T
            distance = np.bitwise_count(values[earlier] ^ values[later]).astype(np.int64)
            apart = earlier != later
            np.minimum.at(best, later[apart], ((distance + 1) << 48 | earlier)[apart])
            yield places[pairs]
        copies = _copies(digests)
        np.minimum.at(best, copies[:, 1], copies[:, 0])
        yield copies

    lowest = unite(len(fingerprints), linked())
    originals = np.where(best == _NONE, -1, best & ((1 << 48) - 1))
    return _heads(lowest, ids, groups, head), originals


def _copies(digests: Sequence[str | None]) -> Pairs:
    """Each copy with the first of its kind."""
    first: dict[str, int] = {}
    pairs = [(first.setdefault(digest, place), place) for place, digest in enumerate(digests) if digest is not None]
    copies = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    apart: Pairs = copies[copies[:, 0] != copies[:, 1]]
    return apart


def _heads(lowest: NDArray[np.int64], ids: Sequence[str], groups: Sequence[str], head: str) -> NDArray[np.int64]:
    if head == "earliest":
        return lowest
    order = np.arange(len(lowest))
    if head == "kept":
        named = Counter(zip(groups, lowest.tolist(), strict=True))
        votes = [named[id, low] for id, low in zip(ids, lowest.tolist(), strict=True)]
        order = np.lexsort((order, -np.array(votes, dtype=np.int64)))[::-1]
    # Of several assignments to one place the last stays.
    head_of = np.arange(len(lowest))
    head_of[lowest[order]] = order
    heads: NDArray[np.int64] = head_of[lowest]
    return heads


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
