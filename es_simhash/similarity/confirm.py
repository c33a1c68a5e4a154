"""Confirm: two texts whose fingerprints are near are near-duplicates if they are alike enough themselves.

How alike they are is measured as ``measures.py`` does it. This is the same for many pairs: what a text contributes
is made of it once, as TextFeatures, and shingles are numbers. Two different shingles get the same number with a chance
of one in 2**64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.errors import InputError
from es_simhash.fingerprinting.characters import codes_of
from es_simhash.fingerprinting.normalisation import word_characters
from es_simhash.similarity.measures import SHINGLE, check_measure, cosine, levenshtein

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.measures import Measure

_NO_CHARACTER = 0x110000  # fills up a text that is shorter than a shingle: Unicode ends before it
_FACTORS = np.array(
    # Odd, of random bits: the golden ratio's, and those of √2, √3, √5, √7 behind the point.
    [0x9E3779B97F4A7C15, 0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1],
    dtype=np.uint64,
)


def check_similarity(confirm: object) -> None:
    """Check the smallest similarity of near-duplicates.

    :raises InputError: if it is no number from 0 to 1.
    """
    number = isinstance(confirm, Real) and not isinstance(confirm, bool)
    if not number or not 0 <= confirm <= 1:  # type: ignore[operator]  # nan is neither
        raise InputError(f"confirm is {confirm!r}: use a similarity from 0 to 1, such as 0.8")


class TextFeatures:
    """What a text contributes to the measures. Each part is computed when it is first used."""

    def __init__(self, text: str, fingerprinter: Fingerprinter) -> None:
        self.normalised = fingerprinter.scheme.normalise(text)
        self._fingerprinter = fingerprinter

    @cached_property
    def shingles(self) -> NDArray[np.uint64]:
        """The number of each distinct shingle, ascending."""
        return _shingles(self.normalised)

    @cached_property
    def weights(self) -> dict[str, int]:
        """Its weighed words; none if the text has too little to say for a fingerprint."""
        return self._fingerprinter.weigh(self._fingerprinter.tokenize(self.normalised))

    @cached_property
    def all_weights(self) -> dict[str, int]:
        """Its weighed words, however little they say."""
        return self._fingerprinter.weigh(self._fingerprinter.tokenize(self.normalised), min_features=1)


@dataclass(frozen=True)
class Confirm:
    """The rule of one run.

    :param least: the similarity that near-duplicates have at least, from 0 to 1.
    :param measure: ``jaccard`` (of character shingles), ``cosine`` (of weighed words) or ``levenshtein``.
    :param fingerprinter: what cuts and weighs the words.
    :raises InputError: if there is no such similarity or measure.
    """

    least: float
    measure: Measure
    fingerprinter: Fingerprinter

    def __post_init__(self) -> None:
        check_similarity(self.least)
        check_measure(self.measure)

    def features(self, text: str) -> TextFeatures:
        """What is compared of a text.

        :raises InputError: if it is not a string, or has a lone surrogate.
        """
        return TextFeatures(text, self.fingerprinter)

    def similarity(self, a: TextFeatures, b: TextFeatures) -> float:
        """From 0 to 1; texts that differ in nothing but what normalisation takes away agree at 1.

        What doesn't agree may have a Levenshtein similarity of 0.
        """
        if a.normalised == b.normalised:
            return 1.0
        match self.measure:
            case "jaccard":
                both = np.intersect1d(a.shingles, b.shingles, assume_unique=True).size
                return both / (a.shingles.size + b.shingles.size - both) if both else 0.0
            case "levenshtein":
                return levenshtein(a.normalised, b.normalised, self.least)
            case "cosine":
                if a.weights and b.weights:
                    return cosine(a.weights, b.weights)
                return cosine(a.all_weights, b.all_weights)


def _shingles(normalised: str) -> NDArray[np.uint64]:
    characters = codes_of(word_characters(normalised)).astype(np.uint64)
    if not characters.size:
        return characters
    if characters.size < SHINGLE:
        missing = np.full(SHINGLE - characters.size, _NO_CHARACTER, dtype=np.uint64)
        characters = np.concatenate([characters, missing])
    count = characters.size - SHINGLE + 1
    numbers = characters[:count] * _FACTORS[0]
    for place in range(1, SHINGLE):
        numbers += characters[place : place + count] * _FACTORS[place]
    return np.unique(numbers)
