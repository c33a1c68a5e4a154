"""The key of a text's numbers: texts of one template that differ in a number need not be looked up.

Where the numbers of two texts must agree, a text with up to ``FEW`` numbers is a copy only of texts with exactly these:
with one more or one less the share of common numbers falls below ``AGREE``. So its numbers are one key, and a query
demands it beside the shared shingles (``KeyQuery.numbers``). A text with more numbers may have lost or changed one of
them. It has no such key, and its query demands none.

A line break or a space may stand inside a number. Two texts agree, too, if the numbers of their word characters do
(:func:`es_simhash.similarity.confirm.have_agreeing_numbers`). So a text may have two keys, and one of them is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mmh3

from es_simhash.fingerprinting.numbers import AGREE, have_words_the_same_numbers, numbers_of_normalised
from es_simhash.search.encoding import HASH_BITS, NUMBERS

if TYPE_CHECKING:
    from collections import Counter

FEW = 3
"""The most numbers of a text with a key: texts with n and n + 1 numbers never agree, as n < AGREE * (n + 1)."""
_LONGEST = 64
"""Characters of the longest numbers with a key. What is longer is no quantity."""

assert FEW < AGREE * (FEW + 1)


class NumberKeys(NamedTuple):
    """The keys of a text's numbers.

    :param stored: with the document.
    :param asked: a text with agreeing numbers has one of them; none if it may have other numbers.
    """

    stored: tuple[int, ...]
    asked: tuple[int, ...]


NO_NUMBERS = NumberKeys((), ())


def number_keys(normalised: str, words: str) -> NumberKeys:
    """Return the keys of the numbers of a text.

    >>> number_keys("3月15日停水", "3月15日停水").stored == (key_of("15,3"),)
    True

    :param normalised: the normalised text.
    :param words: its word characters without those of its links.
    """
    found = of_words = _key(numbers_of_normalised(normalised))
    if not have_words_the_same_numbers(normalised):
        of_words = _key(numbers_of_normalised(words))
    if found == of_words:
        return NO_NUMBERS if found is None else NumberKeys((found,), (found,))
    stored = tuple(key for key in (found, of_words) if key is not None)
    return NumberKeys(stored, stored if len(stored) == 2 else ())


def key_of(numbers: str) -> int:
    """Return the key of some numbers: sorted as strings, with commas between them, hashed by MurmurHash3."""
    return mmh3.hash64(numbers.encode(), signed=False)[0] >> (64 - HASH_BITS) | NUMBERS << HASH_BITS


def _key(numbers: Counter[str]) -> int | None:
    if not 0 < numbers.total() <= FEW:
        return None
    together = ",".join(sorted(numbers.elements()))
    return key_of(together) if len(together) <= _LONGEST else None
