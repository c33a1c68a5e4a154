"""Keys and numbers: the text form of keys is base 64, and in memory a number stands for a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
LETTERS = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
"""The characters of ``ALPHABET`` as bytes, shape (64,)."""


def shifts(digits: int, lowest: int = 0) -> NDArray[np.uint64]:
    """Return by how many bits a number is shifted for each of its digits, the highest digit first.

    :param lowest: the bits below this one are left out.
    """
    return np.arange(lowest + 6 * (digits - 1), lowest - 1, -6, dtype=np.uint64)


def encoded(numbers: NDArray[np.uint64], shifts: NDArray[np.uint64], prefix: NDArray[np.uint8]) -> list[str]:
    """Return the keys of numbers: a prefix, then a character of ``ALPHABET`` for each digit.

    :param numbers: of any shape; the keys come in its order.
    :param shifts: of :func:`shifts`.
    :param prefix: the first characters as bytes: shape (p,), or (n, p) for numbers whose last dimension is n.
    """
    start = prefix.shape[-1]
    size = start + len(shifts)
    characters = np.empty((*numbers.shape, size), dtype=np.uint8)
    characters[..., :start] = prefix
    characters[..., start:] = LETTERS[numbers[..., None] >> shifts & np.uint64(63)]
    together = characters.tobytes().decode("ascii")
    return [together[end - size : end] for end in range(size, len(together) + 1, size)]


def key_numbers(keys: Sequence[str]) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each key: the same for equal keys, and for two different ones by accident only."""
    if not keys:
        return np.zeros(0, dtype=np.uint64)
    characters = np.array(keys, dtype=np.str_)
    codes = characters.view(np.uint32).reshape(len(keys), -1).astype(np.uint64)
    numbers: NDArray[np.uint64] = codes @ mixed(np.arange(1, codes.shape[1] + 1, dtype=np.uint64))
    return mixed(numbers)


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers with their bits mixed: the last step of SplitMix64 (Steele, Lea and Flood, 2014)."""
    mixed = numbers >> np.uint64(30)
    mixed ^= numbers
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
