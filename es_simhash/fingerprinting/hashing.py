"""Hash functions for words, by name. Each returns the first bytes of a fixed, published hash of the word's UTF-8 form.

``murmur3``
    MurmurHash3 x64 128 (Austin Appleby), seed 0, little-endian halves as mmh3 gives them. This is the default: it is
    by far the fastest here, and every bit of it depends on every character.
``jenkins``
    lookup3 (Bob Jenkins, 2006, https://burtleburtle.net/bob/c/lookup3.c), function ``hashlittle2``: it makes two
    32-bit integers from two seeds. Its author combines them into 64 bits as ``*pc + (*pb << 32)``. The first 8 bytes
    are that number from the seeds 0 and 0, highest byte first. Bytes 9 to 16 are that number with 1 as the primary
    seed (``*pc``).
``fnv1a_64``
    FNV-1a, 64 bits (Fowler, Noll and Vo; RFC 9923), highest byte first. It cannot give 128 bits: with another offset
    basis, the low bits of FNV-1a are equal to those from the first one, or inverted, so votes would count twice. Its
    high bits depend little on the last character of a word: each of 19 of the 64 bits is equal in over 85 % of the
    pairs of two-character words with the same first character (with the other two hashes, in half of the pairs). Use it
    if you already have FNV fingerprints.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from collections.abc import Callable

_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1


def _murmur3(data: bytes) -> bytes:
    return mmh3.mmh3_x64_128_digest(data)


def _jenkins(data: bytes) -> bytes:
    halves = (hashlittle2(data, primary, 0) for primary in (0, 1))
    return b"".join((secondary << 32 | primary).to_bytes(8, "big") for primary, secondary in halves)


def _fnv1a_64(data: bytes) -> bytes:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & _MASK_64
    return value.to_bytes(8, "big")


HASHES: dict[str, Callable[[bytes], bytes]] = {"murmur3": _murmur3, "jenkins": _jenkins, "fnv1a_64": _fnv1a_64}

HASH_BITS = {"murmur3": 128, "jenkins": 128, "fnv1a_64": 64}
"""The width of each hash in bits."""


@lru_cache(maxsize=8)
def hasher(name: str, size: int) -> Callable[[str], bytes]:
    """Return a function from a word to the first ``size`` bytes of its hash. It caches the hashes of 262,144 words."""
    assert 8 * size <= HASH_BITS[name], "a Scheme allows only widths that its hash has"
    function = HASHES[name]

    @lru_cache(maxsize=1 << 18)
    def hash_word(word: str) -> bytes:
        return function(word.encode())[:size]

    return hash_word


def hashlittle2(data: bytes, primary: int, secondary: int) -> tuple[int, int]:
    """Return Jenkins' lookup3 hash of ``data`` from two 32-bit seeds.

    :returns: two 32-bit integers: the primary hash (``*pc`` in C) and the secondary hash (``*pb``).
    """
    a = b = c = (0xDEADBEEF + len(data) + primary) & _MASK_32
    c = (c + secondary) & _MASK_32
    if not data:
        return c, b
    blocks = (len(data) - 1) // 12
    # Missing bytes count as zeros. The last block always has at least one byte, because _final treats it differently.
    padded = data.ljust(12 * blocks + 12, b"\0")
    numbers = [int.from_bytes(padded[start : start + 4], "little") for start in range(0, len(padded), 4)]
    for block in range(0, 3 * blocks, 3):
        a, b, c = _mix(a + numbers[block], b + numbers[block + 1], c + numbers[block + 2])
    return _final(a + numbers[-3], b + numbers[-2], c + numbers[-1])


def _rotate_left(value: int, by: int) -> int:
    value &= _MASK_32
    return value << by | value >> (32 - by)


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    # Intermediate values may exceed 32 bits or be negative. Their lowest 32 bits are correct at every step.
    a = (a - c) ^ _rotate_left(c, 4)
    c += b
    b = (b - a) ^ _rotate_left(a, 6)
    a += c
    c = (c - b) ^ _rotate_left(b, 8)
    b += a
    a = (a - c) ^ _rotate_left(c, 16)
    c += b
    b = (b - a) ^ _rotate_left(a, 19)
    a += c
    c = (c - b) ^ _rotate_left(b, 4)
    b += a
    return a & _MASK_32, b & _MASK_32, c & _MASK_32


def _final(a: int, b: int, c: int) -> tuple[int, int]:
    c = (c ^ b) - _rotate_left(b, 14)
    a = (a ^ c) - _rotate_left(c, 11)
    b = (b ^ a) - _rotate_left(a, 25)
    c = (c ^ b) - _rotate_left(b, 16)
    a = (a ^ c) - _rotate_left(c, 4)
    b = (b ^ a) - _rotate_left(a, 14)
    c = (c ^ b) - _rotate_left(b, 24)
    return c & _MASK_32, b & _MASK_32
