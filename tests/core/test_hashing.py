"""Laws of the hashes: each gives the first bytes of a published hash of the word's UTF-8 form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.core.hashing import HASHES, hasher

words = st.text(max_size=40)
each_hash = pytest.mark.parametrize("name", HASHES)

_ALL = (1 << 64) - 1


def plain_murmur3(data: bytes) -> bytes:
    """MurmurHash3_x64_128 with seed 0, step by step as its author, Austin Appleby, wrote it down."""

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & _ALL

    def mixed(x: int) -> int:
        x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & _ALL
        x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & _ALL
        return x ^ x >> 33

    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for start in range(0, whole, 16):
        k1 = int.from_bytes(data[start : start + 8], "little")
        k2 = int.from_bytes(data[start + 8 : start + 16], "little")
        h1 ^= rotated(k1 * c1 & _ALL, 31) * c2 & _ALL
        h1 = ((rotated(h1, 27) + h2) * 5 + 0x52DCE729) & _ALL
        h2 ^= rotated(k2 * c2 & _ALL, 33) * c1 & _ALL
        h2 = ((rotated(h2, 31) + h1) * 5 + 0x38495AB5) & _ALL
    # A missing byte is a zero here, and a zero changes nothing in what follows.
    tail = data[whole:].ljust(16, b"\0")
    h1 ^= rotated(int.from_bytes(tail[:8], "little") * c1 & _ALL, 31) * c2 & _ALL
    h2 ^= rotated(int.from_bytes(tail[8:], "little") * c2 & _ALL, 33) * c1 & _ALL
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & _ALL
    h2 = (h2 + h1) & _ALL
    h1, h2 = mixed(h1), mixed(h2)
    h1 = (h1 + h2) & _ALL
    h2 = (h2 + h1) & _ALL
    return h1.to_bytes(8, "little") + h2.to_bytes(8, "little")


@given(words)
def test_murmur3_equals_its_plain_twin(word: str) -> None:
    assert hasher("murmur3", 8)(word) == plain_murmur3(word.encode("utf-8"))[:8]


@pytest.mark.parametrize(
    ("word", "published"),
    [
        ("", "00000000000000000000000000000000"),
        ("The quick brown fox jumps over the lazy dog", "e34bbc7bbc071b6c7a433ca9c49a9347"),
    ],
)
def test_murmur3_gives_the_published_values(word: str, published: str) -> None:
    # They are published as two numbers, highest digit first.
    halves = bytes.fromhex(published)
    assert hasher("murmur3", 16)(word) == halves[7::-1] + halves[:7:-1]


@each_hash
@given(word=words)
def test_a_shorter_hash_is_the_beginning_of_the_longer_one(name: str, word: str) -> None:
    shorter, longer = hasher(name, 8)(word), hasher(name, 16)(word)
    assert (len(shorter), len(longer)) == (8, 16)
    assert longer.startswith(shorter)


@each_hash
@given(word=words)
def test_a_word_hashes_alike_every_time(name: str, word: str) -> None:
    assert hasher(name, 8)(word) == hasher(name, 8)("".join(list(word))) == HASHES[name](word.encode("utf-8"))[:8]


@each_hash
@given(first=words, second=words)
def test_different_words_hash_differently(name: str, first: str, second: str) -> None:
    assert (hasher(name, 8)(first) == hasher(name, 8)(second)) == (first == second)
