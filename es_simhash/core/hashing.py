"""Hash functions of words, by name. Each gives the first bytes of a fixed, published hash of the UTF-8 form."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import mmh3

if TYPE_CHECKING:
    from collections.abc import Callable


def _murmur3(data: bytes) -> bytes:
    return mmh3.mmh3_x64_128_digest(data)


HASHES: dict[str, Callable[[bytes], bytes]] = {
    "murmur3": _murmur3,  # MurmurHash3 x64 128 (Austin Appleby), seed 0, little-endian halves as mmh3 gives them
}


@lru_cache(maxsize=8)
def hasher(name: str, size: int) -> Callable[[str], bytes]:
    """A function from a word to the first ``size`` bytes of its hash; it remembers a quarter of a million words."""
    function = HASHES[name]

    @lru_cache(maxsize=1 << 18)
    def hash_word(word: str) -> bytes:
        return function(word.encode())[:size]

    return hash_word
