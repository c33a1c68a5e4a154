"""Keys of texts as sorted numbers, in levels.

An entry is one number of 64 bits: a key of 36 bits, then the position of a text that has it, 28 bits. In the entry of a
q-gram, the lowest 7 bits of the key are replaced by the length of the text. So the texts that have a key, or a q-gram
and a length in a range, are one run of the sorted entries.

Entries come in :mod:`levels <es_simhash.search.levels>`. A level may be an array in memory, or pages of a file that are
read where they are needed.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from es_simhash.search.encoding import GRAM, HASH_BITS
from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Integers = NDArray[np.int64]

POSITION_BITS = 28
MOST = 1 << POSITION_BITS
"""The largest number of texts."""
LONGEST = (1 << 7) - 1
"""The greatest length that an entry tells from others. No text with q-grams is so long."""
SHIFT = np.uint64(POSITION_BITS)
POSITION = np.uint64(MOST - 1)
"""The bits of the position."""
_LENGTH = np.uint64(LONGEST)


class Level(Protocol):
    """Sorted entries. The ranges that are asked for are sorted too: a search for numbers in their order is faster."""

    def __len__(self) -> int: ...

    def sizes(self, lowest: Words, highest: Words) -> Integers:
        """Return about how many entries are in each of n ranges, shape (n,). 0 and the small numbers are exact.

        :param lowest: the smallest number in each range, shape (n,).
        :param highest: the largest one, shape (n,).
        """

    def entries(
        self, lowest: Words, highest: Words, most: int | None = None, *, last: bool = False
    ) -> tuple[Words, Integers]:
        """Return the entries of n ranges, one range after the other, and how many each has, shape (n,).

        :param most: the first so many of each range; None for all.
        :param last: the last so many, not the first.
        """


class Array:
    """A Level in memory.

    :param values: sorted.
    """

    def __init__(self, values: Words) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def sizes(self, lowest: Words, highest: Words) -> Integers:
        starts, ends = self._bounds(lowest, highest)
        return ends - starts

    def entries(
        self, lowest: Words, highest: Words, most: int | None = None, *, last: bool = False
    ) -> tuple[Words, Integers]:
        starts, ends = self._bounds(lowest, highest)
        counts = ends - starts if most is None else np.minimum(ends - starts, most)
        return self.values[run_positions(ends - counts if last else starts, counts)], counts

    def _bounds(self, lowest: Words, highest: Words) -> tuple[Integers, Integers]:
        return np.searchsorted(self.values, lowest), np.searchsorted(self.values, highest, side="right")


def without_length(keys: Words) -> Words:
    """Return keys as an entry has them, without the length that the entry of a q-gram has."""
    return np.where(keys >> np.uint64(HASH_BITS) == GRAM, keys & ~_LENGTH, keys)


def range_of(keys: Words) -> tuple[Words, Words]:
    """Return the smallest and the largest entry that each key can have, for texts of any length."""
    none = np.zeros(len(keys), dtype=np.int64)
    return smallest_entries(keys, none), smallest_entries(keys, none + LONGEST) | POSITION


def entries_of(keys: Sequence[Sequence[int]], lengths: Sequence[int | None], positions: Integers) -> Words:
    """Return the sorted entries of texts.

    :param keys: of each of n texts.
    :param lengths: of each text, in word characters; None for a text without keys.
    :param positions: of each text, shape (n,).
    """
    numbers, of_text = flat(keys)
    sizes = np.array([length or 0 for length in lengths], dtype=np.int64)
    entries = smallest_entries(numbers, sizes[of_text]) | positions[of_text].astype(np.uint64)
    entries.sort()
    return entries


def positions_of(entries: Words) -> Integers:
    """Return the positions of the texts of some entries."""
    return (entries & POSITION).astype(np.int64)


def smallest_entries(keys: Words, lengths: Integers) -> Words:
    """Return the smallest entry of each key of a text with a length."""
    short = lengths.clip(0, LONGEST).astype(np.uint64)
    is_gram = keys >> np.uint64(HASH_BITS) == GRAM
    return np.where(is_gram, keys & ~_LENGTH | short, keys) << SHIFT


def flat(keys: Sequence[Sequence[int]]) -> tuple[Words, Integers]:
    """Return all keys, and the index of the text of each."""
    counts = [len(some) for some in keys]
    every = np.fromiter(chain.from_iterable(keys), dtype=np.uint64, count=sum(counts))
    return every, np.repeat(np.arange(len(keys)), counts)
