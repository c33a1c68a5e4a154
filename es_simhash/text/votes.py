"""The last step of Simhash: hash the features, add their votes on each bit, and take the signs.

The hash of each feature votes on every bit, with the weight of the feature: for the bit where the hash has a 1, against
it where the hash has a 0. The sign of the sum of the votes is the bit.

Each hash function returns the first bytes of a fixed, published hash of the feature's UTF-8 form:

``murmur3``
    MurmurHash3 x64 128 (Austin Appleby), seed 0, little-endian halves as mmh3 gives them. This is the default: it is
    by far the fastest here, and every bit of it depends on every character.
``jenkins``
    lookup3 (Bob Jenkins, 2006, https://burtleburtle.net/bob/c/lookup3.c), function ``hashlittle2``: it makes two
    32-bit integers from two seeds. Its author combines them into 64 bits as ``*pc + (*pb << 32)``. The first 8 bytes
    are that number from the seeds 0 and 0, highest byte first. Bytes 9 to 16 are that number with 1 as the primary
    seed (``*pc``).
``fnv1a_64``
    FNV-1a of 64 bits (Fowler, Noll and Vo; http://www.isthe.com/chongo/tech/comp/fnv/), highest byte first. It has no
    more bits. Versions in Java that read the ``char`` of a string hash UTF-16 units: they have the same bits for ASCII
    words alone.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PART = 10_000
"""Features that are hashed together, so that memory stays small."""
_EXACT = 1 << 53
"""Doubles add integers exactly while no sum reaches this."""
LONGEST_KEPT, MOST_KEPT = 20, 1 << 16
"""The hashes of words of so many characters, and of so many words, are kept."""
_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1


def _jenkins(data: bytes) -> bytes:
    halves = (hashlittle2(data, primary, 0) for primary in (0, 1))
    return b"".join((secondary << 32 | primary).to_bytes(8, "big") for primary, secondary in halves)


def _fnv1a_64(data: bytes) -> bytes:
    hashed = 0xCBF29CE484222325
    for byte in data:
        hashed = (hashed ^ byte) * 0x100000001B3 & _MASK_64
    return hashed.to_bytes(8, "big")


HASHES: dict[str, Callable[[bytes], bytes]] = {
    "murmur3": mmh3.mmh3_x64_128_digest,
    "jenkins": _jenkins,
    "fnv1a_64": _fnv1a_64,
}


class _Hashes(dict[str, bytes]):
    """By word, the first ``size`` bytes of its hash. Those of short words are kept, until they are too many.

    A dictionary finds one in less time than a function in Python is called, so ``cache_of_short`` would be too slow.
    """

    def __init__(self, function: Callable[[bytes], bytes], size: int) -> None:
        super().__init__()
        self._function, self._size = function, size

    def __missing__(self, word: str) -> bytes:
        hashed = self._function(word.encode())[: self._size]
        if len(word) <= LONGEST_KEPT:
            if len(self) >= MOST_KEPT:
                self.clear()
            self[word] = hashed
        return hashed


@lru_cache(maxsize=8)
def hasher(name: str, size: int) -> Callable[[str], bytes]:
    """Return a function from a word to the first ``size`` bytes of its hash."""
    return _Hashes(HASHES[name], size).__getitem__


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


# Intermediate values may exceed 32 bits or be negative. Their lowest 32 bits are correct at every step. Each step
# changes one of the three numbers, and the next step the next one: so they change places.


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for by in (4, 6, 8, 16, 19, 4):
        a, b, c = b, c + b, (a - c) ^ _rotate_left(c, by)
    return a & _MASK_32, b & _MASK_32, c & _MASK_32


def _final(a: int, b: int, c: int) -> tuple[int, int]:
    for by in (14, 11, 25, 16, 4, 14, 24):
        a, b, c = b, (c ^ b) - _rotate_left(b, by), a
    return b & _MASK_32, a & _MASK_32


def aggregate(texts: Sequence[Mapping[str, int]], hash_name: str, bits: int, *, part: int = PART) -> list[int]:
    """Add the votes of the features of each text on each bit, and return the signs of the sums.

    :param texts: for each text, the integer weight of each of its features. Their order does not matter.
    :param hash_name: the hash of a feature, one of ``HASHES``.
    :param part: so many features are hashed together, of one text or of many.
    :returns: for each text an integer of ``bits`` bits. Bit i (from the highest) is 1 where the votes for it are the
        majority.
    """
    hash_word = hasher(hash_name, bits // 8)
    # The sum of all votes +w and -w is positive exactly where the votes +w alone are over half of the total weight.
    # So one matrix product of integers is enough.
    totals = [sum(weights.values()) for weights in texts]
    # A product of doubles is by far the fastest. Python's integers are always exact.
    number_type = np.float64 if max(totals, default=0) < _EXACT else np.object_
    ends = list(accumulate(map(len, texts)))
    words, weights_of_words = chain.from_iterable(texts), chain.from_iterable(weights.values() for weights in texts)
    votes_for: Any = np.zeros((len(texts), bits), number_type)
    text = start = 0
    while hashes := b"".join(map(hash_word, islice(words, part))):
        signs = np.unpackbits(np.frombuffer(hashes, np.uint8)).reshape(-1, bits).astype(number_type)
        votes: Any = np.fromiter(islice(weights_of_words, part), number_type, len(signs))
        first = 0
        while first < len(signs):
            end = min(ends[text] - start, len(signs))
            votes_for[text] += votes[first:end] @ signs[first:end]
            first, text = end, text + (end + start == ends[text])
        start += len(signs)
    made = np.packbits(np.asarray(2 * votes_for > np.array(totals, number_type)[:, None], np.bool_), axis=1)
    return [int.from_bytes(bits_of_text.tobytes(), "big") for bits_of_text in made]
