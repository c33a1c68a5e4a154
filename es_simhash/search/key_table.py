"""Keys of very many texts in memory, as sorted numbers: which texts may share enough keys with some others?

Most texts share enough keys with none. This table tells which, for a whole batch at once and in little time. It may say
yes for a few texts too many, never for one too few.

A query without lengths looks for bands, one with lengths for q-grams. For bands one common key is enough, so a text is
found if another one has one of its bands. Q-grams are counted. Only the rarest of them are looked up
(:meth:`es_simhash.search.keys.KeyQuery.rarest`). Keys of numbers stand among the bands. If a query asks for some and no
text has them, its other keys are not looked up.

An entry is one number of 64 bits: for a band 37 bits of the key's hash, for a q-gram 30 bits and the length of the
text, and then the position of the text. So the texts of some lengths with a key are one run of the sorted numbers. New
entries become a level; levels of similar size are merged, as in :mod:`es_simhash.search.near_index`.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from es_simhash.search import qgrams
from es_simhash.search.encoding import key_numbers
from es_simhash.search.near_index import PART
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.search.keys import KeyQuery

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]

_POSITION_BITS = np.uint64(27)
_LONGEST = (1 << 7) - 1
"""The greatest length that an entry tells from others. No text with q-grams is so long."""
_POSITION = np.uint64((1 << 27) - 1)
_GRAM = ~np.uint64((1 << 34) - 1)
MOST = 1 << 27
"""The largest number of texts."""
_BYTES = 1_024
"""What the keys of a text take, twice that in a merge included."""
_IF_UNKNOWN = 1_500_000
AT_ONCE = 1_000_000
"""Entries of q-grams that are compared at once, so that memory does not grow with them."""
CROWDED = 10_000
"""Entries of the q-grams of one query. If there are more, they are not counted: all their texts may fulfil it."""
_MERGE = 4
"""A level is merged with the one before it, until that one has at least so many times its entries."""


def most_texts_held(free: float | None) -> int:
    """Return how many texts a table may have.

    :param free: bytes of memory; None if it is not known.
    """
    return min(MOST, _IF_UNKNOWN if free is None else int(free) // PART // _BYTES)


class _Asked(NamedTuple):
    """Keys that are looked up, in arrays of one length.

    :param first: the smallest number that an entry of the key can have.
    :param end: the first number behind those.
    :param query: the index of the query that the key belongs to.
    """

    first: Words
    end: Words
    query: Integers

    def chosen(self, which: NDArray[Any]) -> _Asked:
        """Return some of them."""
        return _Asked(self.first[which], self.end[which], self.query[which])

    def distinct(self) -> _Asked:
        """Return each range of entries once."""
        order = np.lexsort((self.end, self.first))
        first, end = self.first[order], self.end[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (first[1:] != first[:-1]) | (end[1:] != end[:-1])
        return self.chosen(order[new])


class KeyTable:
    """Keys of texts in memory. Texts are added at the end, and have positions in this order.

    :param at_once: entries of q-grams that are compared at once.
    :param crowded: entries of the q-grams of one query. If there are more, they are not counted.
    """

    def __init__(self, at_once: int = AT_ONCE, crowded: int = CROWDED) -> None:
        self._at_once = at_once
        self._crowded = crowded
        # Replaced at once, so that another thread sees whole levels.
        self._bands: tuple[Words, ...] = ()
        self._grams: tuple[Words, ...] = ()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def entries(self) -> int:
        """The number of keys of all texts. Each takes 8 bytes, and twice that in a merge."""
        return sum(map(len, (*self._bands, *self._grams)))

    def add(self, keys: Sequence[Sequence[str]], lengths: Sequence[int | None]) -> None:
        """Add texts.

        :param keys: of each text.
        :param lengths: of each text, in word characters; None for a text without keys.
        """
        numbers, of_text, grams = _flat(keys)
        positions = (of_text + self._count).astype(np.uint64)
        self._count += len(keys)
        sizes = np.array([length or 0 for length in lengths], dtype=np.int64).clip(0, _LONGEST).astype(np.uint64)
        bands = _band_numbers(numbers[~grams]) | positions[~grams]
        grams_of = _gram_numbers(numbers[grams], sizes[of_text[grams]]) | positions[grams]
        self._bands, self._grams = _with_more(self._bands, bands), _with_more(self._grams, grams_of)

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
        found = self._having(_bands_of(queries), len(queries), least)
        grams = _Grams.of(queries, self._grams)
        found[grams.asker[grams.sizes > self._crowded]] = True
        for some, positions in grams.fulfilled(grams.sizes <= self._crowded, self._at_once):
            askers = grams.asker[some]
            found[askers if own is None else askers[positions != own[askers]]] = True
        return found

    def sharing(self, queries: Sequence[Sequence[KeyQuery]], own: int, most: int) -> list[list[int] | None]:
        """Return for each asker the positions of the other texts that may fulfil one of its queries, ascending.

        :param queries: of each asker. Its text is here, too.
        :param own: the position of the first asker's text. Those of the others follow it.
        :param most: an asker with more texts than this gets None. So does one whose keys very many texts have.
        """
        queries = self._with_numbers(queries, 2)
        bands, grams = _bands_of(queries), _Grams.of(queries, self._grams)
        runs = [_runs(level, bands) for level in self._bands]
        sizes = sum((counts for _, counts in runs), np.zeros(len(bands.query), dtype=np.int64))
        too_many = np.bincount(bands.query, sizes, len(queries)) > self._crowded
        too_many[grams.asker[grams.sizes > self._crowded]] = True
        found = [np.zeros((2, 0), dtype=np.int64)]
        kept = ~too_many[bands.query]
        for level, (starts, counts) in zip(self._bands, runs, strict=True):
            positions = _positions(level[run_positions(starts[kept], counts[kept])])
            found.append(np.stack([np.repeat(bands.query[kept], counts[kept]), positions]))
        for some, positions in grams.fulfilled(~too_many[grams.asker], self._at_once):
            found.append(np.stack([grams.asker[some], positions]))
        askers, positions = np.concatenate(found, axis=1)
        others = positions != askers + own
        pairs = np.unique(askers[others] * self._count + positions[others])
        askers, positions = np.divmod(pairs, max(1, self._count))
        ends = np.cumsum(np.bincount(askers, minlength=len(queries))).tolist()
        every = positions.tolist()
        return [
            None if crowded or end - start > most else every[start:end]
            for crowded, (start, end) in zip(too_many.tolist(), pairwise([0, *ends]), strict=True)
        ]

    def _with_numbers(self, queries: Sequence[Sequence[KeyQuery]], least: int) -> list[Sequence[KeyQuery]]:
        """Return the queries of each asker; none if fewer texts than ``least`` have the numbers that it asks for."""
        found = self._having(_numbers_of(queries), len(queries), least)
        return [some if found[asker] or not _asks_for_numbers(some) else () for asker, some in enumerate(queries)]

    def _having(self, bands: _Asked, askers: int, least: int) -> NDArray[np.bool_]:
        """Return for each asker whether one of its bands has ``least`` entries, shape (askers,)."""
        counts = sum((_runs(level, bands)[1] for level in self._bands), np.zeros(len(bands.query), dtype=np.int64))
        having = np.zeros(askers, dtype=np.bool_)
        having[bands.query[counts >= least]] = True
        return having

    def sharing_any(self, queries: Sequence[Sequence[KeyQuery]]) -> Integers:
        """Return the positions of the texts that may fulfil a query of one of the askers, ascending."""
        with_numbers = [some for some in queries if _asks_for_numbers(some)]
        found = self._sharing([some for some in queries if not _asks_for_numbers(some)])
        has_numbers = np.zeros(self._count, dtype=np.bool_)
        self._mark(has_numbers, _numbers_of(with_numbers))
        if has_numbers.any():
            found |= has_numbers & self._sharing(with_numbers)
        return np.flatnonzero(found)

    def _mark(self, found: NDArray[np.bool_], bands: _Asked) -> None:
        """Set what is found to True for the texts with one of these bands."""
        bands = bands.distinct()
        for level in self._bands:
            found[_positions(level[run_positions(*_runs(level, bands))])] = True

    def _sharing(self, queries: Sequence[Sequence[KeyQuery]]) -> NDArray[np.bool_]:
        """Return for each text whether it may fulfil a query of one of the askers, whatever its numbers."""
        found = np.zeros(self._count, dtype=np.bool_)
        self._mark(found, _bands_of(queries))
        grams = _Grams.of(queries, self._grams)
        crowded = grams.asked.chosen(grams.sizes[grams.asked.query] > self._crowded).distinct()
        for level in self._grams:
            found[_positions(level[run_positions(*_runs(level, crowded))])] = True
        for _, positions in grams.fulfilled(grams.sizes <= self._crowded, self._at_once):
            found[positions] = True
        return found


class _Grams(NamedTuple):
    """The q-grams of n queries that are looked up: the rarest of each.

    :param asked: the q-grams; the queries in their order.
    :param levels: of the table.
    :param runs: for each level where the entries of each q-gram start, and how many there are.
    :param sizes: how many entries the q-grams of each query have, shape (n,).
    :param asker: of each query, shape (n,).
    :param needed: how many of the q-grams a text must have, shape (n,).
    """

    asked: _Asked
    levels: tuple[Words, ...]
    runs: list[tuple[Integers, Integers]]
    sizes: Integers
    asker: Integers
    needed: Integers

    @classmethod
    def of(cls, queries: Sequence[Sequence[KeyQuery]], levels: tuple[Words, ...]) -> _Grams:
        every = [(asker, query) for asker, some in enumerate(queries) for query in some if query.lengths is not None]
        every = [(asker, query) for asker, query in every if len(query.keys) >= max(1, query.minimum)]
        numbers, of_query, _ = _flat([query.keys for _, query in every])
        ranges = np.array([query.lengths for _, query in every], dtype=np.int64).reshape(-1, 2).clip(0, _LONGEST)
        shortest, longest = ranges.astype(np.uint64).T
        end = _gram_numbers(numbers, longest[of_query]) + _POSITION + np.uint64(1)
        asked = _Asked(_gram_numbers(numbers, shortest[of_query]), end, of_query)
        runs = [_runs(level, asked) for level in levels]
        counts = sum((counts for _, counts in runs), np.zeros(len(numbers), dtype=np.int64))
        looked_up, needed = np.array([query.rarest() for _, query in every], dtype=np.int64).reshape(-1, 2).T
        ranked = np.lexsort((counts, of_query))
        rank = np.arange(len(ranked)) - np.searchsorted(of_query, of_query)
        kept = ranked[rank < looked_up[of_query]]
        sizes = np.bincount(of_query[kept], counts[kept], len(every)).astype(np.int64)
        asker = np.array([asker for asker, _ in every], dtype=np.int64)
        runs = [(starts[kept], counts[kept]) for starts, counts in runs]
        return cls(asked.chosen(kept), levels, runs, sizes, asker, needed)

    def fulfilled(self, queries: NDArray[np.bool_], at_once: int) -> Iterator[tuple[Integers, Integers]]:
        """Yield pairs of a query and the position of a text that may fulfil it, as two arrays of one length.

        :param queries: which of them, shape (n,).
        :param at_once: entries that are compared at once.
        """
        sizes = np.where(queries, self.sizes, 0)
        for first, end in _pieces(sizes, at_once):
            some = np.arange(*np.searchsorted(self.asked.query, [first, end]))
            some = some[queries[self.asked.query[some]]]
            found = [np.zeros(0, dtype=np.uint64)]
            for level, (starts, counts) in zip(self.levels, self.runs, strict=True):
                query = np.repeat(self.asked.query[some].astype(np.uint64) << _POSITION_BITS, counts[some])
                found.append(query | level[run_positions(starts[some], counts[some])] & _POSITION)
            pairs, shared = np.unique(np.concatenate(found), return_counts=True)
            query = (pairs >> _POSITION_BITS).astype(np.int64)
            enough = shared >= self.needed[query]
            yield query[enough], _positions(pairs[enough])


def _positions(entries: Words) -> Integers:
    return (entries & _POSITION).astype(np.int64)


def _pieces(sizes: Integers, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of runs of queries with about ``most`` entries together."""
    first = total = 0
    for number, size in enumerate(sizes.tolist()):
        if total and total + size > most:
            yield first, number
            first, total = number, 0
        total += size
    yield first, len(sizes)


def _runs(level: Words, asked: _Asked) -> tuple[Integers, Integers]:
    """Return where the run of each key starts in a level, and how many entries it has."""
    order = np.argsort(asked.first)  # to look numbers up in their order is several times as fast
    starts, ends = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    starts[order] = np.searchsorted(level, asked.first[order])
    ends[order] = np.searchsorted(level, asked.end[order])
    return starts, ends - starts


def _with_more(levels: tuple[Words, ...], entries: Words) -> tuple[Words, ...]:
    if not len(entries):
        return levels
    smaller = len(levels)
    while smaller and len(levels[smaller - 1]) < _MERGE * len(entries):
        smaller -= 1
        entries = np.concatenate([levels[smaller], entries])
    return (*levels[:smaller], np.sort(entries, kind="stable"))


def _band_numbers(numbers: Words) -> Words:
    """Return the smallest entry of each band."""
    return numbers & ~_POSITION


def _gram_numbers(numbers: Words, lengths: Words) -> Words:
    """Return the smallest entry of each q-gram of a text with a length."""
    return numbers & _GRAM | lengths << _POSITION_BITS


def _flat(keys: Sequence[Sequence[str]]) -> tuple[Words, Integers, NDArray[np.bool_]]:
    """Return the number of each key, the index of its text, and whether it is a q-gram."""
    every = list(chain.from_iterable(keys))
    of_text = np.repeat(np.arange(len(keys)), [len(some) for some in keys])
    return key_numbers(every), of_text, np.array([key[:1] == qgrams.KIND for key in every], dtype=np.bool_)


def _bands_of(queries: Sequence[Sequence[KeyQuery]]) -> _Asked:
    """Return the keys of the queries that one common key fulfils. In place of its query, each has the asker."""
    return _asked([[key for query in some if query.lengths is None for key in query.keys] for some in queries])


def _numbers_of(queries: Sequence[Sequence[KeyQuery]]) -> _Asked:
    """Return the keys of numbers that the queries ask for. In place of its query, each has the asker."""
    return _asked([some[0].numbers if some else () for some in queries])


def _asks_for_numbers(queries: Sequence[KeyQuery]) -> bool:
    """Return whether an asker asks for numbers: all of its queries do, or none."""
    return bool(queries and queries[0].numbers)


def _asked(keys: Sequence[Sequence[str]]) -> _Asked:
    numbers, askers, _ = _flat(keys)
    first = _band_numbers(numbers)
    return _Asked(first, first + _POSITION + np.uint64(1), askers)
