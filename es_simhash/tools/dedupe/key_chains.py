"""Which texts have a key? The keys of all texts that are kept, in arrays.

Each key of each text is an entry. Entries whose keys have the same lowest bits form a chain, from the newest entry to
the oldest, as in a hash table with chaining (Knuth, "The Art of Computer Programming", volume 3, section 6.4). The
chains of many keys are followed together, one step at a time, so that numpy does the work.

An entry takes 16 to 20 bytes, in a file if there are many. A text of 100 characters has 25 to 50 keys. The table of
:mod:`es_simhash.search.key_table` is smaller and always in memory. It says whether a text shares keys with any other,
and not with which one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from es_simhash import InputError
from es_simhash.search.runs import run_positions
from es_simhash.temporary import IN_MEMORY, large_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

LONGEST_CHAIN = 500
"""Entries that are followed for one key. Very many near-equal texts share keys: then the latest of them are found."""
ROOM = 1 << 16
"""Entries for which an empty table has room."""
_MOST_ENTRIES = 2**32 - 1


class Sharing(NamedTuple):
    """Texts that share keys with a question: pairs (key, text) in arrays of one length.

    :param keys: the position of the key in the question, ascending.
    :param texts: the number of the text in the table.
    :param incomplete: the number of each query for which a chain was too long. Some of its texts are missing.
    """

    keys: NDArray[np.int64]
    texts: NDArray[np.int64]
    incomplete: frozenset[int]


class KeyChains:
    """The keys of texts. Texts are numbered in the order in which they are added.

    :param longest: entries that are followed for one key.
    :param room: entries for which the empty table has room: a power of two. 16 times as many are put into chains
        together.
    :param in_memory: the most bytes of an array in memory. A larger one is in a temporary file.
    :raises StoreError: if a temporary file cannot be written. The methods raise it too.
    """

    def __init__(self, longest: int = LONGEST_CHAIN, *, room: int = ROOM, in_memory: int = IN_MEMORY) -> None:
        self._longest = longest
        self._at_once = 16 * room
        self._in_memory = in_memory
        self._texts = 0
        self._entries = 0
        self._ends = large_array(room, np.int64, in_memory)
        """Of each text: where its entries end."""
        self._keys = large_array(room, np.uint64, in_memory)
        self._older = large_array(room, np.uint32, in_memory)
        """Of each entry: 1 + the next entry of its chain; 0 at the end of the chain."""
        self._newest = large_array(room, np.uint32, in_memory)
        """Of each chain: 1 + its first entry; 0 if it is empty."""
        self._newest[:] = 0

    def __len__(self) -> int:
        return self._texts

    def add(self, keys: Sequence[NDArray[np.uint64]]) -> None:
        """Add texts.

        :param keys: of each text.
        """
        if not keys:
            return
        ends = self._entries + np.cumsum([len(some) for some in keys])
        first, self._entries = self._entries, int(ends[-1])
        if self._entries > _MOST_ENTRIES:
            raise InputError(f"there are more than {_MOST_ENTRIES:,} keys of texts: split the input")
        self._ends = self._with_room(self._ends, self._texts, len(keys))
        self._ends[self._texts : self._texts + len(keys)] = ends
        self._texts += len(keys)
        self._keys = self._with_room(self._keys, first, self._entries - first)
        self._older = self._with_room(self._older, first, self._entries - first)
        self._keys[first : self._entries] = np.concatenate(keys)
        if self._entries > len(self._newest):
            self._newest = large_array(2 * len(self._newest), np.uint32, self._in_memory)
            self._newest[:] = 0
            first = 0
        for start in range(first, self._entries, self._at_once):
            self._chain(start, min(start + self._at_once, self._entries))

    def _chain(self, first: int, end: int) -> None:
        """Put entries before the chains of their keys."""
        chains = self._chains_of(self._keys[first:end])
        order = np.argsort(chains, kind="stable")
        chains, numbers = chains[order], (first + 1 + order).astype(np.uint32)
        again = chains[1:] == chains[:-1]
        older = self._newest[chains]
        older[1:][again] = numbers[:-1][again]
        self._older[first + order] = older
        last = np.append(~again, True)
        self._newest[chains[last]] = numbers[last]

    def _chains_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (keys & np.uint64(len(self._newest) - 1)).astype(np.int64)

    def sharing(self, keys: NDArray[np.uint64], queries: NDArray[np.int64], minimum: NDArray[np.int64]) -> Sharing:
        """Return the texts that share enough keys with one of n queries, and perhaps others.

        A text that shares at least m of k keys shares one of any k - m + 1 of them (the prefix filter: Chaudhuri, Ganti
        and Kaushik, "A primitive operator for similarity joins", ICDE 2006). So the longest chains of a query are not
        followed to their end.

        :param keys: of all queries, shape (k,).
        :param queries: the number of the query that each key belongs to, ascending; shape (k,).
        :param minimum: how many keys of each query a text must have at least; shape (n,).
        """
        count = len(minimum)
        entries = self._newest[self._chains_of(keys)].astype(np.int64)
        which = np.flatnonzero(entries)
        entries = entries[which] - 1
        found = [np.zeros((2, 0), dtype=np.int64)]
        for _ in range(self._longest):
            if not len(which):
                break
            hit = self._keys[entries] == keys[which]
            found.append(np.stack([which[hit], entries[hit]]))
            entries = self._older[entries].astype(np.int64) - 1
            goes_on = entries >= 0
            open_chains = np.bincount(queries[which[goes_on]], minlength=count)
            goes_on &= open_chains[queries[which]] >= minimum[queries[which]]
            which, entries = which[goes_on], entries[goes_on]
        pairs = np.concatenate(found, axis=1)
        pairs = pairs[:, np.argsort(pairs[0], kind="stable")]
        texts = np.searchsorted(self._ends[: self._texts], pairs[1], side="right")
        return Sharing(pairs[0], texts, frozenset(queries[which].tolist()))

    def in_common(self, texts: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many of some keys each text has, shape (n,).

        :param texts: numbers of n texts.
        """
        starts = np.where(texts > 0, self._ends[texts - 1], 0)
        counts = self._ends[texts] - starts
        theirs = self._keys[run_positions(starts, counts)]
        return np.bincount(np.repeat(np.arange(len(texts)), counts)[np.isin(theirs, keys)], minlength=len(texts))

    def _with_room(self, array: NDArray[T], size: int, more: int) -> NDArray[T]:
        """Return an array with room for more values behind the first ``size``."""
        if size + more <= len(array):
            return array
        larger = large_array(max(size + more, len(array) + len(array) // 2), array.dtype, self._in_memory)
        larger[:size] = array[:size]
        return larger
