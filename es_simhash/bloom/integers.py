"""The hash of many integers at once: MurmurHash3 of their decimal digits, computed for all of them in numpy.

It is the hash of :func:`~es_simhash.bloom.items.hash_item`, at half the cost of making the digits and hashing them one
by one. It is made for integers from 0 to 15 digits: MurmurHash3 x64 128 reads blocks of 16 bytes, and a shorter key has
only a tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]

_END = 10**15
_WORD = 8
"""Bytes of a word: the first eight digits are in one word of the key, the others in another."""
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_F1, _F2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_33 = np.uint64(33)


def hash_integers(items: Sequence[int], seed: int) -> tuple[Words, Words] | None:
    """Return the hashes of integers as two arrays of shape (n,): the low words x and the high words y.

    :param items: one or more; ints alone.
    :returns: None if one of them is negative, or has more than 15 digits.
    """
    try:
        values = np.fromiter(items, dtype=np.int64, count=len(items))
    except OverflowError:
        return None
    smallest, largest = int(values.min()), int(values.max())
    if smallest < 0 or largest >= _END:
        return None
    words = values.view(np.uint64)
    shortest, longest = len(str(smallest)), len(str(largest))
    if shortest == longest:
        return _hash(words, longest, seed)
    x, y = np.empty_like(words), np.empty_like(words)
    for length in range(shortest, longest + 1):
        of_length = (words >= 10 ** (length - 1) if length > 1 else True) & (words < 10**length)
        (index,) = np.nonzero(of_length)
        x[index], y[index] = _hash(words[index], length, seed)
    return x, y


def _hash(values: Words, length: int, seed: int) -> tuple[Words, Words]:
    """Return the hashes of integers that have ``length`` digits."""
    rest = max(0, length - _WORD)
    first = values // np.uint64(10**rest)
    x = _scrambled(_digits(first, length - rest), _C1, 31, _C2) ^ np.uint64(seed & 0xFFFFFFFF ^ length)
    y = np.full_like(x, seed & 0xFFFFFFFF ^ length)
    if rest:
        y ^= _scrambled(_digits(values - first * np.uint64(10**rest), rest), _C2, 33, _C1)
    x += y
    y += x
    x, y = _mixed(x), _mixed(y)
    x += y
    y += x
    return x, y


def _digits(values: Words, length: int) -> Words:
    """Return the ASCII digits of integers below 10^8, the first digit in the lowest byte.

    Each step cuts all numbers of a word in two halves: eight digits, four, two, one. A division by 100 or by 10 is a
    multiplication and a shift, exact for such small numbers.

    :param length: digits, from 1 to 8; leading zeros count.
    """
    half: Words = values // np.uint64(10_000)
    word: Words = half | (values - half * np.uint64(10_000)) << np.uint64(32)
    half = word * np.uint64(10_486) >> np.uint64(20) & np.uint64(0x0000007F_0000007F)
    word = half | (word - half * np.uint64(100)) << np.uint64(16)
    half = word * np.uint64(103) >> np.uint64(10) & np.uint64(0x000F000F_000F000F)
    word = half | (word - half * np.uint64(10)) << np.uint64(8)
    word |= np.uint64(0x3030303030303030)
    word >>= np.uint64(8 * (_WORD - length))
    return word


def _scrambled(word: Words, first: np.uint64, turn: int, second: np.uint64) -> Words:
    """Return a word of the key as it is mixed into the hash: times, rotated, times."""
    word *= first
    turned = word << np.uint64(turn)
    turned |= word >> np.uint64(64 - turn)
    turned *= second
    return turned


def _mixed(word: Words) -> Words:
    """Return the finalisation (fmix64) of a word."""
    word ^= word >> _33
    word *= _F1
    word ^= word >> _33
    word *= _F2
    word ^= word >> _33
    return word
