"""The keys of texts in memory: which texts fulfil one of the queries of a document, and with which score?"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.text.keys import GRAM, HASH_BITS, ROUNDED_TO, rarities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_simhash.text.keys import KeyQuery

    Integers = NDArray[np.int64]

POSITION_BITS = 28
_POSITION_BITS = np.uint64(POSITION_BITS)
_POSITION = np.uint64((1 << POSITION_BITS) - 1)
_LENGTH = np.uint64(127)
"""The lowest bits of a q-gram in an entry: the length of its text. So a range of lengths is a range of entries."""
ENTRIES_OF_QUERY = 2_000
"""The rarest keys of a query are read as far as they have so many entries together."""


class Near(NamedTuple):
    """The texts that may be near some askers: pairs of an asker and a text, sorted by the asker, then by the text.

    :param askers: their numbers, from 0.
    :param positions: of the texts.
    :param scores: the larger one is the more likely copy; 0 if there is no such order.
    :param cut: the askers for which there may be others, because not all entries of a common key were read.
    """

    askers: NDArray[np.int64]
    positions: NDArray[np.int64]
    scores: NDArray[np.float64]
    cut: frozenset[int] = frozenset()

    @classmethod
    def of(cls, pairs: NDArray[np.int64], scores: NDArray[np.float64], cut: frozenset[int] = frozenset()) -> Near:
        """Return pairs that are one integer each: the asker above ``POSITION_BITS``, and the position."""
        return cls(pairs >> POSITION_BITS, pairs & ((1 << POSITION_BITS) - 1), scores, cut)


class Entries:
    """Entries in memory, each one integer: a key and the position of a text that has it.

    They are sorted, so the texts of a key are a range. They stand in levels, each at least twice as large as the one
    behind it, so adding a text costs little (a log-structured merge: O'Neil et al., "The log-structured merge-tree",
    1996).
    """

    def __init__(self) -> None:
        self._levels: list[NDArray[np.uint64]] = []

    def add(self, keys: NDArray[np.uint64], positions: NDArray[np.int64]) -> None:
        """Add entries."""
        if not len(keys):
            return
        entries = keys << _POSITION_BITS | positions.astype(np.uint64)
        while self._levels and len(self._levels[-1]) < 2 * len(entries):
            entries = np.concatenate([self._levels.pop(), entries])
        entries.sort()
        self._levels.append(entries)

    def ranges(self, lowest: NDArray[np.uint64], highest: NDArray[np.uint64]) -> list[tuple[Integers, Integers]]:
        """Return for each level where the entries of ranges of keys begin and end."""
        first, last = lowest << _POSITION_BITS, highest << _POSITION_BITS | _POSITION
        return [(np.searchsorted(level, first), np.searchsorted(level, last, "right")) for level in self._levels]

    def read(self, ranges: Sequence[tuple[Integers, Integers]], most: Integers) -> tuple[Integers, Integers]:
        """Return the number of the range, and the position, of each entry of some ranges.

        :param ranges: as :meth:`ranges` returns them.
        :param most: the most entries of each range that are read in a level.
        """
        numbers, positions = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for level, (start, end) in zip(self._levels, ranges, strict=True):
            read = np.minimum(end - start, most)
            stop = np.cumsum(read)
            at = np.arange(stop[-1] if len(stop) else 0) + np.repeat(start - (stop - read), read)
            numbers.append(np.repeat(np.arange(len(read)), read))
            positions.append((level[at] & _POSITION).astype(np.int64))
        return np.concatenate(numbers), np.concatenate(positions)

    def whole(self, keys: NDArray[np.uint64]) -> tuple[Integers, Integers]:
        """Return the number of the key, and the position, of all entries of some keys."""
        order = np.argsort(keys)  # neighbours are found faster
        ranges = self.ranges(keys[order], keys[order])
        numbers, positions = self.read(ranges, sizes_of(ranges, len(keys)))
        return order[numbers], positions

    def every(self) -> tuple[NDArray[np.uint64], Integers]:
        """Return the key and the position of every entry, the smallest position first."""
        entries = np.concatenate([np.zeros(0, np.uint64), *self._levels])
        positions = (entries & _POSITION).astype(np.int64)
        order = np.argsort(positions, kind="stable")
        return entries[order] >> _POSITION_BITS, positions[order]


def sizes_of(ranges: Sequence[tuple[Integers, Integers]], count: int) -> Integers:
    """Return the number of entries in each of ``count`` ranges."""
    return sum((end - start for start, end in ranges), np.zeros(count, dtype=np.int64))


class KeyIndex:
    """Texts at positions. 8 bytes for each key: 25 to 75 a text."""

    def __init__(self) -> None:
        self._entries = Entries()
        self._count = 0

    def add(self, positions: Sequence[int], keys: Sequence[Sequence[int]], lengths: Sequence[int | None]) -> None:
        """Add texts.

        :param positions: of the texts, each for the first time.
        :param keys: of each text, all different.
        :param lengths: word characters of each text.
        """
        counts = [len(keys_of_text) for keys_of_text in keys]
        values = np.fromiter(chain.from_iterable(keys), np.uint64, sum(counts))
        sizes = np.repeat(np.array([length or 0 for length in lengths], dtype=np.int64), counts)
        self._entries.add(with_length(values, sizes), np.repeat(np.array(positions, dtype=np.int64), counts))
        self._count += len(keys)

    def of_positions(self, positions: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the keys of the texts at some positions. All entries are read."""
        keys, owners = self._entries.every()
        keys = np.where(_are_grams(keys), keys & ~_LENGTH, keys)
        first = np.searchsorted(owners, positions)
        last = np.searchsorted(owners, positions, "right")
        return [tuple(keys[start:end].tolist()) for start, end in zip(first.tolist(), last.tolist(), strict=True)]

    def near(self, askers: Sequence[Sequence[KeyQuery]]) -> Near:
        """Return for each asker the texts that fulfil one of its queries.

        The score is the sum of the rarities of the shared keys that were read: the largest one over the queries. Of a
        query whose keys very many texts have, only the rarest keys are read. Then a text that fulfils none may be
        found.
        """
        queries = [(asker, query) for asker, theirs in enumerate(askers) for query in theirs]
        of_query, position, score, needed, cut = self._entries_shared([query for _, query in queries])
        entries = of_query << POSITION_BITS | position
        by_pair = np.argsort(entries, kind="stable")  # fast, as the entries of each key are in order
        entries = entries[by_pair]
        first = np.flatnonzero(np.diff(entries, prepend=-1))
        pairs, shared = entries[first], np.diff(first, append=len(entries))
        scores = np.add.reduceat(score[by_pair], first).round(ROUNDED_TO)
        fulfils = shared >= needed[pairs >> POSITION_BITS]
        pairs, scores = pairs[fulfils], scores[fulfils]
        asker_of = np.array([asker for asker, _ in queries], dtype=np.int64)
        query = pairs >> POSITION_BITS
        pairs += asker_of[query] - query << POSITION_BITS
        order = np.argsort(pairs, kind="stable")  # two queries of one asker may find one text
        pairs = pairs[order]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        scores = np.maximum.reduceat(scores[order], first)
        return Near.of(pairs[first], scores, frozenset(asker_of[cut].tolist()))

    def _entries_shared(
        self, queries: Sequence[KeyQuery]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the query, the position and the rarity of each entry that is read, what each query needs, and which
        queries have a key that is not read whole.
        """
        counts = [len(query.keys) for query in queries]
        values = np.fromiter(chain.from_iterable(query.keys for query in queries), np.uint64, sum(counts))
        of_query = np.repeat(np.arange(len(queries)), counts)
        lengths = np.array([query.lengths or (0, 127) for query in queries], dtype=np.int64).reshape(-1, 2)[of_query]
        lowest, highest = with_length(values, lengths[:, 0]), with_length(values, lengths[:, 1])
        order = np.argsort(lowest)
        of_query = of_query[order]
        ranges = self._entries.ranges(lowest[order], highest[order])
        sizes = sizes_of(ranges, len(values))
        most, needed = _plan(queries, of_query, sizes)
        numbers, positions = self._entries.read(ranges, most)
        scores = rarities(sizes, self._count)[numbers]
        cut = np.union1d(of_query[(most > 0) & (most < sizes)], np.flatnonzero(needed < 1))
        return of_query[numbers], positions, scores, needed.clip(1), cut


def _plan(
    queries: Sequence[KeyQuery], of_query: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many entries of each key are read, and how many of these keys a text must have, for each query.

    Common keys have most of the entries. A text that has T of n keys has p of any n - T + p of them (the prefix filter,
    :meth:`KeyQuery.rarest`), so the other keys are not read. If u of these are too common, it has p - u of the rest.

    :returns: what is needed may be less than 1: then texts are not found that have the common keys alone.
    """
    plans = np.array([query.rarest() for query in queries], dtype=np.int64).reshape(-1, 2)
    order = np.lexsort((sizes, of_query))
    first = np.searchsorted(of_query[order], np.arange(len(queries)))
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[order] = np.arange(len(sizes)) - first[of_query[order]]
    total = np.cumsum(sizes[order])
    before = np.concatenate([[0], total])[first]
    entries = np.empty(len(sizes), dtype=np.int64)
    entries[order] = total - before[of_query[order]]
    wanted = rank < plans[:, 0][of_query]
    is_read = wanted & ((entries <= ENTRIES_OF_QUERY) | (rank == 0))
    unread = np.bincount(of_query, wanted & ~is_read, len(queries)).astype(np.int64)
    most = np.where(is_read, np.minimum(sizes, ENTRIES_OF_QUERY), 0)
    return most, plans[:, 1] - unread


def with_length(keys: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return keys as they stand in an entry: that of a q-gram has the length of its text in its lowest bits."""
    return np.where(_are_grams(keys), keys & ~_LENGTH | lengths.clip(0, 127).astype(np.uint64), keys)


def _are_grams(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    are_grams: NDArray[np.bool_] = keys >> np.uint64(HASH_BITS) == np.uint64(GRAM)
    return are_grams
