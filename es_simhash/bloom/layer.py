"""A layer of a Bloom filter: its bits, and the rule by which an item sets them.

**The rule.** The hash of an item is two 64-bit words, x and y. They give the k bit positions of the item by enhanced
double hashing (Dillinger and Manolios 2004, "Bloom filters in probabilistic verification"; Kirsch and Mitzenmacher
2006, "Less hashing, same performance", show that two hashes are enough). All arithmetic is modulo 2^64:

    for i = 1 .. k:   position = byte (x mod number of bytes), bit (x >> 61);   x = x + y;   y = y + i

**Why not plain double hashing**, x + i·y mod m. In a small filter it errs too often. If the step y is 0 or shares a
factor with m, it visits few positions. Two items visit the same positions if (x mod m, y mod m) is equal, or if one is
the mirror image of the other. The error rate was measured in layers for 0.1 % with 10, 100 and 1,000 items, as a
multiple of that rate: ideal hashing 1.01, 0.97, 1.00; plain double hashing 6.6, 1.6, 1.05; this rule 1.06, 0.98, 1.00.
Three things make the difference: the step grows, the words are wider than m, and the number of bytes is odd, so that it
shares no factor with 2^64.

**Two implementations.** A single item uses plain ints, which cost less than numpy for one item. A batch uses numpy.
Both set the same bits in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from es_simhash.bloom.items import WORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_simhash.bloom.items import Words
    from es_simhash.bloom.sizing import Size

Mask: TypeAlias = "NDArray[np.bool_]"
Positions: TypeAlias = "NDArray[np.int64]"

_BIT = tuple(1 << bit for bit in range(8))
_BITS = np.array(_BIT, dtype=np.uint8)
_TOP = np.uint64(61)  # the shift that leaves the three highest bits of a word

# glibc returns a large freed block to the kernel, and gets it back page by page for the next chunk of a batch. That
# raised the cost of an item from 200 to 350 ns, and SeenItems.add of 10,000 items in SQLite from 7 to 13 ms. But glibc
# keeps blocks up to the size of the largest block that was ever freed (mallopt(3), M_MMAP_THRESHOLD). So this line
# allocates and frees one. It has no effect on another malloc.
np.empty(1 << 22, dtype=np.uint8)

_LARGEST = np.uint32((1 << 32) - 1)
_SPARSE = 64
"""Bits of a layer for each bit to set, up to which a batch makes a mask of the whole layer, which takes less time."""
_FIRST_STEPS = 2
"""Bits of each item that a batch checks first. Most unseen items fail here; only the others are checked further."""


@dataclass(frozen=True)
class LayerInfo:
    """Figures of a layer.

    :param capacity: the number of items that the layer is made for.
    :param m: its bits.
    :param k: hashes an item.
    :param count: the number of items that changed it.
    :param set_bits: the number of bits that are set.
    """

    capacity: int
    m: int
    k: int
    count: int
    set_bits: int

    @property
    def estimated_count(self) -> int:
        """An estimate of the number of distinct items (Swamidass and Baldi 2007): -m/k · ln(1 - set_bits/m).

        If all bits are set the formula has no value; then the estimate is that of one bit less.
        """
        return round(self.m / self.k * math.log(self.m / max(self.m - self.set_bits, 1)))

    @property
    def false_positive_rate(self) -> float:
        """The share of items, among those that were never added, whose bits are all set: (set_bits/m)^k."""
        rate: float = (self.set_bits / self.m) ** self.k
        return rate


class Layer:
    """The bits of one layer, and the number of items that set them. Its methods take hashes, not items."""

    __slots__ = ("_later_steps", "_length", "_steps", "bits", "count", "size")

    def __init__(self, size: Size, count: int = 0, bits: bytearray | None = None) -> None:
        """Make a layer: empty, or with the given bits and count. It keeps ``bits`` without a copy."""
        self.size = size
        self.count = count
        self.bits = bytearray(size.m // 8) if bits is None else bits
        self._length = size.m // 8
        self._steps = range(1, size.k + 1)
        self._later_steps = range(1, size.k)

    def copy(self) -> Layer:
        """Return an independent copy."""
        return Layer(self.size, self.count, self.bits[:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return (self.size, self.count, self.bits) == (other.size, other.count, other.bits)

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def info(self) -> LayerInfo:
        """Return the current figures of the layer."""
        set_bits = int.from_bytes(self.bits, "little").bit_count()
        return LayerInfo(self.size.capacity, self.size.m, self.size.k, self.count, set_bits)

    # --- one item, in plain ints -----------------------------------------------------------------------------

    def has(self, x: int, y: int) -> bool:
        """Return whether all bits of an item are set.

        :param x: the low word of its hash.
        :param y: the high word.
        """
        bits, length, word, bit = self.bits, self._length, WORD, _BIT
        if not bits[x % length] & bit[x >> 61]:
            return False
        for step in self._later_steps:
            x = (x + y) & word
            y += step
            if not bits[x % length] & bit[x >> 61]:
                return False
        return True

    def add(self, x: int, y: int) -> bool:
        """Set the bits of an item, and count the item if one of them was not set. Return whether one was not set."""
        bits, length, word, bit = self.bits, self._length, WORD, _BIT
        changed = False
        for step in self._steps:
            byte = x % length
            old = bits[byte]
            new = old | bit[x >> 61]
            if new != old:
                bits[byte] = new
                changed = True
            x = (x + y) & word
            y += step
        self.count += changed
        return changed

    # --- a batch, in numpy -----------------------------------------------------------------------------------

    def has_many(self, x: Words, y: Words) -> Mask:
        """Return for each item of a batch whether all its bits are set; shape (n,)."""
        found = self._has_all(x, y, range(min(_FIRST_STEPS, self.size.k)))
        (left,) = np.nonzero(found)
        if len(left) and self.size.k > _FIRST_STEPS:
            found[left] = self._has_all(x.take(left), y.take(left), range(_FIRST_STEPS, self.size.k))
        return found

    def _has_all(self, x: Words, y: Words, steps: range) -> Mask:
        """Return for each item whether its bits of these steps are set; shape (n,)."""
        byte, bit = self._positions(_words(x, y, steps))
        found: Mask = (self._view().take(byte) & _BITS.take(bit) != 0).all(axis=0)
        return found

    def add_many(self, x: Words, y: Words) -> Mask:
        """Add the items of a batch one after the other, until the layer is full.

        :returns: for each item that was added, whether it changed a bit. The array is shorter than the batch if the
            layer was full before the end.
        """
        k, room = self.size.k, self.size.capacity - self.count
        if room <= 0:
            return np.zeros(0, dtype=np.bool_)
        bits = self._view()
        byte, bit = self._positions(_words(x, y, range(k)).T.reshape(-1))  # item after item, k positions each
        unset = np.flatnonzero(bits.take(byte) & _BITS.take(bit) == 0)
        position = (byte << 3 | bit).take(unset)
        # An item changes the layer if and only if it is the first item of the batch with some bit that is not set yet.
        # If an earlier item has this bit too, the bit is set when the later item comes.
        first = _first_occurrences(position, self.size.m)
        position, item = position.take(first), unset.take(first) // k
        new = np.zeros(len(x), dtype=np.bool_)
        new[item] = True
        if np.count_nonzero(new) > room:
            turns = int(np.flatnonzero(new)[room - 1]) + 1
            new, position = new[:turns], position[item < turns]
        if self.size.m <= _SPARSE * len(position):
            mask = np.zeros(self.size.m, dtype=np.bool_)
            mask[position] = True
            bits |= np.packbits(mask, bitorder="little")
        else:  # each position occurs once, and its bit is not set: adding sets it, faster than np.bitwise_or.at
            np.add.at(bits, position >> 3, _BITS.take(position & 7))
        self.count += int(np.count_nonzero(new))
        return new

    def _view(self) -> NDArray[np.uint8]:
        """Return the bits as an array, without a copy."""
        return np.frombuffer(self.bits, dtype=np.uint8)

    def _positions(self, words: Words) -> tuple[Positions, Positions]:
        """Return the byte of each word, and the bit in this byte. It overwrites ``words``."""
        length = np.uint64(self._length)
        byte = words // length  # words % length, by //: in numpy several times as fast as %
        byte *= length
        np.subtract(words, byte, out=byte)
        words >>= _TOP
        return byte.view(np.int64), words.view(np.int64)


def _words(x: Words, y: Words, steps: range) -> Words:
    """Return the word x of the rule at each step i for each item, x + i·y + (i³ - i)/6; shape (steps, n)."""
    factors, summands = _factors(steps)
    words = y * factors
    words += x
    words += summands
    return words


@lru_cache(1_000)
def _factors(steps: range) -> tuple[Words, Words]:
    """Return i and (i³ - i)/6 of each step i; each of shape (steps, 1)."""
    step = np.array(steps, dtype=np.uint64)[:, np.newaxis]
    return step, (step * step * step - step) // np.uint64(6)


def _first_occurrences(values: Positions, end: int) -> Positions:
    """Return the index of the first occurrence of each distinct value, unordered.

    numpy.unique does the same by sorting, at ten times the cost. Here each value has a slot in a table, and the
    smallest index gets the slot. If the values are small, each has a slot of its own. Else it has that of its low bits;
    values that share a slot with another value are put into a table again.

    :param end: all values are below it.
    """
    table_bits = (4 * len(values) - 1).bit_length()
    index = np.arange(len(values), dtype=np.uint32)
    if end <= 1 << table_bits:
        return np.flatnonzero(_winners(values, index, end) == index)
    slot = values & ((1 << table_bits) - 1)
    firsts = [index[:0]]
    while len(index):
        winner = _winners(slot, index, 1 << table_bits)
        won = winner == index
        firsts.append(index.take(np.flatnonzero(won)))
        lost = np.flatnonzero(~won)
        again = lost.take(np.flatnonzero(values.take(winner.take(lost)) != values.take(index.take(lost))))
        index, slot = index.take(again), slot.take(again)
    return np.concatenate(firsts).astype(np.int64)


def _winners(slot: Positions, index: NDArray[np.uint32], slots: int) -> NDArray[np.uint32]:
    """Return for each index the smallest index with the same slot; shape (n,)."""
    table = np.full(slots, _LARGEST, dtype=np.uint32)
    np.minimum.at(table, slot, index)
    return table.take(slot)
