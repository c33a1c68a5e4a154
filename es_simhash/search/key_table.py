"""Keys of very many texts in memory, as sorted numbers: which texts may share enough keys with some others?

Most texts share enough keys with none. This table tells which, for a whole batch at once and in little time. It may say
yes for a few texts too many, never for one too few.

For bands one common key is enough, so a text is found if another one has one of its bands. Q-grams are counted. A text
that has T of n q-grams has p of any n - T + p of them: at most T - p of the others are left. So only the rarest q-grams
are looked up, and p of them must be common (the prefix filter: Chaudhuri, Ganti and Kaushik, "A primitive operator for
similarity joins in data cleaning", ICDE 2006). Common q-grams have most of the entries, and they are not read.

An entry is one number of 64 bits: for a band 37 bits of the key's hash, for a q-gram 30 bits and the length of the
text, and then the position of the text. So the texts of some lengths with a key are one run of the sorted numbers. New
entries become a level; levels of similar size are merged, as in :mod:`es_simhash.search.near_index`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from es_simhash.search import qgrams
from es_simhash.search.encoding import key_numbers
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.search.keys import KeyQuery

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]

_POSITION_BITS = np.uint64(27)
_LENGTH_BITS = np.uint64(7)
_LONGEST = (1 << 7) - 1
"""The greatest length that an entry tells from others. No text with q-grams is so long."""
_POSITION = np.uint64((1 << 27) - 1)
MOST = 1 << 27
"""The largest number of texts."""
COMMON = 4
"""How many of the rarest q-grams must be common (p). More of them would need more entries, and exclude few texts."""
AT_ONCE = 1_000_000
"""Entries of q-grams that are compared at once, so that memory does not grow with them."""
CROWDED = 100_000
"""Entries for one text. If there are more, they are not counted: all their texts may share enough keys."""
_MERGE = 4
"""A level is merged with the one before it, until that one has at least so many times its entries."""


class _Asked(NamedTuple):
    """Keys that askers look for, in arrays of one length.

    :param first: the smallest number that an entry of the key can have.
    :param end: the first number behind those.
    :param asker: the index of who looks for the key.
    :param query: the index of the query that the key belongs to.
    """

    first: Words
    end: Words
    asker: Integers
    query: Integers


class KeyTable:
    """Keys of texts in memory. Texts are added at the end, and have positions in this order."""

    def __init__(self) -> None:
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
        sizes = np.array([min(length or 0, _LONGEST) for length in lengths], dtype=np.uint64)
        bands = _band_numbers(numbers[~grams]) | positions[~grams]
        grams_of = _gram_numbers(numbers[grams], sizes[of_text[grams]]) | positions[grams]
        self._bands, self._grams = _with_more(self._bands, bands), _with_more(self._grams, grams_of)

    def may_share(self, queries: Sequence[Sequence[KeyQuery]], own: int | None = None) -> NDArray[np.bool_]:
        """Return for each of n askers whether another text may fulfil one of its queries, shape (n,).

        :param queries: of each asker.
        :param own: the position of the first asker's text, if the texts of the askers are here, one after the other.
            Its own text does not count.
        """
        found = np.zeros(len(queries), dtype=np.bool_)
        bands = _bands_of(queries)
        counts = np.zeros(len(bands.asker), dtype=np.int64)
        for level in self._bands:
            starts, sizes = _runs(level, bands)
            counts += sizes
        found[bands.asker[counts > (0 if own is None else 1)]] = True
        for askers, positions, _ in self._counted(queries):
            others = slice(None) if own is None else positions != askers + own
            found[askers[others]] = True
        return found

    def sharing_any(self, queries: Sequence[Sequence[KeyQuery]]) -> Integers:
        """Return the positions of the texts that may fulfil a query of one of the askers, ascending."""
        found = np.zeros(self._count, dtype=np.bool_)
        bands = _bands_of(queries)
        _, first = np.unique(bands.first, return_index=True)
        bands = _Asked(*(values[first] for values in bands))
        for level in self._bands:
            found[(level[run_positions(*_runs(level, bands))] & _POSITION).astype(np.int64)] = True
        for _, positions, _ in self._counted(queries):
            found[positions] = True
        return np.flatnonzero(found)

    def _counted(self, queries: Sequence[Sequence[KeyQuery]]) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield askers, the positions of texts that may fulfil their queries for q-grams, and how many keys they share.

        Each three arrays have one length.
        """
        asked, kept_keys, needed = _grams_of(queries)
        if not len(asked.asker) or not self._grams:
            return
        runs = [_runs(level, asked) for level in self._grams]
        sizes = np.sum([counts for _, counts in runs], axis=0)
        # Of each query the rarest keys.
        ranked = np.lexsort((sizes, asked.query))
        where = np.arange(len(ranked)) - np.searchsorted(asked.query[ranked], asked.query[ranked])
        kept = np.sort(ranked[where < kept_keys[asked.query[ranked]]])
        of_query = np.bincount(asked.query[kept], sizes[kept], len(needed)).astype(np.int64)
        askers = np.zeros(len(needed), dtype=np.int64)
        askers[asked.query] = asked.asker
        for first, end in _pieces(of_query):
            some = kept[np.searchsorted(asked.query[kept], first) : np.searchsorted(asked.query[kept], end)]
            pairs = np.concatenate([_pairs(level, asked, *counted, some) for level, counted in zip(self._grams, runs, strict=True)])
            found, shared = np.unique(pairs, return_counts=True)
            query = (found >> _POSITION_BITS).astype(np.int64)
            enough = (shared >= needed[query]) | (of_query[query] > CROWDED)
            yield askers[query[enough]], (found[enough] & _POSITION).astype(np.int64), shared[enough]


def _pairs(level: Words, asked: _Asked, starts: Integers, counts: Integers, some: Integers) -> Words:
    """Return for each entry of some keys the query that asks for it and the position of its text, as one number."""
    found = level[run_positions(starts[some], counts[some])] & _POSITION
    return np.repeat(asked.query[some].astype(np.uint64) << _POSITION_BITS, counts[some]) | found


def _pieces(sizes: Integers) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of runs of queries with about AT_ONCE entries together."""
    first = total = 0
    for number, size in enumerate(sizes.tolist()):
        if total and total + size > AT_ONCE:
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
    return numbers >> (_POSITION_BITS + _LENGTH_BITS) << (_POSITION_BITS + _LENGTH_BITS) | lengths << _POSITION_BITS


def _flat(keys: Sequence[Sequence[str]]) -> tuple[Words, Integers, NDArray[np.bool_]]:
    """Return the number of each key, the index of its text, and whether it is a q-gram."""
    every = list(chain.from_iterable(keys))
    of_text = np.repeat(np.arange(len(keys)), [len(some) for some in keys])
    return key_numbers(every), of_text, np.array([key[0] == qgrams.KIND for key in every], dtype=np.bool_)


def _bands_of(queries: Sequence[Sequence[KeyQuery]]) -> _Asked:
    """Return the keys of the queries that one common key fulfils."""
    asked = [[key for query in some if query.lengths is None for key in query.keys] for some in queries]
    numbers, askers, _ = _flat(asked)
    first = _band_numbers(numbers)
    return _Asked(first, first + _POSITION + np.uint64(1), askers, askers)


def _grams_of(queries: Sequence[Sequence[KeyQuery]]) -> tuple[_Asked, Integers, Integers]:
    """Return the keys of the queries that count; for each query how many keys are looked up, and how many are needed."""
    counting = [(asker, query) for asker, some in enumerate(queries) for query in some if query.lengths is not None]
    counting = [(asker, query) for asker, query in counting if len(query.keys) >= max(1, query.minimum)]
    numbers, of_query, _ = _flat([query.keys for _, query in counting])
    ranges = np.array([query.lengths for _, query in counting], dtype=np.int64).reshape(-1, 2).clip(0, _LONGEST)
    shortest, longest = ranges.astype(np.uint64).T
    first = _gram_numbers(numbers, shortest[of_query])
    end = _gram_numbers(numbers, longest[of_query]) + _POSITION + np.uint64(1)
    askers = np.array([asker for asker, _ in counting], dtype=np.int64)[of_query]
    minimum = np.array([max(1, query.minimum) for _, query in counting], dtype=np.int64)
    needed = np.minimum(minimum, COMMON)
    kept = np.array([len(query.keys) for _, query in counting], dtype=np.int64) - minimum + needed
    return _Asked(first, end, askers, of_query), kept, needed
