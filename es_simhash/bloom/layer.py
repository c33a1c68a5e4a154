"""One layer: the bits, and which of them an item sets.

The rule. The hash of an item is two 64-bit words, x and y. Its k positions come from them by enhanced double hashing
(Dillinger and Manolios 2004, "Bloom filters in probabilistic verification"; Kirsch and Mitzenmacher 2006, "Less
hashing, same performance", for why two hashes are enough), all arithmetic modulo 2^64:

    for i = 1 .. k:   position = byte (x mod number of bytes), bit (x >> 61);   x = x + y;   y = y + i

Plain double hashing, x + i·y mod m, has pitfalls in a small filter: a step of 0, or one that shares a factor with m,
visits few positions; and two items with equal (x mod m, y mod m), or one the mirror image of the other, visit the same
ones. Measured in layers for 0.1 %, with 10, 100 and 1,000 items, as multiples of that rate: ideal hashing 1.01, 0.97,
1.00; plain double hashing 6.6, 1.6, 1.05; this rule 1.06, 0.98, 1.00. What makes the difference is the step that
grows, words that are wider than m, and a number of bytes that is odd, so that it shares no factor with 2^64.

The rule is there twice. A single item goes through plain ints, which cost less than numpy's machinery; a batch goes
through numpy. Both set the same bits in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from es_simhash.bloom.items import WORD
from es_simhash.errors import FilterMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_simhash.bloom.items import Words
    from es_simhash.bloom.sizing import Size

Mask: TypeAlias = "NDArray[np.bool_]"
Positions: TypeAlias = "NDArray[np.int64]"

_BIT = tuple(1 << bit for bit in range(8))
_BITS = np.array(_BIT, dtype=np.uint8)
_TOP = np.uint64(61)  # the shift that leaves the three top bits of a word

# A large block that is freed goes back to the kernel, and comes again page by page for the next chunk of a batch: that
# made 350 ns an item of 200. glibc keeps blocks up to the size of the largest that was ever freed (mallopt(3) on
# M_MMAP_THRESHOLD), so here is one, never touched. Where malloc is another this does nothing.
np.empty(1 << 22, dtype=np.uint8)

_GLANCE = 2  # steps that a batch takes together before the items that have failed are dropped


@dataclass(frozen=True)
class LayerInfo:
    """What can be told of a layer: the items it is made for, bits, hashes, items that changed it, bits that are set."""

    capacity: int
    m: int
    k: int
    count: int
    set_bits: int

    @property
    def estimated_count(self) -> int:
        """How many distinct items set so many bits (Swamidass and Baldi 2007): -m/k · ln(1 - set_bits/m).

        Bits that are all set tell no number; they count as if one were not.
        """
        return round(self.m / self.k * math.log(self.m / max(self.m - self.set_bits, 1)))

    @property
    def false_positive_rate(self) -> float:
        """The share of items never added that have all their bits set: (set_bits/m)^k."""
        rate: float = (self.set_bits / self.m) ** self.k
        return rate


class Layer:
    """The bits of one layer and the number of items that set them; its methods take hashes, not items."""

    __slots__ = ("_later_steps", "_length", "_steps", "bits", "count", "size")

    def __init__(self, size: Size, count: int = 0, bits: bytearray | None = None) -> None:
        """Make an empty layer of a size, or one with the bits and the count that are given."""
        self.size = size
        self.count = count
        self.bits = bytearray(size.m // 8) if bits is None else bits
        self._length = size.m // 8
        self._steps = range(1, size.k + 1)
        self._later_steps = range(1, size.k)

    def copy(self) -> Layer:
        """Return a layer of its own with the same bits."""
        return Layer(self.size, self.count, self.bits[:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return (self.size, self.count, self.bits) == (other.size, other.count, other.bits)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def union(self, other: Layer) -> Layer:
        """Return a layer with the bits of both; its count is estimated from them.

        Raises FilterMismatch when the sizes differ.
        """
        if self.size != other.size:
            raise FilterMismatch(f"only layers of one size can be united: one has {self.size}, the other {other.size}")
        united = self.copy()
        united._view()[:] |= other._view()
        if united.bits in (self.bits, other.bits):
            united.count = max(self.count, other.count)
        else:
            info = united.info()
            count = max(info.estimated_count, self.count, other.count)
            united.count = min(count, self.count + other.count, info.set_bits)  # each item set a bit of its own
        return united

    def info(self) -> LayerInfo:
        """Return what can be told of the layer now."""
        set_bits = int.from_bytes(self.bits, "little").bit_count()
        return LayerInfo(self.size.capacity, self.size.m, self.size.k, self.count, set_bits)

    # --- one item, in plain ints -----------------------------------------------------------------------------

    def has(self, x: int, y: int) -> bool:
        """Return whether all the bits of an item are set."""
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
        """Set the bits of an item; return whether that changed any, and count the item if so."""
        bits, length, word, bit = self.bits, self._length, WORD, _BIT
        changed = False
        for step in self._steps:
            at = x % length
            old = bits[at]
            now = old | bit[x >> 61]
            if now != old:
                bits[at] = now
                changed = True
            x = (x + y) & word
            y += step
        self.count += changed
        return changed

    # --- a batch, in numpy -----------------------------------------------------------------------------------

    def has_many(self, x: Words, y: Words) -> Mask:
        """Return for each item of a batch whether all its bits are set, shape (n,)."""
        found = self._has_all(x, y, range(min(_GLANCE, self.size.k)))
        (left,) = np.nonzero(found)
        if len(left) and self.size.k > _GLANCE:
            found[left] = self._has_all(x.take(left), y.take(left), range(_GLANCE, self.size.k))
        return found

    def _has_all(self, x: Words, y: Words, steps: range) -> Mask:
        """Return for each item whether its bits of these steps are set, shape (n,)."""
        byte, bit = self._places(_words(x, y, steps))
        found: Mask = (self._view().take(byte) & _BITS.take(bit) != 0).all(axis=0)
        return found

    def add_many(self, x: Words, y: Words) -> Mask:
        """Add the items of a batch one after the other, until the layer is full.

        Returns for each item that had its turn whether it changed a bit; shape (n,), or less where the layer was
        full before the end of the batch.
        """
        k, room = self.size.k, self.size.capacity - self.count
        if room <= 0:
            return np.zeros(0, dtype=np.bool_)
        bits = self._view()
        byte, bit = self._places(_words(x, y, range(k)).T.reshape(-1))  # item after item, k places each
        unset = np.flatnonzero(bits.take(byte) & _BITS.take(bit) == 0)
        at = (byte << 3 | bit).take(unset)
        # An item changes a bit if and only if it is the first of the batch to want some bit that is not set yet: had
        # an earlier item wanted that bit, it would be set by now, whether by that item or by one before it.
        first = _first_of_each(at)
        at, item = at.take(first), unset.take(first) // k
        new = np.zeros(len(x), dtype=np.bool_)
        new[item] = True
        if np.count_nonzero(new) > room:
            turns = int(np.flatnonzero(new)[room - 1]) + 1
            new, at = new[:turns], at[item < turns]
        # Each position comes once and is not set: to add is to set, and numpy's add.at is faster than bitwise_or.at.
        np.add.at(bits, at >> 3, _BITS.take(at & 7))
        self.count += int(np.count_nonzero(new))
        return new

    def _view(self) -> NDArray[np.uint8]:
        """Return the bits as an array that shares them."""
        return np.frombuffer(self.bits, dtype=np.uint8)

    def _places(self, words: Words) -> tuple[Positions, Positions]:
        """Return the byte of each word, and the bit in it; the words are used up."""
        length = np.uint64(self._length)
        byte = words // length  # words % length by way of //, which is several times as fast in numpy
        byte *= length
        np.subtract(words, byte, out=byte)
        words >>= _TOP
        return byte.view(np.int64), words.view(np.int64)


def _words(x: Words, y: Words, steps: range) -> Words:
    """Return x of the rule at each step for each item, shape (steps, n): x + i·y + (i³ - i)/6."""
    step = np.array(steps, dtype=np.uint64)[:, np.newaxis]
    words = y * step
    words += x
    words += (step * step * step - step) // np.uint64(6)
    return words


def _first_of_each(values: Positions) -> Positions:
    """Return where each value comes first: the indices, unordered, of the first of each set of equal values.

    numpy.unique does the same by sorting, at ten times the cost. Here each value has a slot in a table, by its low
    bits, and the least index wins it; where different values share a slot, the losers play again.
    """
    table_bits = (4 * len(values) - 1).bit_length()
    slot = values & ((1 << table_bits) - 1)
    index = np.arange(len(values), dtype=np.uint32)
    firsts = [index[:0]]
    while len(index):
        table = np.full(1 << table_bits, len(values), dtype=np.uint32)
        np.minimum.at(table, slot, index)
        winner = table.take(slot)
        won = winner == index
        firsts.append(index.take(np.flatnonzero(won)))
        lost = np.flatnonzero(~won)
        again = lost.take(np.flatnonzero(values.take(winner.take(lost)) != values.take(index.take(lost))))
        index, slot = index.take(again), slot.take(again)
    return np.concatenate(firsts).astype(np.int64)
