"""Shingles of a text as numbers.

Copies differ in punctuation, line breaks and spaces far more often than in words. So shingles are of word characters
only (:func:`es_simhash.text.normalisation.compared_characters`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from es_simhash.text.characters import HAN, codes_of, kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

N = TypeVar("N", np.uint32, np.uint64)

SHINGLE = 5
"""How many characters a shingle has."""

_NO_TEXT = 0xD800  # fills up a text that is shorter than a shingle: no normalised text has a lone surrogate
FACTORS = np.array(
    # Odd, of random bits: the fractional digits of the square roots of 2, 3, 5, 7 and 11, the last bit set.
    [0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1, 0x510E527FADE682D1],
    dtype=np.uint64,
)
"""The number of a shingle is the sum of its code points times these."""


class Widths(NamedTuple):
    """How many characters a shingle has: one that starts with a Han character, and one of the other characters."""

    han: int
    other: int


ALIKE = Widths(SHINGLE, SHINGLE)


def shingles_of_texts(texts: Sequence[str], widths: Widths = ALIKE) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return a number of 64 bits for each shingle of n texts, one text after the other, and how many each text has.

    A shingle starts at each character behind which the text is long enough for it. The same shingle has the same number
    on every machine; two different ones share a number with a chance of 1 in 2**64. A text that is shorter than a
    shingle has one number; an empty one has none. For many short texts together this takes a tenth of the time.

    :param texts: the word characters of each.
    :param widths: up to ``SHINGLE`` each.
    :returns: the numbers, and an array of shape (n,).
    """
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    of_text = np.repeat(np.arange(len(texts)), lengths)
    codes = codes_of("".join(texts))
    # So each character starts a shingle; those that reach beyond their text are left out.
    places = np.arange(len(codes)) + of_text * (SHINGLE - 1)
    padded = np.full(len(codes) + len(texts) * (SHINGLE - 1), _NO_TEXT, dtype=np.uint64)
    padded[places] = codes
    signed = padded[: -SHINGLE + 1].view(np.int64)  # NumPy 2.0 takes by no others
    is_han = kinds().take(signed) & HAN != 0
    numbers = np.zeros(len(is_han), dtype=np.uint64)
    for index in range(max(widths)):
        terms = padded[index : index + len(is_han)] * FACTORS[index]
        if index >= widths.han:
            terms[is_han] = 0
        if index >= widths.other:
            terms[~is_han] = 0
        numbers += terms
    numbers, is_han = numbers[places], is_han[places]
    ends = np.cumsum(lengths)
    whole = np.where(is_han, widths.han, widths.other) <= ends[of_text] - np.arange(len(codes))
    counts = np.bincount(of_text[whole], minlength=len(texts))
    short = (counts == 0) & (lengths > 0)
    whole[(ends - lengths)[short]] = True
    counts[short] = 1
    return numbers[whole], counts


def distinct(numbers: NDArray[N]) -> NDArray[N]:
    """Return the distinct numbers, ascending."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if ordered.size else ordered


def in_common(a: NDArray[np.uint64], others: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """Return how many numbers an array has in common with each of n others, shape (n,).

    :param a: distinct numbers, ascending; each of the others, too.
    """
    ends = np.cumsum([0, *map(len, others)])
    every = np.concatenate(others)
    counted = np.zeros(len(every) + 1, dtype=np.int64)
    if a.size:
        np.cumsum(a.take(np.searchsorted(a, every), mode="clip") == every, out=counted[1:])
    common: NDArray[np.int64] = counted[ends[1:]] - counted[ends[:-1]]
    return common


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers with their bits mixed: the last step of SplitMix64 (Steele, Lea and Flood, 2014)."""
    mixed = numbers >> np.uint64(30)
    mixed ^= numbers
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
