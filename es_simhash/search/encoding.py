"""Keys are integers of 36 bits: two bits for the kind, and 34 bits of a hash.

The text form of a key has six characters of base 64. Elasticsearch stores it, and people read it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KEY_BITS = 36
HASH_BITS = 34
"""Of 10**7 documents with 25 bands 0.4 share a band with a text by accident."""
GRAM, PAIRS, LONGER = range(3)
"""The kinds of keys: q-grams, bands of short shingles, and bands of longer shingles."""
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
DIGITS = 6
"""Characters of a key in its text form."""
_SHIFTS = np.arange(6 * (DIGITS - 1), -1, -6, dtype=np.uint64)
_LETTERS = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
_ALL_DIGITS = re.compile(f"[{ALPHABET[:-2]}_-]*")
_PLACES = np.uint64(1) << _SHIFTS
_VALUES = np.zeros(256, dtype=np.uint64)
_VALUES[_LETTERS] = np.arange(64)


def key_of_hash(kind: int, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys of a kind that have these hashes of 64 bits: the highest ``HASH_BITS`` of each count."""
    return hashes >> np.uint64(64 - HASH_BITS) | np.uint64(kind << HASH_BITS)


def encoded(keys: Sequence[int]) -> list[str]:
    """Return the text form of keys: the highest digit first.

    >>> encoded([0, 1, (1 << 36) - 1])
    ['000000', '000001', '______']
    """
    digits = np.array(keys, dtype=np.uint64)[:, None] >> _SHIFTS & np.uint64(63)
    together = _LETTERS[digits].tobytes().decode("ascii")
    return [together[start : start + DIGITS] for start in range(0, len(together), DIGITS)]


def decoded(keys: Sequence[str]) -> tuple[int, ...]:
    """Return the keys that have these text forms; none if one is no text form of a key.

    >>> decoded(["000001", "______"]), decoded(["1"])
    ((1, 68719476735), ())
    """
    together = "".join(keys)
    if not {DIGITS}.issuperset(map(len, keys)) or _ALL_DIGITS.fullmatch(together) is None:
        return ()
    digits = _VALUES[np.frombuffer(together.encode(), dtype=np.uint8)].reshape(-1, DIGITS)
    return tuple((digits @ _PLACES).tolist())


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers with their bits mixed: the last step of SplitMix64 (Steele, Lea and Flood, 2014)."""
    mixed = numbers >> np.uint64(30)
    mixed ^= numbers
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
