"""Groups: documents that are near each other, transitively, and the one that stands for them.

Two documents belong together if their fingerprints differ in at most max_distance bits or their digests are equal;
and so do all that are linked by a chain of such pairs, however far apart its ends are. The head of a group, after which
it is named, is the member that was written first. It may be chosen otherwise: the one that was written last, or the one
under which most members are grouped already (of several such the first), so that few documents change.

What a document duplicates is an exact copy before a near one, then the nearest, then the first, of those that were
written before it.

Where texts confirm, two near documents belong together only if their texts agree. Texts are asked for where that can
change the outcome: not of two that belong together already, if it is known what the later one duplicates.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import columns, to_array
from es_simhash.groups.near_pairs import every_near_pair, near_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.groups.near_pairs import Pairs


HEADS = ("earliest", "latest", "kept")

_NONE = np.iinfo(np.int64).max
_ASKED = 250
"""Pairs whose texts are asked for at once."""
_LOOKED_AT = 50_000
"""Pairs of which those are chosen that are to be asked for."""


def links(
    fingerprints: Sequence[int | None],
    bits: int,
    digests: Sequence[str | None],
    ids: Sequence[str],
    groups: Sequence[str],
    max_distance: int,
    head: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each document the head of its group, and what it duplicates.

    :param fingerprints: of the documents in the order in which they were written; None where there is none.
    :param bits: their length.
    :param digests: None for an empty text, which is nobody's copy.
    :param ids: of the documents.
    :param groups: their groups until now, as ids of heads.
    :param head: one of HEADS.
    :returns: two arrays of places, shape (n,); -1 for a document that duplicates nothing.
    """
    places = np.array([place for place, value in enumerate(fingerprints) if value is not None], dtype=np.int64)
    values = to_array((value or 0 for value in fingerprints), bits)
    # Exact copies rank before all others, these by distance; at one distance the first comes first.
    best = np.full(len(fingerprints), _NONE, dtype=np.int64)

    def linked() -> Iterator[Pairs]:
        for pairs in near_pairs(values[places], max_distance):
            earlier, later = np.sort(places[pairs], axis=1).T
            differing = columns(values[earlier] ^ values[later])
            distance = sum(np.bitwise_count(word).astype(np.int64) for word in differing)
            apart = earlier != later
            np.minimum.at(best, later[apart], ((distance + 1) << 48 | earlier)[apart])
            yield places[pairs]
        copies = _copies(digests)
        np.minimum.at(best, copies[:, 1], copies[:, 0])
        yield copies

    lowest = unite(len(fingerprints), linked())
    originals = np.where(best == _NONE, -1, best & ((1 << 48) - 1))
    return _heads(lowest, ids, groups, head), originals


def confirmed_links(
    fingerprints: Sequence[int | None],
    bits: int,
    digests: Sequence[str | None],
    ids: Sequence[str],
    groups: Sequence[str],
    max_distance: int,
    head: str,
) -> Generator[list[int], Callable[[int, int], bool], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """:func:`links`, where texts confirm.

    Memory: up to 450 bytes a near pair on top. Documents with the same fingerprint and different texts are all paired
    with each other: a template of ten thousand takes gigabytes.

    It yields the places of documents whose texts may be asked for, and is sent a function that says whether the texts
    of two of them agree.
    """
    copies = _copies(digests)
    lowest = unite(len(fingerprints), iter([copies]))
    originals = np.full(len(fingerprints), -1, dtype=np.int64)
    originals[copies[:, 1]] = copies[:, 0]
    # Of copies the first speaks for all.
    places = np.array([p for p, v in enumerate(fingerprints) if v is not None and originals[p] < 0], dtype=np.int64)
    pairs, distances = every_near_pair(to_array((fingerprints[p] or 0 for p in places), bits), max_distance)
    pairs = places[pairs]
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1], distances))]
    todo = pairs[:0]
    start = 0
    while len(todo) or start < len(pairs):
        if not len(todo):
            todo, start = pairs[start : start + _LOOKED_AT], start + _LOOKED_AT
        todo = todo[(lowest[todo[:, 0]] != lowest[todo[:, 1]]) | (originals[todo[:, 1]] < 0)]
        asked, todo = todo[:_ASKED], todo[_ASKED:]
        if not len(asked):
            continue
        agree = yield np.unique(asked).tolist()
        united: dict[int, int] = {}  # what was the lowest of its group, and what it is united with since
        for earlier, later in asked.tolist():
            ends = _end(int(lowest[earlier]), united), _end(int(lowest[later]), united)
            if (ends[0] != ends[1] or originals[later] < 0) and agree(earlier, later):
                united[max(ends)] = min(ends)
                if originals[later] < 0:
                    originals[later] = earlier
        united = {low: end for low, end in united.items() if low != end}
        lowest = unite(len(lowest), iter([np.array(list(united.items()), dtype=np.int64).reshape(-1, 2)]), lowest)
    return _heads(lowest, ids, groups, head), originals


def _end(low: int, united: dict[int, int]) -> int:
    while (lower := united.get(low, low)) != low:
        low = lower
    return low


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


def unite(count: int, pairs: Iterator[Pairs], united: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Unite what the pairs link.

    :param united: what this returned before, to go on from.
    :returns: for each of ``count`` members the lowest index of its group, shape (n,).
    """
    lowest = np.arange(count) if united is None else united
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
