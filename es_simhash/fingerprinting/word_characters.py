"""Word characters: what is left of a normalised text without punctuation, symbols and white space.

Copies differ in punctuation, line breaks and spaces far more often than in words. What compares texts by characters
(MinHash bands, q-grams, containment) therefore takes word characters only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.normalisation import normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHINGLE = 5
"""How many characters a shingle has."""

_NO_TEXT = "\ud800"  # fills up a text that is shorter than a shingle: no normalised text has a lone surrogate
_FACTORS = np.array(
    # Odd, of random bits: the fractional digits of the square roots of 2, 3, 5, 7 and 11, the last bit set.
    [0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1, 0x510E527FADE682D1],
    dtype=np.uint64,
)

# ``\w`` has the letters, digits and Han characters, and the low line. The other ranges are the accents and vowel signs
# that a word of several scripts contains as characters of their own; tokens.py keeps the same ones.
_OTHERS = re.compile("[^\\w\u0300-\u036f\u0900-\u0963\u0966-\u109f]+")


def word_characters(text: str) -> str:
    """Normalise a text and return its letters, digits and Han characters, with nothing between them.

    >>> word_characters("Ｆ-35 降落，10:30。")
    'f35降落1030'

    :raises InputError: if the text is not a string, or has a lone surrogate.
    """
    return of_normalised(normalise(text))


def of_normalised(normalised: str) -> str:
    """Return the word characters of a text that is normalised already."""
    # Without the spaces the expression has a third less to do on Latin text.
    return _OTHERS.sub("", normalised.replace(" ", "")).replace("_", "")


def shingle_numbers(words: str) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each ``SHINGLE`` characters that follow each other, in their order.

    The same shingle has the same number on every machine; two different ones share a number with a chance of 1 in
    2**64. A text that is shorter than a shingle has one number; an empty one has none.

    :param words: the word characters of a text.
    """
    if not words:
        return np.zeros(0, dtype=np.uint64)
    if len(words) < SHINGLE:
        words = words + _NO_TEXT * (SHINGLE - len(words))
    characters = np.frombuffer(words.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    count = characters.size - SHINGLE + 1
    numbers: NDArray[np.uint64] = characters[:count] * _FACTORS[0]
    for index in range(1, SHINGLE):
        numbers += characters[index : index + count] * _FACTORS[index]
    return numbers
