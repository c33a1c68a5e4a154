"""Confirm near-duplicates: compare the texts themselves.

The measures are those of ``measures.py``. Here one text is compared with many, so what it contributes is computed once,
as TextFeatures.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.similarity.differences import contradict
from es_simhash.similarity.measures import containment, jaccard, levenshtein
from es_simhash.text.keys import SHORT, keys_of_texts
from es_simhash.text.normalisation import compared_characters, digest
from es_simhash.text.shingles import distinct, shingles_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.text.fingerprinter import Fingerprinter
    from es_simhash.text.keys import TextKeys

MOST_TEXTS = 20
"""The number of texts that are compared with a long document: of the documents that share the most and rarest keys, or
that are nearest."""
_CHARACTERS = 20_000
_MOST_WITH_BANDS = 50
"""The most texts that are compared with one of more than ``SHORT`` word characters, which has bands."""
_MOST_WITH_GRAMS = 1_000
"""The most texts that are compared with a shorter one, which has only q-grams."""
_AT_ONCE = 1_000
"""Word characters of the longest text that is compared with many at once. A longer one is mostly compared with few."""


def most_texts(length: int | None) -> int:
    """Return how many texts are compared with a document.

    Work is limited, and not the number of texts: a title takes 1 µs, and very many titles resemble each other. The
    number of shared q-grams tells little of how similar titles are. The number of shared bands tells more, so fewer
    longer texts are enough.

    >>> most_texts(None), most_texts(5_000), most_texts(100), most_texts(40), most_texts(12)
    (20, 20, 50, 500, 1000)

    :param length: word characters of its text; None if they are not known.
    """
    if not length:
        return MOST_TEXTS
    most = _MOST_WITH_GRAMS if length <= SHORT else _MOST_WITH_BANDS
    return min(most, max(MOST_TEXTS, _CHARACTERS // length))


class TextFeatures:
    """What a text contributes to the measures. Each part is computed when it is first used.

    :param is_normalised: the text is one that ``scheme.normalise`` has returned.
    """

    def __init__(self, text: str, fingerprinter: Fingerprinter, *, is_normalised: bool = False) -> None:
        self.normalised = text if is_normalised else fingerprinter.scheme.normalise(text)
        self._fingerprinter = fingerprinter
        self.shingles: NDArray[np.uint64] | None = None
        """The number of each distinct shingle of word characters, ascending; None as long as it is not needed."""

    @cached_property
    def words(self) -> str:
        """The word characters of the text, without its links."""
        return compared_characters(self.normalised)

    @cached_property
    def digest(self) -> str:
        """The digest of the text."""
        return digest(self.normalised, self._fingerprinter.scheme.digest)

    @cached_property
    def keys(self) -> TextKeys:
        """The keys of the text."""
        return keys_of_texts([self.normalised])[0]


def similar_among(
    text: TextFeatures, others: Iterable[TextFeatures], rule: DuplicateRule
) -> Iterator[tuple[int, float]]:
    """Yield the index and the similarity of each text that is similar enough by a rule that compares texts, in order.

    The others of a short text are taken in steps, each sixteen times as large as the one before, because mostly the
    first one is similar, or none is. Texts that contradict each other are not similar, such as the notices of two days
    (``differences.py``), unless the rule has ``numbers_agree=False``.
    """
    least = rule.confirm or 0.0
    left, first, size = iter(others), 0, 1
    while some := list(islice(left, size)):
        values = similarities(text, some, least, is_part=rule.rule == "contained")
        for index in np.flatnonzero(values >= least).tolist():
            if not (rule.numbers_agree and contradict(text, some[index])):
                yield first + index, float(values[index])
        first, size = first + size, 16 * size if len(text.words) <= _AT_ONCE else 1


def similarities(
    text: TextFeatures, others: Sequence[TextFeatures], least: float, *, is_part: bool = False
) -> NDArray[np.float64]:
    """Return the similarity of a text to each of n others, shape (n,); 0 for one that is below ``least``.

    Contradictions have no part in it. It is 1 if the normalised texts are equal.

    :param is_part: measure how much of the shorter text stands in the longer one.
    """
    if not text.words:
        return np.array([float(text.normalised == other.normalised) for other in others])
    shingles, *of_others = _shingles([text, *others])
    of_shingles = (containment if is_part else jaccard)(shingles, of_others)
    return np.maximum(levenshtein(text.words, [other.words for other in others], least), of_shingles)


def _shingles(texts: Sequence[TextFeatures]) -> list[NDArray[np.uint64]]:
    """Return the shingles of each text. Those that are not known are computed together, which takes less time."""
    missing = [text for text in texts if text.shingles is None]
    if missing:
        numbers, counts = shingles_of_texts([text.words for text in missing])
        for text, own in zip(missing, np.split(numbers, np.cumsum(counts)[:-1]), strict=True):
            text.shingles = distinct(own)
    return [text.shingles for text in texts if text.shingles is not None]
