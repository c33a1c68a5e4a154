"""Laws of the hashes: each gives the first bytes of a published hash of the word's UTF-8 form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.fingerprinting.votes import HASH_BITS, HASHES, hasher, hashlittle2

words = st.text(max_size=40)


@pytest.mark.parametrize(
    ("word", "published"),
    [
        ("", "00000000000000000000000000000000"),
        ("The quick brown fox jumps over the lazy dog", "e34bbc7bbc071b6c7a433ca9c49a9347"),
    ],
)
def test_murmur3_gives_the_published_values(word: str, published: str) -> None:
    # The source publishes each half as a number, highest digit first.
    halves = bytes.fromhex(published)
    assert hasher("murmur3", 16)(word) == halves[7::-1] + halves[:7:-1]


def plain_hashlittle2(data: bytes, pc: int, pb: int) -> tuple[int, int]:
    """Reference implementation: Bob Jenkins' lookup3.c, the branch that reads single bytes, in C's 32-bit numbers."""
    u32 = np.uint32

    def rot(x: np.uint32, k: int) -> np.uint32:
        return (x << u32(k)) | (x >> u32(32 - k))

    a = b = c = u32((0xDEADBEEF + len(data) + pc) & 0xFFFF_FFFF)
    key, length = list(data), len(data)
    with np.errstate(over="ignore"):
        c += u32(pb)
        while length > 12:
            a += u32(key[0] + (key[1] << 8) + (key[2] << 16) + (key[3] << 24))
            b += u32(key[4] + (key[5] << 8) + (key[6] << 16) + (key[7] << 24))
            c += u32(key[8] + (key[9] << 8) + (key[10] << 16) + (key[11] << 24))
            for k in (4, 6, 8, 16, 19, 4):  # the macro mix: three turns of a, b, c, twice
                a, b, c = _mixed_once(a, b, c, rot, k)
            key, length = key[12:], length - 12
        if not length:
            return int(c), int(b)
        for index, byte in enumerate(key):
            if index < 4:
                a += u32(byte << 8 * index)
            elif index < 8:
                b += u32(byte << 8 * (index - 4))
            else:
                c += u32(byte << 8 * (index - 8))
        c = (c ^ b) - rot(b, 14)
        a = (a ^ c) - rot(c, 11)
        b = (b ^ a) - rot(a, 25)
        c = (c ^ b) - rot(b, 16)
        a = (a ^ c) - rot(c, 4)
        b = (b ^ a) - rot(a, 14)
        c = (c ^ b) - rot(b, 24)
    return int(c), int(b)


def _mixed_once(a: Any, b: Any, c: Any, rot: Any, k: int) -> tuple[Any, Any, Any]:
    """One line of the macro mix, ``a -= c; a ^= rot(c, k); c += b``, then a, b, c change places for the next line."""
    a = (a - c) ^ rot(c, k)
    return b, c + b, a


@given(st.binary(max_size=60), st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_hashlittle2_equals_its_reference(data: bytes, primary: int, secondary: int) -> None:
    assert hashlittle2(data, primary, secondary) == plain_hashlittle2(data, primary, secondary)


FOUR_SCORE = "Four score and seven years ago"


@pytest.mark.parametrize(
    ("word", "seeds", "published"),
    [
        ("", (0, 0), (0xDEADBEEF, 0xDEADBEEF)),
        ("", (0, 0xDEADBEEF), (0xBD5B7DDE, 0xDEADBEEF)),
        ("", (0xDEADBEEF, 0xDEADBEEF), (0x9C093CCD, 0xBD5B7DDE)),
        (FOUR_SCORE, (0, 0), (0x17770551, 0xCE7226E6)),
        (FOUR_SCORE, (0, 1), (0xE3607CAE, 0xBD371DE4)),
        (FOUR_SCORE, (1, 0), (0xCD628161, 0x6CBEA4B3)),
    ],
)
def test_hashlittle2_gives_the_values_published_in_lookup3(
    word: str, seeds: tuple[int, int], published: tuple[int, int]
) -> None:
    assert hashlittle2(word.encode(), *seeds) == published  # its self-test, driver5


def test_jenkins_is_the_secondary_number_before_the_primary_one_of_two_seeds() -> None:
    assert hasher("jenkins", 16)(FOUR_SCORE).hex() == "ce7226e617770551" + "6cbea4b3cd628161"


@pytest.mark.parametrize(
    ("word", "published"),
    [
        ("", "cbf29ce484222325"),
        ("a", "af63dc4c8601ec8c"),
        ("b", "af63df4c8601f1a5"),
        ("fo", "08985907b541d342"),
        ("foobar", "85944171f73967e8"),
    ],
)
def test_fnv1a_64_gives_the_published_values(word: str, published: str) -> None:
    assert hasher("fnv1a_64", 8)(word).hex() == published  # RFC 9923


@pytest.mark.parametrize("name", [name for name, bits in HASH_BITS.items() if bits >= 128])
@given(word=words)
def test_a_shorter_hash_is_the_beginning_of_the_longer_one(name: str, word: str) -> None:
    shorter, longer = hasher(name, 8)(word), hasher(name, 16)(word)
    assert (len(shorter), len(longer)) == (8, 16)
    assert longer.startswith(shorter)


def test_every_hash_has_as_many_bits_as_it_says() -> None:
    assert {name: 8 * len(function(b"word")) for name, function in HASHES.items()} == HASH_BITS
