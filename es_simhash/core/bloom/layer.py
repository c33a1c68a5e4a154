"""One layer: the bits, and which of them an item sets.

The rule. The hash of an item is two 64-bit words, x and y. Its k positions come from them by enhanced double hashing
(Dillinger and Manolios 2004, "Bloom filters in probabilistic verification"; Kirsch and Mitzenmacher 2006, "Less
hashing, same performance", for why two hashes are enough), all arithmetic modulo 2^64:

    for i = 0 .. k-1:   position i = byte (x mod number of bytes), bit (x >> 61);   x = x + y;   y = y + i

Plain double hashing has pitfalls in a small filter: a step of 0, or one that shares a factor with m, visits few
positions; and two items with equal (x mod m, y mod m), or one the other's mirror image, visit the same ones. At 0.1 %
and 10, 100, 1,000 items it gave 11.2, 1.5 and 1.07 times the false positives of ideal hashing's 1.1, 1.03 and 1.02.
The growing step, words wider than m, and an odd number of bytes (no factor in common with 2^64) gave 0.8, 0.99, 1.0.

The rule is there twice. A single item goes through plain ints, which cost less than numpy's machinery; a batch goes
through numpy. Both set the same bits in the same order.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .items import WORD, Words
from .sizing import Size

Mask: TypeAlias = NDArray[np.bool_]

_BIT = tuple(1 << bit for bit in range(8))
_BITS = np.array(_BIT, dtype=np.uint8)
_TOP = np.uint64(61)  # the shift that leaves the three top bits of a word


class Layer:
    """The bits of one layer and the number of items that set them; its methods take hashes, not items."""

    __slots__ = ("bits", "count", "size")

    def __init__(self, size: Size, count: int = 0, bits: bytearray | None = None) -> None:
        """Make an empty layer of a size, or one with the bits and the count that are given."""
        self.size = size
        self.count = count
        self.bits = bytearray(size.m // 8) if bits is None else bits

    def copy(self) -> Layer:
        """Return a layer of its own with the same bits."""
        return Layer(self.size, self.count, self.bits[:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer):
            return NotImplemented
        return (self.size, self.count, self.bits) == (other.size, other.count, other.bits)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def full(self) -> bool:
        """Whether the layer holds as many items as it is made for."""
        return self.count >= self.size.capacity

    # --- one item, in plain ints -----------------------------------------------------------------------------

    def has(self, x: int, y: int) -> bool:
        """Return whether all the bits of an item are set."""
        bits, length, word, bit = self.bits, len(self.bits), WORD, _BIT
        for step in range(self.size.k):
            if not bits[x % length] & bit[x >> 61]:
                return False
            x = x + y & word
            y += step
        return True

    def add(self, x: int, y: int) -> bool:
        """Set the bits of an item; return whether that changed any, and count the item if so."""
        bits, length, word, bit = self.bits, len(self.bits), WORD, _BIT
        changed = False
        for step in range(self.size.k):
            at, mask = x % length, bit[x >> 61]
            old = bits[at]
            if not old & mask:
                bits[at] = old | mask
                changed = True
            x = x + y & word
            y += step
        self.count += changed
        return changed

    # --- a batch, in numpy -----------------------------------------------------------------------------------

    def has_many(self, x: Words, y: Words) -> Mask:
        """Return for each item of a batch whether all its bits are set, shape (n,)."""
        bits = np.frombuffer(self.bits, dtype=np.uint8)
        length = np.uint64(len(bits))
        left = np.arange(len(x))  # the items that all bits so far are set for
        for step in range(self.size.k):
            at = x - x // length * length  # numpy is several times as fast at // as at %
            is_set = bits.take(at.view(np.int64)) & _BITS.take((x >> _TOP).view(np.int64)) != 0
            x = x + y
            y = y + np.uint64(step)
            if not is_set.all():
                left, x, y = left[is_set], x[is_set], y[is_set]
        found = np.zeros(len(x), dtype=np.bool_)
        found[left] = True
        return found
