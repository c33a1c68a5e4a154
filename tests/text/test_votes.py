"""Laws of the hashes: each gives the first bytes of a published hash of the word's UTF-8 form."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from es_simhash.text.votes import hasher, hashlittle2

words = st.text(max_size=40)


@pytest.mark.parametrize(
    ("name", "word", "published"),
    [
        # The source publishes each half as a number, highest digit first.
        ("murmur3", "", "0000000000000000 0000000000000000"),
        ("murmur3", "The quick brown fox jumps over the lazy dog", "6c1b07bc7bbc4be3 47939ac4a93c437a"),
        # The secondary number before the primary one, of two seeds.
        ("jenkins", "Four score and seven years ago", "ce7226e617770551 6cbea4b3cd628161"),
        # draft-eastlake-fnv, and test_fnv.c of the authors
        ("fnv1a_64", "", "cbf29ce484222325"),
        ("fnv1a_64", "a", "af63dc4c8601ec8c"),
        ("fnv1a_64", "foobar", "85944171f73967e8"),
        ("fnv1a_64", "chongo was here!\n", "46810940eff5f915"),
    ],
)
def test_a_hash_gives_the_published_values(name: str, word: str, published: str) -> None:
    assert hasher(name, 8 * len(published.split()))(word) == bytes.fromhex(published)


def test_hashlittle2_of_each_length_is_that_of_a_literal_copy_of_lookup3_c() -> None:
    made = [hashlittle2(bytes(range(length)), 1, 2) for length in range(61)]
    assert hashlib.sha256(repr(made).encode()).hexdigest()[:16] == "4f5750a0b28ec46a"


@pytest.mark.parametrize("name", ["murmur3", "jenkins"])
@given(word=words)
def test_a_shorter_hash_is_the_beginning_of_the_longer_one(name: str, word: str) -> None:
    shorter, longer = hasher(name, 8)(word), hasher(name, 16)(word)
    assert (len(shorter), len(longer)) == (8, 16)
    assert longer.startswith(shorter)
