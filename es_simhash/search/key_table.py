"""The keys of very many texts, in :mod:`levels <es_simhash.search.key_levels>`: which may share enough with others?

Most texts share enough keys with none. The table tells which, for a whole batch at once and in little time. It may name
a few texts too many, never one too few.

Where one common key is enough, a text is found if it has one of the keys. Q-grams are counted, and only the rarest of
them are looked up (:meth:`es_simhash.search.keys.KeyQuery.rarest`). If a query asks for numbers that no text has, its
other keys are not looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash.search.key_levels import (
    LONGEST,
    MOST,
    POSITION,
    POSITION_BITS,
    SHIFT,
    Array,
    entries_of,
    flat,
    positions_of,
    smallest_entries,
)
from es_simhash.search.keys import ROUNDED_TO, rarity
from es_simhash.search.levels import levels_kept
from es_simhash.search.near_index import PART

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.search.key_levels import Level
    from es_simhash.search.keys import KeyQuery

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]

_BYTES = 1_024
"""What the keys of a text take, twice that in a merge included."""
_OF_ENTRY = 16
"""What an entry takes, the same included."""
_IF_UNKNOWN = 1_500_000
AT_ONCE = 1_000_000
"""Entries of q-grams that are compared at once, so that memory does not grow with them."""
CROWDED = 10_000
"""Entries of the q-grams of one query. If there are more, they are not counted: all their texts may fulfil it."""
READ_IF_ONE_IS_ENOUGH = 500
"""Entries of one key that are read to rank texts, if one common key is enough. A template may have many more."""
READ = 20_000
"""Entries of one key that are read to rank texts, if several common keys are needed."""
_DENSE = 8
"""Texts are counted in an array that has a place for each position, unless it would have more than so many places for
each entry. Then to sort the entries takes less time."""


def most_texts_held(free: float | None) -> int:
    """Return how many texts a table in memory may have.

    :param free: bytes of memory; None if it is not known.
    """
    return min(MOST, _IF_UNKNOWN if free is None else int(free) // PART // _BYTES)


def most_entries_held(free: float | None) -> int:
    """Return how many entries may be held in memory.

    :param free: bytes of memory; None if it is not known.
    """
    return most_texts_held(free) * _BYTES // _OF_ENTRY


class _Asked(NamedTuple):
    """Keys that are looked up, in arrays of one length.

    :param lowest: the smallest number that an entry of the key can have.
    :param highest: the largest one.
    :param query: the index of the query that the key belongs to.
    """

    lowest: Words
    highest: Words
    query: Integers

    def chosen(self, which: NDArray[Any]) -> _Asked:
        """Return some of them."""
        return _Asked(self.lowest[which], self.highest[which], self.query[which])

    def in_order(self) -> _Asked:
        """Return them sorted by their entries."""
        return self.chosen(np.argsort(self.lowest))

    def sizes(self, levels: Sequence[Level]) -> Integers:
        """Return about how many entries each has in some levels. 0 and the small numbers are exact."""
        order = np.argsort(self.lowest)
        lowest, highest = self.lowest[order], self.highest[order]
        sizes = np.zeros(len(order), dtype=np.int64)
        for level in levels:
            sizes[order] += level.sizes(lowest, highest)
        return sizes

    def distinct(self) -> _Asked:
        """Return each range of entries once, sorted."""
        order = np.lexsort((self.highest, self.lowest))
        lowest, highest = self.lowest[order], self.highest[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (lowest[1:] != lowest[:-1]) | (highest[1:] != highest[:-1])
        return self.chosen(order[new])


@dataclass(frozen=True)
class Ranked:
    """The texts that may fulfil a query, with their scores.

    :param positions: shape (n,), ascending.
    :param scores: shape (n,): the sum of the rarities of the keys that they share.
    :param was_cut: a key has more entries, which were not read.
    """

    positions: Integers
    scores: NDArray[np.float64]
    was_cut: bool


class KeyTable:
    """Keys of texts. Texts are added at the end, and have positions in this order.

    :param levels: that there are already, the largest first, and ``count`` texts in them.
    :param at_once: entries of q-grams that are compared at once.
    :param crowded: entries of the q-grams of one query. If there are more, they are not counted.
    """

    def __init__(
        self, levels: Sequence[Level] = (), count: int = 0, *, at_once: int = AT_ONCE, crowded: int = CROWDED
    ) -> None:
        self._at_once = at_once
        self._crowded = crowded
        self._levels = tuple(levels)  # replaced at once, so that another thread sees whole levels
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def entries(self) -> int:
        """The number of keys of all texts. Each takes 8 bytes, and twice that in a merge."""
        return sum(map(len, self._levels))

    def add(self, keys: Sequence[Sequence[int]], lengths: Sequence[int | None]) -> None:
        """Add texts, to levels in memory.

        :param keys: of each text.
        :param lengths: of each text, in word characters; None for a text without keys.
        """
        entries = entries_of(keys, lengths, np.arange(self._count, self._count + len(keys)))
        self._count += len(keys)
        if not len(entries):
            return
        kept = levels_kept([len(level) for level in self._levels], len(entries))
        values = [level.values for level in self._levels[kept:] if isinstance(level, Array)]
        self._levels = (*self._levels[:kept], Array(np.sort(np.concatenate([*values, entries]), kind="stable")))

    def may_share(self, queries: Sequence[Sequence[KeyQuery]], own: int | None = None) -> NDArray[np.bool_]:
        """Return for each of n askers whether another text may fulfil one of its queries, shape (n,).

        :param queries: of each asker.
        :param own: the position of the first asker's text, if the texts of the askers are here, one after the other.
            Its own text does not count.
        """
        same: dict[tuple[KeyQuery, ...], list[int]] = {}
        for asker, some in enumerate(queries):
            same.setdefault(tuple(some), []).append(asker)
        if len(same) < len(queries) and own is not None:
            # Exact copies find each other.
            found = np.zeros(len(queries), dtype=np.bool_)
            for some, askers in same.items():
                found[askers] = bool(some) and len(askers) > 1
            single = [askers[0] for askers in same.values() if len(askers) == 1]
            found[single] = self._may_share([queries[asker] for asker in single], np.array(single) + own)
            return found
        return self._may_share(queries, None if own is None else np.arange(len(queries)) + own)

    def _may_share(self, queries: Sequence[Sequence[KeyQuery]], own: Integers | None) -> NDArray[np.bool_]:
        """:meth:`may_share`, with the position of the text of each asker."""
        least = 1 if own is None else 2
        queries = self._with_numbers(queries, least)
        found = self._having(_single_of(queries), len(queries), least)
        counted = _Counted.of(queries, self._levels)
        found[counted.asker[counted.sizes > self._crowded]] = True
        for some, positions in counted.fulfilled(counted.sizes <= self._crowded, self._at_once):
            askers = counted.asker[some]
            found[askers if own is None else askers[positions != own[askers]]] = True
        return found

    def sharing(
        self, queries: Sequence[Sequence[KeyQuery]], most: int, own: int | None = None
    ) -> list[list[int] | None]:
        """Return for each asker the positions of the texts that may fulfil one of its queries, ascending.

        :param queries: of each asker.
        :param most: an asker with more texts than this gets None. So does one whose keys very many texts have.
        :param own: the position of the first asker's text, if the texts of the askers are here, one after the other.
            Its own text is not returned.
        """
        queries = self._with_numbers(queries, 1 if own is None else 2)
        single, counted = _single_of(queries), _Counted.of(queries, self._levels)
        sizes = single.sizes(self._levels)
        # A text has at most one entry of each key. So with more entries than this there are more texts than ``most``.
        others = most if own is None else most + 1
        enough = np.minimum(self._crowded, others * np.bincount(single.query, minlength=len(queries)))
        too_many = np.bincount(single.query, sizes, len(queries)) > enough
        too_many[counted.asker[counted.sizes > self._crowded]] = True
        found = [np.zeros((2, 0), dtype=np.int64)]
        kept = single.chosen(~too_many[single.query] & (sizes > 0)).in_order()
        for level in self._levels:
            values, counts = level.entries(kept.lowest, kept.highest)
            found.append(np.stack([np.repeat(kept.query, counts), positions_of(values)]))
        for some, positions in counted.fulfilled(~too_many[counted.asker], self._at_once):
            found.append(np.stack([counted.asker[some], positions]))
        askers, positions = np.concatenate(found, axis=1)
        pairs = np.unique(askers << POSITION_BITS | positions)
        # Where few texts have the numbers that are asked for, no others count, and these need not share other keys.
        has_few, with_few = self._with_few_numbers(queries)
        pairs = pairs[~has_few[pairs >> POSITION_BITS] | np.isin(pairs, with_few)]
        instead = too_many & has_few
        if instead.any():
            pairs = np.union1d(pairs, with_few[instead[with_few >> POSITION_BITS]])
        too_many &= ~has_few
        if own is not None:
            pairs = pairs[pairs & (MOST - 1) != (pairs >> POSITION_BITS) + own]
        askers, positions = pairs >> POSITION_BITS, pairs & (MOST - 1)
        ends = np.cumsum(np.bincount(askers, minlength=len(queries))).tolist()
        every = positions.tolist()
        return [
            None if crowded or end - start > most else every[start:end]
            for crowded, (start, end) in zip(too_many.tolist(), pairwise([0, *ends]), strict=True)
        ]

    def ranked(self, query: KeyQuery, total: int, *, last: bool = False) -> Ranked:
        """Return the texts that may fulfil a query, with their scores. All of its keys are looked up.

        :param total: texts with keys.
        :param last: of very many texts that have a key, take the last ones in the order of the entries, not the first:
            of a band those that were added last, of a q-gram the longest.
        """
        asked = _asked([query.keys], [query]).in_order()
        most = READ_IF_ONE_IS_ENOUGH if query.minimum <= 1 else READ
        sizes = asked.sizes(self._levels)
        found = [np.zeros((2, 0), dtype=np.int64)]
        was_cut = False
        for level in self._levels:  # each has a limit of its own, because all texts of one level may be gone
            values, counts = level.entries(asked.lowest, asked.highest, most, last=last)
            was_cut |= bool((counts == most).any())
            found.append(np.stack([np.repeat(np.arange(len(counts)), counts), positions_of(values)]))
        of_key, positions = np.concatenate(found, axis=1)
        if not len(positions):
            return Ranked(positions, np.zeros(0), was_cut)
        rarities = np.array([rarity(size, total) for size in sizes.tolist()])
        lowest, highest = int(positions.min()), int(positions.max())
        if highest - lowest < _DENSE * len(positions):
            texts, indices = np.arange(lowest, highest + 1), positions - lowest
        else:
            texts, indices = np.unique(positions, return_inverse=True)
        shared = np.bincount(indices, minlength=len(texts))
        scores = np.bincount(indices, rarities[of_key], len(texts)).round(ROUNDED_TO).astype(np.float64)
        fulfils = shared >= max(1, query.minimum)
        if query.numbers:
            fulfils &= np.isin(texts, self.with_numbers(query))
        return Ranked(texts[fulfils], scores[fulfils], was_cut)

    def with_numbers(self, query: KeyQuery) -> Integers:
        """Return the positions of the texts that have the numbers which a query asks for, ascending."""
        asked = _asked([query.numbers], [query]).in_order()
        every = [positions_of(level.entries(asked.lowest, asked.highest)[0]) for level in self._levels]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *every]))

    def _with_numbers(self, queries: Sequence[Sequence[KeyQuery]], least: int) -> list[Sequence[KeyQuery]]:
        """Return the queries of each asker; none if fewer texts than ``least`` have the numbers that it asks for."""
        found = self._having(_numbers_of(queries), len(queries), least)
        return [some if found[asker] or not _asks_for_numbers(some) else () for asker, some in enumerate(queries)]

    def _with_few_numbers(self, queries: Sequence[Sequence[KeyQuery]]) -> tuple[NDArray[np.bool_], Integers]:
        """Return which askers ask for numbers that few texts have, shape (n,), and these texts: the index of the asker
        above ``POSITION_BITS`` bits, the position below.
        """
        numbers = _numbers_of(queries)
        texts = np.bincount(numbers.query, numbers.sizes(self._levels), len(queries))
        asks = np.array([_asks_for_numbers(some) for some in queries], dtype=np.bool_)
        has_few = asks & (texts <= READ_IF_ONE_IS_ENOUGH)
        few = numbers.chosen(has_few[numbers.query]).in_order()
        pairs = [np.zeros(0, dtype=np.int64)]
        for level in self._levels:
            values, counts = level.entries(few.lowest, few.highest)
            pairs.append(np.repeat(few.query << POSITION_BITS, counts) | positions_of(values))
        return has_few, np.concatenate(pairs)

    def _having(self, asked: _Asked, askers: int, least: int) -> NDArray[np.bool_]:
        """Return for each asker whether one of its keys has ``least`` entries, shape (askers,)."""
        having = np.zeros(askers, dtype=np.bool_)
        having[asked.query[asked.sizes(self._levels) >= least]] = True
        return having

    def sharing_any(self, queries: Sequence[Sequence[KeyQuery]]) -> Integers:
        """Return the positions of the texts that may fulfil a query of one of the askers, ascending."""
        with_numbers = [some for some in queries if _asks_for_numbers(some)]
        others = [some for some in queries if not _asks_for_numbers(some)]
        found = self._sharing(others) if others else np.zeros(self._count, dtype=np.bool_)
        if with_numbers:
            has_numbers = np.zeros(self._count, dtype=np.bool_)
            self._mark(has_numbers, _numbers_of(with_numbers))
            if has_numbers.any():
                found |= has_numbers & self._sharing(with_numbers)
        return np.flatnonzero(found)

    def _mark(self, found: NDArray[np.bool_], asked: _Asked) -> None:
        """Set what is found to True for the texts with one of these keys."""
        asked = asked.distinct()
        for level in self._levels:
            found[positions_of(level.entries(asked.lowest, asked.highest)[0])] = True

    def _sharing(self, queries: Sequence[Sequence[KeyQuery]]) -> NDArray[np.bool_]:
        """Return for each text whether it may fulfil a query of one of the askers, whatever its numbers."""
        found = np.zeros(self._count, dtype=np.bool_)
        self._mark(found, _single_of(queries))
        if all(query.one_is_enough for query in chain.from_iterable(queries)):
            return found
        counted = _Counted.of(queries, self._levels)
        self._mark(found, counted.asked.chosen(counted.sizes[counted.asked.query] > self._crowded))
        for _, positions in counted.fulfilled(counted.sizes <= self._crowded, self._at_once):
            found[positions] = True
        return found


class _Counted(NamedTuple):
    """The keys of n queries for several common keys: the rarest of each.

    :param asked: the keys that are looked up; the queries in their order.
    :param levels: of the table.
    :param sizes: about how many entries the keys of each query have, shape (n,).
    :param asker: of each query, shape (n,).
    :param needed: how many of the keys a text must have, shape (n,).
    """

    asked: _Asked
    levels: Sequence[Level]
    sizes: Integers
    asker: Integers
    needed: Integers

    @classmethod
    def of(cls, queries: Sequence[Sequence[KeyQuery]], levels: Sequence[Level]) -> _Counted:
        every = [(asker, query) for asker, some in enumerate(queries) for query in some if not query.one_is_enough]
        every = [(asker, query) for asker, query in every if len(query.keys) >= query.minimum]
        asked = _asked([query.keys for _, query in every], [query for _, query in every])
        counts = asked.sizes(levels)
        looked_up, needed = np.array([query.rarest() for _, query in every], dtype=np.int64).reshape(-1, 2).T
        ranked = np.lexsort((counts, asked.query))
        rank = np.arange(len(ranked)) - np.searchsorted(asked.query, asked.query)
        kept = ranked[rank < looked_up[asked.query]]
        sizes = np.bincount(asked.query[kept], counts[kept], len(every)).astype(np.int64)
        kept = kept[counts[kept] > 0]
        return cls(asked.chosen(kept), levels, sizes, np.array([asker for asker, _ in every], dtype=np.int64), needed)

    def fulfilled(self, queries: NDArray[np.bool_], at_once: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield pairs of a query and the position of a text that may fulfil it, as two arrays of one length.

        :param queries: which of them, shape (n,).
        :param at_once: entries that are compared at once.
        """
        sizes = np.where(queries, self.sizes, 0)
        for first, end in _pieces(sizes, at_once):
            some = np.arange(*np.searchsorted(self.asked.query, [first, end]))
            asked = self.asked.chosen(some[queries[self.asked.query[some]]]).in_order()
            found = [np.zeros(0, dtype=np.uint64)]
            for level in self.levels:
                values, counts = level.entries(asked.lowest, asked.highest)
                query = np.repeat(asked.query.astype(np.uint64) << SHIFT, counts)
                found.append(query | values & POSITION)
            pairs, shared = np.unique(np.concatenate(found), return_counts=True)
            query = (pairs >> SHIFT).astype(np.int64)
            enough = shared >= self.needed[query]
            yield query[enough], positions_of(pairs[enough])


def _pieces(sizes: Integers, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of runs of queries with about ``most`` entries together."""
    first = total = 0
    for number, size in enumerate(sizes.tolist()):
        if total and total + size > most:
            yield first, number
            first, total = number, 0
        total += size
    yield first, len(sizes)


def _single_of(queries: Sequence[Sequence[KeyQuery]]) -> _Asked:
    """Return the keys of the queries that one common key fulfils. In place of its query, each has the asker."""
    every = [(asker, query) for asker, some in enumerate(queries) for query in some if query.one_is_enough]
    asked = _asked([query.keys for _, query in every], [query for _, query in every])
    return asked._replace(query=np.array([asker for asker, _ in every], dtype=np.int64)[asked.query])


def _numbers_of(queries: Sequence[Sequence[KeyQuery]]) -> _Asked:
    """Return the keys of numbers that the queries ask for. In place of its query, each has the asker."""
    numbers, askers = flat([some[0].numbers if some else () for some in queries])
    lowest = numbers << SHIFT
    return _Asked(lowest, lowest | POSITION, askers)


def _asks_for_numbers(queries: Sequence[KeyQuery]) -> bool:
    """Return whether an asker asks for numbers: all of its queries do, or none."""
    return bool(queries and queries[0].numbers)


def _asked(keys: Sequence[Sequence[int]], queries: Sequence[KeyQuery]) -> _Asked:
    """Return keys of queries as ranges of entries: those with the lengths of the query."""
    numbers, of_query = flat(keys)
    lengths = np.array([query.lengths or (0, LONGEST) for query in queries], dtype=np.int64).reshape(-1, 2)
    shortest, longest = lengths[of_query].T
    return _Asked(smallest_entries(numbers, shortest), smallest_entries(numbers, longest) | POSITION, of_query)
