"""Hash functions of words, by name. Each gives the first bytes of a fixed, published hash of the UTF-8 form.

``murmur3``
    MurmurHash3 x64 128 (Austin Appleby), seed 0, little-endian halves as mmh3 gives them. The default: by far the
    fastest here, and every bit of it depends on every character.
``jenkins``
    lookup3 (Bob Jenkins, 2006, https://burtleburtle.net/bob/c/lookup3.c), ``hashlittle2``: two numbers of 32 bits from
    two seeds. Its author makes 64 bits of them as ``*pc + (*pb << 32)``: that number, highest byte first, from the
    seeds 0 and 0. The bytes 9 to 16 are the same from the primary seed (``*pc``) 1.
``fnv1a_64``
    FNV-1a, 64 bits (Fowler, Noll and Vo; RFC 9923), highest byte first. There is no second half: the low bits of FNV-1a
    from another offset basis are those from the first one, flipped or not, so that votes would be counted twice. Its
    high bits depend little on a word's last character: 19 of the 64 are the same in over 85 % of the pairs of words of
    two characters that begin alike (in half of them by the other two hashes). For those who have FNV fingerprints.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from collections.abc import Callable

_ALL_32 = (1 << 32) - 1
_ALL_64 = (1 << 64) - 1


def _murmur3(data: bytes) -> bytes:
    return mmh3.mmh3_x64_128_digest(data)


def _jenkins(data: bytes) -> bytes:
    halves = (hashlittle2(data, primary, 0) for primary in (0, 1))
    return b"".join((secondary << 32 | primary).to_bytes(8, "big") for primary, secondary in halves)


def _fnv1a_64(data: bytes) -> bytes:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & _ALL_64
    return value.to_bytes(8, "big")


HASHES: dict[str, Callable[[bytes], bytes]] = {"murmur3": _murmur3, "jenkins": _jenkins, "fnv1a_64": _fnv1a_64}

HASH_BITS = {"murmur3": 128, "jenkins": 128, "fnv1a_64": 64}
"""How many bits each of them has."""


@lru_cache(maxsize=8)
def hasher(name: str, size: int) -> Callable[[str], bytes]:
    """A function from a word to the first ``size`` bytes of its hash; it remembers a quarter of a million words."""
    assert 8 * size <= HASH_BITS[name], "the Scheme sees to that"
    function = HASHES[name]

    @lru_cache(maxsize=1 << 18)
    def hash_word(word: str) -> bytes:
        return function(word.encode())[:size]

    return hash_word


def hashlittle2(data: bytes, primary: int, secondary: int) -> tuple[int, int]:
    """Jenkins' lookup3 of two seeds, 32 bits each: the primary hash (``*pc`` in C) and the secondary one (``*pb``)."""
    a = b = c = (0xDEADBEEF + len(data) + primary) & _ALL_32
    c = (c + secondary) & _ALL_32
    if not data:
        return c, b
    blocks = (len(data) - 1) // 12
    # Missing bytes count as zeros; and at least one byte is left for the last block, a whole one if need be.
    padded = data.ljust(12 * blocks + 12, b"\0")
    numbers = [int.from_bytes(padded[start : start + 4], "little") for start in range(0, len(padded), 4)]
    for block in range(0, 3 * blocks, 3):
        a, b, c = _mixed(a + numbers[block], b + numbers[block + 1], c + numbers[block + 2])
    return _final(a + numbers[-3], b + numbers[-2], c + numbers[-1])


def _rotated(value: int, by: int) -> int:
    value &= _ALL_32
    return value << by | value >> (32 - by)


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    # Numbers may grow beyond 32 bits, or below 0, on the way: the lowest 32 bits are right all the time.
    a = (a - c) ^ _rotated(c, 4)
    c += b
    b = (b - a) ^ _rotated(a, 6)
    a += c
    c = (c - b) ^ _rotated(b, 8)
    b += a
    a = (a - c) ^ _rotated(c, 16)
    c += b
    b = (b - a) ^ _rotated(a, 19)
    a += c
    c = (c - b) ^ _rotated(b, 4)
    b += a
    return a & _ALL_32, b & _ALL_32, c & _ALL_32


def _final(a: int, b: int, c: int) -> tuple[int, int]:
    c = (c ^ b) - _rotated(b, 14)
    a = (a ^ c) - _rotated(c, 11)
    b = (b ^ a) - _rotated(a, 25)
    c = (c ^ b) - _rotated(b, 16)
    a = (a ^ c) - _rotated(c, 4)
    b = (b ^ a) - _rotated(a, 14)
    c = (c ^ b) - _rotated(b, 24)
    return c & _ALL_32, b & _ALL_32
