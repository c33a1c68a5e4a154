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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from es_simhash.errors import InputError
from es_simhash.fingerprinting.encoding import columns
from es_simhash.groups.near_pairs import NearPairs, kinds_of, nearest
from es_simhash.groups.time_window import MembersByTime
from es_simhash.search.hamming import distances_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from es_simhash.groups.near_pairs import Pairs
    from es_simhash.groups.time_window import Times

    Links = tuple[NDArray[np.int64], NDArray[np.int64]]
    """Heads and originals, each of shape (n,).

    They are the position of the head of each document's group, and the position of its original or -1.
    """


Head = Literal["earliest", "latest", "kept"]
HEADS: tuple[Head, ...] = ("earliest", "latest", "kept")

_NO_ORIGINAL = np.iinfo(np.int64).max
PAIRS_A_REQUEST = 250
"""Pairs whose texts are requested together."""
_KINDS_IN_WINDOW = 1_000
"""Texts with which one is compared, before it is known which of them are in the window."""
_SHARE = 16
"""Pairs are collected until there are more than one for so many members. Then the groups that they link are united."""
PAIRS_A_CHUNK = 50_000
"""Pairs that are checked together for whether their texts are still needed."""


def check_head(head: object) -> None:
    """Check a rule for the head of a group.

    :raises InputError: if it is unknown.
    """
    if not isinstance(head, str) or head not in HEADS:
        raise InputError(f"head is {head!r}: use one of {', '.join(HEADS)}")


@dataclass(frozen=True)
class GroupInput:
    """The documents to group, in write order: each array has one value a document.

    :param fingerprints: shape (n,) for 64 bits, (n, 2) for 128, as ``encoding.to_array`` returns them. Any value for a
        text that is too short for a fingerprint.
    :param fingerprinted: whether the text has a fingerprint, shape (n,).
    :param texts: the position of the first document with the same normalised text, shape (n,); -1 for an empty text,
        which is nobody's duplicate.
    :param names: a number for the id, shape (n,).
    :param groups: the number of the id of the current head, shape (n,).
    :param times: the times of the documents, if they count.
    """

    fingerprints: NDArray[np.uint64]
    fingerprinted: NDArray[np.bool_]
    texts: NDArray[np.int64]
    names: NDArray[np.int64]
    groups: NDArray[np.int64]
    times: Times | None = None

    def __len__(self) -> int:
        return len(self.texts)


def links(documents: GroupInput, max_distance: int, head: str) -> tuple[Links, int]:
    """Return the heads and originals of all documents, by fingerprints and digests alone.

    The second value is about how many pairs were not compared, because very many fingerprints are near each other.

    :param max_distance: in bits; below 0 only exact duplicates belong together.
    :param head: one of :data:`HEADS`.
    """
    times = documents.times
    if times is None:
        positions = np.flatnonzero(documents.fingerprinted)
        values = documents.fingerprints
        values = values if len(positions) == len(values) else values[positions]
    else:
        values, kinds = _kinds_of_fingerprints(documents)
        members = MembersByTime(kinds, times)
    # The best original so far, as one number whose order is the order of preference: the position of an exact
    # duplicate; or distance + 1 in the bits from 48 on, and the position in the bits below.
    best = np.full(len(documents), _NO_ORIGINAL, dtype=np.int64)
    words = columns(values)
    near = NearPairs(values, max_distance)

    def linked() -> Iterator[Pairs]:
        for some in near.connecting():
            if times is None:
                some = some[some[:, 0] != some[:, 1]]
                found = iter([(np.sort(positions[some], axis=1), np.arange(len(some)))])
            else:
                found = members.pairs(some)
            distances = distances_at(words, some[:, 0], some[:, 1]).astype(np.int64)
            for pairs, index in found:
                np.minimum.at(best, pairs[:, 1], (distances[index] + 1) << 48 | pairs[:, 0])
                yield pairs
        copies = _copies(documents)
        np.minimum.at(best, copies[:, 1], copies[:, 0])
        yield copies

    lowest = unite(len(documents), linked())
    originals = np.where(best == _NO_ORIGINAL, -1, best & ((1 << 48) - 1))
    return (_heads(lowest, documents, head), originals), near.left_out


def _kinds_of_fingerprints(documents: GroupInput) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the different fingerprints, and for each document the index of its own; -1 if it has none."""
    kinds = np.full(len(documents), -1, dtype=np.int64)
    values = documents.fingerprints[documents.fingerprinted]
    first, numbers = kinds_of(columns(values))
    order = np.argsort(first)  # number them in the order of their first documents
    kinds[documents.fingerprinted] = np.argsort(order)[numbers]
    return values[first[order]], kinds


def _copies(documents: GroupInput) -> Pairs:
    """Return the pairs of exact duplicates that their links need, the lower position first.

    Without times it is a pair for each of them: the position of the first document with its text, and its own.
    """
    texts = documents.texts
    if documents.times is None:
        later = np.flatnonzero((texts >= 0) & (texts != np.arange(len(texts))))
        return np.stack([texts[later], later], axis=1)
    members = MembersByTime(texts, documents.times)
    itself = np.stack([np.arange(len(members.sizes))] * 2, axis=1)
    found = [pairs for pairs, _ in members.pairs(itself)]
    return np.unique(np.concatenate([np.empty((0, 2), dtype=np.int64), *found]), axis=0)


def _near_in_window(
    documents: GroupInput, times: Times, max_distance: int, most: int
) -> tuple[Pairs, NDArray[np.int64], int]:
    """Return the pairs of documents with different digests that confirmed links need, and their distances.

    The third value is about how many pairs are left out, because each document is paired with ``most`` earlier ones.
    """
    kinds = documents.texts
    compared = np.flatnonzero((kinds == np.arange(len(kinds))) & documents.fingerprinted)
    near_kinds = NearPairs(documents.fingerprints[compared], max_distance)
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
    :param pairs_a_request: pairs whose texts are needed at once.
    :param pairs_a_chunk: pairs that are checked together for whether their texts are still needed.
    """

    def __init__(
        self,
        documents: GroupInput,
        max_distance: int,
        near: tuple[Pairs, NDArray[np.int64]] | None = None,
        most: int = 20,
        *,
        pairs_a_request: int = PAIRS_A_REQUEST,
        pairs_a_chunk: int = PAIRS_A_CHUNK,
    ) -> None:
        self._a_request, self._a_chunk = pairs_a_request, pairs_a_chunk
        self.left_out = 0
        """About how many pairs within ``max_distance`` are not compared, because so many documents are near."""
        self._documents = documents
        times = documents.times
        copies = _copies(documents)
        # A lower member in the group of each document; of the lowest one, itself. Following it leads to the lowest one.
        self._lower = unite(len(documents), iter([copies]))
        self._originals = np.full(len(documents), -1, dtype=np.int64)
        # From the highest original to the lowest: numpy assigns in order, and the last assignment stays.
        self._originals[copies[::-1, 1]] = copies[::-1, 0]
        # Exact duplicates have the same text. So only the first of them is compared with other documents, unless times
        # tell them apart.
        if near is not None:
            pairs, distances = near
            if times is None:
                first = (self._originals[pairs] < 0).all(axis=1)
                pairs, distances = pairs[first], distances[first]
        elif times is None:
            positions = np.flatnonzero(documents.fingerprinted & (self._originals < 0))
            every = NearPairs(documents.fingerprints[positions], max_distance)
            pairs, distances = every.every(most)
            pairs, self.left_out = positions[pairs], every.left_out
        else:
            pairs, distances, self.left_out = _near_in_window(documents, times, max_distance, most)
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
        lower, originals = self._lower, self._originals
        for earlier, later in self._requested.tolist():
            [one], [other] = self._lowest([earlier]), self._lowest([later])
            if (one != other or originals[later] < 0) and agree(earlier, later):
                lower[max(one, other)] = min(one, other)
                if originals[later] < 0:
                    originals[later] = earlier
        self._requested = self._requested[:0]

    def result(self, head: str) -> Links:
        """Return the heads and originals, once :meth:`needed` has returned None.

        :param head: one of :data:`HEADS`.
        """
        return _heads(_followed(self._lower), self._documents, head), self._originals

    def _lowest(self, positions: NDArray[np.int64] | list[int]) -> NDArray[np.int64]:
        """Return the lowest member in the group of each of these documents."""
        lowest: NDArray[np.int64] = self._lower[positions]
        while not np.array_equal(lowest, lower := self._lower[lowest]):
            lowest = lower
        self._lower[positions] = lowest
        return lowest

    def _next_pairs(self) -> Pairs:
        """Return the next pairs whose texts can change a link; an empty array at the end."""
        while len(self._chunk) or self._start < len(self._pairs):
            if not len(self._chunk):
                self._chunk = self._pairs[self._start : self._start + self._a_chunk]
                self._start += self._a_chunk
            earlier, later = self._chunk.T
            open_pairs = self._chunk[(self._lowest(earlier) != self._lowest(later)) | (self._originals[later] < 0)]
            requested: Pairs = open_pairs[: self._a_request]
            self._chunk = open_pairs[self._a_request :]
            if len(requested):
                return requested
        return self._chunk


def _heads(lowest: NDArray[np.int64], documents: GroupInput, head: str) -> NDArray[np.int64]:
    """Return the position of the head of each document's group, by the rule ``head``.

    :param lowest: the lowest position in the group of each document.
    """
    if head == "earliest":
        return lowest
    order = np.arange(len(lowest))
    if head == "kept":
        order = np.lexsort((order, -_votes(lowest, documents)))[::-1]
    # numpy assigns in order, and the last assignment to an element stays. So the preferred head comes last.
    head_of = np.arange(len(lowest))
    head_of[lowest[order]] = order
    heads: NDArray[np.int64] = head_of[lowest]
    return heads


def _votes(lowest: NDArray[np.int64], documents: GroupInput) -> NDArray[np.int64]:
    """Return for each document how many members of its group have it as their head."""
    by_name = np.argsort(documents.names)
    names = documents.names[by_name]
    index = np.minimum(np.searchsorted(names, documents.groups), max(0, len(names) - 1))
    named = by_name[index]
    held = (names[index] == documents.groups) & (lowest[named] == lowest)
    return np.bincount(named[held], minlength=len(lowest))


def unite(count: int, pairs: Iterator[Pairs]) -> NDArray[np.int64]:
    """Unite the groups that the pairs link.

    :param count: the number of members.
    :param pairs: arrays of shape (n, 2).
    :returns: for each member the lowest index in its group, shape (count,).
    """
    lowest = np.arange(count)
    waiting: list[Pairs] = []
    size = 0
    for batch in pairs:
        waiting.append(batch[lowest[batch[:, 0]] != lowest[batch[:, 1]]])
        size += len(waiting[-1])
        if size > count // _SHARE:  # to unite groups costs a pass over all members
            lowest = _united(lowest, np.concatenate(waiting))
            waiting, size = [], 0
    return _united(lowest, np.concatenate(waiting)) if size else lowest


def _united(lowest: NDArray[np.int64], linked: Pairs) -> NDArray[np.int64]:
    while len(linked):
        # Of two linked groups, the larger lowest member points to the smaller one. Then all follow their pointers.
        ends = np.sort(lowest[linked], axis=1)
        np.minimum.at(lowest, ends[:, 1], ends[:, 0])
        lowest = _followed(lowest)
        linked = linked[lowest[linked[:, 0]] != lowest[linked[:, 1]]]
    return lowest


def _followed(lower: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each member the lowest one, to which the pointers to lower ones lead."""
    while not np.array_equal(lower, further := lower[lower]):
        lower = further
    return lower
