"""Links: the group of each document, and its original, computed from all fingerprints together.

**Groups.** Two documents belong together if their fingerprints differ in at most max_distance bits or their digests are
equal. Groups are transitive: documents that a chain of such pairs connects are in one group, however far apart its ends
are.

**Heads.** A group is named after one of its members, its head. There are three rules:

- ``earliest``: the member that was written first;
- ``latest``: the member that was written last;
- ``kept``: the member that most members already have as their group, so that few documents change. If several members
  have equally many, the first of them.

**Originals.** Each document has at most one original, among the documents that were written before it. An exact
duplicate comes before a near one, then the nearest, then the one that was written first.

**Confirmed links.** Where texts confirm, two near documents belong together only if their texts agree. Exact duplicates
need no confirmation. Texts are compared only if the result can change a link: not if the two documents are already in
one group and the later one already has its original.

**Times.** If only documents in the window around a document's own time can be its duplicates, all pairs above are pairs
in the window, exact duplicates too. :mod:`es_simhash.groups.time_window` finds them.

Positions. Documents are in write order; a position is an index into this order.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import columns, to_array
from es_simhash.groups.near_pairs import NearPairs, nearest
from es_simhash.groups.time_window import MembersByTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.groups.near_pairs import Pairs
    from es_simhash.groups.time_window import Times

    Links = tuple[NDArray[np.int64], NDArray[np.int64]]
    """Heads and originals, each of shape (n,).

    They are the position of the head of each document's group, and the position of its original or -1.
    """


HEADS = ("earliest", "latest", "kept")

_NO_ORIGINAL = np.iinfo(np.int64).max
_PAIRS_A_REQUEST = 250
"""Pairs whose texts are requested together."""
_KINDS_IN_WINDOW = 1_000
"""Texts with which one is compared, before it is known which of them are in the window."""
_PAIRS_A_CHUNK = 50_000
"""Pairs that are checked together for whether their texts are still needed."""


@dataclass(frozen=True)
class GroupInput:
    """The documents to group, in write order: each sequence has one value a document.

    :param fingerprints: unsigned; None for a text that is too short for one.
    :param bits: the fingerprint width.
    :param digests: of the normalised texts; None for an empty text, which is nobody's duplicate.
    :param ids: of the documents.
    :param groups: the current group of each document: the id of its head.
    :param times: the times of the documents, if they count.
    """

    fingerprints: Sequence[int | None]
    bits: int
    digests: Sequence[str | None]
    ids: Sequence[str]
    groups: Sequence[str]
    times: Times | None = None


def links(documents: GroupInput, max_distance: int, head: str) -> tuple[Links, int]:
    """Return the heads and originals of all documents, by fingerprints and digests alone.

    The second value is about how many pairs were not compared, because very many fingerprints are near each other.

    :param max_distance: in bits; below 0 only exact duplicates belong together.
    :param head: one of :data:`HEADS`.
    """
    if documents.times is not None:
        return _links_in_window(documents, documents.times, max_distance, head)
    fingerprints = documents.fingerprints
    with_value = np.array([i for i, value in enumerate(fingerprints) if value is not None], dtype=np.int64)
    values = to_array((value or 0 for value in fingerprints), documents.bits)
    # The best original so far, as one number whose order is the order of preference: the position of an exact
    # duplicate; or distance + 1 in the bits from 48 on, and the position in the bits below.
    best = np.full(len(fingerprints), _NO_ORIGINAL, dtype=np.int64)
    near = NearPairs(values[with_value], max_distance)

    def linked() -> Iterator[Pairs]:
        for pairs in near.connecting():
            earlier, later = np.sort(with_value[pairs], axis=1).T
            differing = columns(values[earlier] ^ values[later])
            distance = sum(np.bitwise_count(word).astype(np.int64) for word in differing)
            apart = earlier != later
            np.minimum.at(best, later[apart], ((distance + 1) << 48 | earlier)[apart])
            yield with_value[pairs]
        copies = _copies(documents.digests)
        np.minimum.at(best, copies[:, 1], copies[:, 0])
        yield copies

    lowest = unite(len(fingerprints), linked())
    originals = np.where(best == _NO_ORIGINAL, -1, best & ((1 << 48) - 1))
    return (_heads(lowest, documents, head), originals), near.left_out


def _links_in_window(documents: GroupInput, times: Times, max_distance: int, head: str) -> tuple[Links, int]:
    count = len(documents.ids)
    distinct, kinds = _kinds_of_fingerprints(documents)
    near_kinds = NearPairs(distinct, max_distance)
    best = np.full(count, _NO_ORIGINAL, dtype=np.int64)  # as in links()

    def linked() -> Iterator[Pairs]:
        members = MembersByTime(kinds, times)
        for near in near_kinds.connecting():
            differing = columns(distinct[near[:, 0]] ^ distinct[near[:, 1]])
            distance = sum(np.bitwise_count(word).astype(np.int64) for word in differing)
            for pairs, index in members.pairs(near):
                np.minimum.at(best, pairs[:, 1], (np.asarray(distance)[index] + 1) << 48 | pairs[:, 0])
                yield pairs
        copies = _copies_in_window(documents.digests, times)
        np.minimum.at(best, copies[:, 1], copies[:, 0])
        yield copies

    lowest = unite(count, linked())
    originals = np.where(best == _NO_ORIGINAL, -1, best & ((1 << 48) - 1))
    return (_heads(lowest, documents, head), originals), near_kinds.left_out


def _kinds_of_fingerprints(documents: GroupInput) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the different fingerprints, and for each document the index of its own; -1 if it has none."""
    numbers: dict[int | None, int] = {None: -1}
    kinds = [numbers.setdefault(value, len(numbers) - 1) for value in documents.fingerprints]
    distinct = to_array((value for value in numbers if value is not None), documents.bits)
    return distinct, np.array(kinds, dtype=np.int64)


def _kinds_of_digests(digests: Sequence[str | None]) -> NDArray[np.int64]:
    numbers: dict[str | None, int] = {None: -1}
    return np.array([numbers.setdefault(digest, len(numbers) - 1) for digest in digests], dtype=np.int64)


def _copies_in_window(digests: Sequence[str | None], times: Times) -> Pairs:
    """Return the pairs of exact duplicates that their links need, the lower position first."""
    members = MembersByTime(_kinds_of_digests(digests), times)
    itself = np.stack([np.arange(len(members.sizes))] * 2, axis=1)
    found = [pairs for pairs, _ in members.pairs(itself)]
    return np.unique(np.concatenate([np.empty((0, 2), dtype=np.int64), *found]), axis=0)


def _near_in_window(
    documents: GroupInput, times: Times, max_distance: int, most: int
) -> tuple[Pairs, NDArray[np.int64], int]:
    """Return the pairs of documents with different digests that confirmed links need, and their distances.

    The third value is about how many pairs are left out, because each document is paired with ``most`` earlier ones.
    """
    kinds = _kinds_of_digests(documents.digests)
    fingerprints = {kind: documents.fingerprints[i] for i, kind in enumerate(kinds.tolist()) if kind >= 0}
    compared = np.array([kind for kind, value in fingerprints.items() if value is not None], dtype=np.int64)
    values = to_array((fingerprints[kind] or 0 for kind in compared.tolist()), documents.bits)
    near_kinds = NearPairs(values, max_distance)
    near, distances = near_kinds.every(_KINDS_IN_WINDOW)
    found = list(MembersByTime(kinds, times).pairs(compared[near]))
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *(pairs for pairs, _ in found)])
    index = np.concatenate([np.empty(0, dtype=np.int64), *(index for _, index in found)])
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    distances = distances[index[first]]
    kept = nearest(pairs, distances, most)
    return pairs[kept], distances[kept], near_kinds.left_out + len(pairs) - len(kept)


class ConfirmedLinks:
    """The heads and originals of all documents where texts confirm. It does no I/O: the caller fetches the texts. ::

        while (positions := confirmed.needed()) is not None:
            ...  # fetch the texts of the documents at these positions
            confirmed.decide(agree)
        heads, originals = confirmed.result(head)

    Memory: up to 450 bytes a near pair, on top of what :func:`links` needs.

    :param max_distance: in bits; below 0 only exact duplicates belong together.
    :param near: the pairs of positions to compare, shape (n, 2), the lower one first, and their distances in bits,
        shape (n,); by default all pairs within ``max_distance``, for each document at most ``most`` earlier ones. If
        times count, pairs in the window with different digests.
    :param most: see ``near``.
    """

    def __init__(
        self,
        documents: GroupInput,
        max_distance: int,
        near: tuple[Pairs, NDArray[np.int64]] | None = None,
        most: int = 20,
    ) -> None:
        self.left_out = 0
        """About how many pairs within ``max_distance`` are not compared, because so many documents are near."""
        self._documents = documents
        fingerprints, times = documents.fingerprints, documents.times
        copies = _copies(documents.digests) if times is None else _copies_in_window(documents.digests, times)
        self._lowest = unite(len(fingerprints), iter([copies]))
        self._originals = np.full(len(fingerprints), -1, dtype=np.int64)
        # From the highest original to the lowest: numpy assigns in order, and the last assignment stays.
        self._originals[copies[::-1, 1]] = copies[::-1, 0]
        # Exact duplicates have the same text. So only the first of them is compared with other documents, unless times
        # tell them apart.
        if times is not None and near is not None:
            pairs, distances = near
        elif times is not None:
            pairs, distances, self.left_out = _near_in_window(documents, times, max_distance, most)
        elif near is None:
            compared = [i for i, v in enumerate(fingerprints) if v is not None and self._originals[i] < 0]
            positions = np.array(compared, dtype=np.int64)
            values = to_array((fingerprints[i] or 0 for i in compared), documents.bits)
            every = NearPairs(values, max_distance)
            pairs, distances = every.every(most)
            pairs, self.left_out = positions[pairs], every.left_out
        else:
            pairs, distances = near
            first = (self._originals[pairs] < 0).all(axis=1)
            pairs, distances = pairs[first], distances[first]
        # In order of preference for an original: the nearest, then the first written. So the first pair of a document
        # whose texts agree has its original.
        self._pairs: Pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 1], distances))]
        self._start = 0  # of the next chunk
        self._chunk: Pairs = self._pairs[:0]  # what is left of the current chunk
        self._requested: Pairs = self._pairs[:0]

    def needed(self) -> list[int] | None:
        """Return the positions of the documents whose texts :meth:`decide` compares next, sorted.

        :returns: None if every link is decided.
        """
        if not len(self._requested):
            self._requested = self._next_pairs()
        return np.unique(self._requested).tolist() if len(self._requested) else None

    def decide(self, agree: Callable[[int, int], bool]) -> None:
        """Decide the links of the documents that :meth:`needed` returned.

        :param agree: returns whether the texts at two positions agree; the earlier position is the first argument. It
            is called only with positions that ``needed`` returned.
        """
        lowest, originals = self._lowest, self._originals
        united: dict[int, int] = {}  # the lowest member of a group, and the lowest member of the group it joins now
        for earlier, later in self._requested.tolist():
            ends = _follow(int(lowest[earlier]), united), _follow(int(lowest[later]), united)
            if (ends[0] != ends[1] or originals[later] < 0) and agree(earlier, later):
                united[max(ends)] = min(ends)
                if originals[later] < 0:
                    originals[later] = earlier
        pairs = [(low, end) for low, end in united.items() if low != end]
        self._lowest = unite(len(lowest), iter([np.array(pairs, dtype=np.int64).reshape(-1, 2)]), lowest)
        self._requested = self._requested[:0]

    def result(self, head: str) -> Links:
        """Return the heads and originals, once :meth:`needed` has returned None.

        :param head: one of :data:`HEADS`.
        """
        return _heads(self._lowest, self._documents, head), self._originals

    def _next_pairs(self) -> Pairs:
        """Return the next pairs whose texts can change a link; an empty array at the end."""
        while len(self._chunk) or self._start < len(self._pairs):
            if not len(self._chunk):
                self._chunk = self._pairs[self._start : self._start + _PAIRS_A_CHUNK]
                self._start += _PAIRS_A_CHUNK
            earlier, later = self._chunk.T
            open_pairs = self._chunk[(self._lowest[earlier] != self._lowest[later]) | (self._originals[later] < 0)]
            requested: Pairs = open_pairs[:_PAIRS_A_REQUEST]
            self._chunk = open_pairs[_PAIRS_A_REQUEST:]
            if len(requested):
                return requested
        return self._chunk


def _follow(low: int, united: dict[int, int]) -> int:
    while (lower := united.get(low, low)) != low:
        low = lower
    return low


def _copies(digests: Sequence[str | None]) -> Pairs:
    """Return a pair for each exact duplicate: the position of the first document with its digest, and its own."""
    first: dict[str, int] = {}
    firsts = [i if digest is None else first.setdefault(digest, i) for i, digest in enumerate(digests)]
    earlier = np.array(firsts, dtype=np.int64)
    later = np.flatnonzero(earlier != np.arange(len(earlier)))
    return np.stack([earlier[later], later], axis=1)


def _heads(lowest: NDArray[np.int64], documents: GroupInput, head: str) -> NDArray[np.int64]:
    """Return the position of the head of each document's group, by the rule ``head``.

    :param lowest: the lowest position in the group of each document.
    """
    if head == "earliest":
        return lowest
    order = np.arange(len(lowest))
    if head == "kept":
        named = Counter(zip(documents.groups, lowest.tolist(), strict=True))
        votes = [named[id, low] for id, low in zip(documents.ids, lowest.tolist(), strict=True)]
        order = np.lexsort((order, -np.array(votes, dtype=np.int64)))[::-1]
    # numpy assigns in order, and the last assignment to an element stays. So the preferred head comes last.
    head_of = np.arange(len(lowest))
    head_of[lowest[order]] = order
    heads: NDArray[np.int64] = head_of[lowest]
    return heads


def unite(count: int, pairs: Iterator[Pairs], united: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Unite the groups that the pairs link.

    :param count: the number of members.
    :param pairs: arrays of shape (n, 2).
    :param united: an earlier result for the same members, to continue from. It is changed and must not be used again.
    :returns: for each member the lowest index in its group, shape (count,).
    """
    lowest = np.arange(count) if united is None else united
    for batch in pairs:
        linked = batch[lowest[batch[:, 0]] != lowest[batch[:, 1]]]
        while len(linked):
            # Of two linked groups, the larger lowest member points to the smaller one. Then all follow their pointers.
            ends = np.sort(lowest[linked], axis=1)
            np.minimum.at(lowest, ends[:, 1], ends[:, 0])
            while not np.array_equal(lowest, nearer := lowest[lowest]):
                lowest = nearer
            linked = linked[lowest[linked[:, 0]] != lowest[linked[:, 1]]]
    return lowest
