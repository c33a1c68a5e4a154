"""Confirm near-duplicates: compare the texts themselves.

The measures are those of ``measures.py``. Here one text is compared with many, so what it contributes is computed once,
as TextFeatures.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.similarity.measures import levenshtein, overlaps
from es_simhash.similarity.tokens import NUMBERS, is_code, tokens
from es_simhash.text.keys import MEDIUM, keys_of_words
from es_simhash.text.normalisation import (
    compared_characters,
    digest,
    without_clock,
    without_links,
    without_named_outlet,
)
from es_simhash.text.shingles import distinct, shingles_of_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.similarity.tokens import Token
    from es_simhash.text.fingerprinter import Fingerprinter
    from es_simhash.text.keys import TextKeys


def most_texts(length: int) -> int:
    """Return how many texts are compared to decide a document: those that share the most and rarest keys.

    A copy shares rarer keys than the other texts of a crowd do: of 2,311 revisions up to 60 word characters among
    64,000 titles and notices, none was behind the first 50.

    >>> most_texts(5_000), most_texts(500), most_texts(12)
    (20, 40, 50)

    :param length: word characters of its text.
    """
    return min(50, max(20, 20_000 // max(1, length)))


CONTAINED = 0.9
"""The least share of a text that stands in a longer one, of copies by the rule ``copy``."""

_DIGITS = re.compile("[0-9]+")


class TextFeatures:
    """What a text contributes to the measures. Each part is computed when it is first used.

    :param is_normalised: the text is one that ``scheme.normalise`` has returned.
    :param words: its word characters, if they are known.
    """

    def __init__(
        self, text: str, fingerprinter: Fingerprinter, *, is_normalised: bool = False, words: str | None = None
    ) -> None:
        self._words = words
        self.normalised = text if is_normalised else fingerprinter.scheme.normalise(text)
        self._fingerprinter = fingerprinter
        self.shingles: NDArray[np.uint64] | None = None
        """The number of each distinct shingle of word characters, ascending; None as long as it is not needed."""

    @cached_property
    def unlinked(self) -> str:
        """The text without its links, a named outlet, and the clock of a time stamp before it."""
        return without_clock(without_named_outlet(without_links(self.normalised)))

    @cached_property
    def words(self) -> str:
        """The word characters of the text."""
        return self._words if self._words is not None else compared_characters(self.normalised)

    @cached_property
    def template(self) -> str:
        """The text with a zero in the place of each run of digits. Notices of one form have the same."""
        return _DIGITS.sub("0", self.unlinked)

    @cached_property
    def numbers(self) -> list[Token]:
        """The numbers of the text that are compared."""
        found = tokens(self.unlinked, len(self.words), of_code=is_code(self.unlinked))
        return [token for token in found if token.kind in NUMBERS]

    @cached_property
    def values(self) -> list[str]:
        """Their values."""
        return [number.value for number in self.numbers]

    @cached_property
    def digest(self) -> str:
        """The digest of the text."""
        return digest(self.normalised, self._fingerprinter.scheme.digest)

    @cached_property
    def keys(self) -> TextKeys:
        """The keys of the text."""
        return keys_of_words([self.words])[0]


def similarities(
    text: TextFeatures, others: Sequence[TextFeatures], rule: DuplicateRule, *, exactly: bool = False
) -> list[float]:
    """Return the similarity of a text to each of n others by a rule that compares texts; 1 if both are equal.

    By ``copy`` it is the Levenshtein similarity, and where that is too small the Jaccard similarity, if it is larger;
    of a text of more than ``MEDIUM`` word characters also the containment, where ``CONTAINED`` of a text at least half
    as long stands in it.
    By ``contained`` it is the containment, and where that is too small the Levenshtein similarity, if it is larger.
    Contradictions have no part in it.

    :param exactly: also a similarity that is too small. Without it, that may be 0, which takes less time.
    """
    if not text.words:
        return [float(text.normalised == other.normalised) for other in others]
    least, is_part = rule.min_similarity or 0.0, rule.rule == "contained"

    def edits(some: Sequence[TextFeatures]) -> list[float]:
        return levenshtein(text.words, [other.words for other in some], 0.0 if exactly else least)

    def in_common(some: Sequence[TextFeatures]) -> list[float]:
        jaccards, parts = overlaps(*_shingles(text, some))
        if not is_part:
            ours, theirs = len(text.words), np.array([len(other.words) for other in some])
            short, long = np.minimum(ours, theirs), np.maximum(ours, theirs)
            counts = (parts >= CONTAINED) & (long > MEDIUM) & (2 * short >= long)
            parts = np.where(counts, np.maximum(jaccards, parts), jaccards)
        values: list[float] = parts.tolist()
        return values

    first, second = (in_common, edits) if is_part else (edits, in_common)
    values = first(others)
    if too_small := [index for index, value in enumerate(values) if value < least]:
        for index, value in zip(too_small, second([others[index] for index in too_small]), strict=True):
            values[index] = max(values[index], value)
    return values


def _shingles(
    text: TextFeatures, others: Sequence[TextFeatures]
) -> tuple[NDArray[np.uint64], list[NDArray[np.uint64]]]:
    """Return the shingles of each text. Those that are not known are computed together, which takes less time."""
    texts = [text, *others]
    if missing := [text for text in texts if text.shingles is None]:
        numbers, counts = shingles_of_texts([text.words for text in missing])
        for text, own in zip(missing, np.split(numbers, np.cumsum(counts)[:-1]), strict=True):
            text.shingles = distinct(own)
    shingles, *of_others = [text.shingles for text in texts if text.shingles is not None]
    return shingles, of_others
