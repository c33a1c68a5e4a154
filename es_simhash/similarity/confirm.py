"""Confirm near-duplicates: compare the texts themselves.

The measures are those of ``measures.py``. Here one text is compared with many, so what it contributes is computed once,
as TextFeatures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.normalisation import compared_characters, digest
from es_simhash.fingerprinting.shingles import distinct, in_common_with_each, shingle_numbers, shingles_of_texts
from es_simhash.search.keys import SHORT, keys_of_texts
from es_simhash.similarity.differences import contradict
from es_simhash.similarity.measures import containment, jaccard, levenshtein

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.search.keys import TextKeys
    from es_simhash.similarity.measures import Measure

MOST_TEXTS = 20
"""The number of texts that are compared with a long document: of the documents that share the most and rarest keys, or
that are nearest."""
_CHARACTERS = 20_000
_MOST_WITH_BANDS = 50
"""The most texts that are compared with one of more than ``SHORT`` word characters, which has bands."""
_MOST_WITH_GRAMS = 1_000
"""The most texts that are compared with a shorter one, which has only q-grams."""
_COMPARED_AT_ONCE = 1_000
"""Word characters of the longest text that is compared with many at once."""
_MARGIN = 0.001
"""More than the error of many Levenshtein similarities, which are computed with fewer digits."""
_ROUNDING = 1e-9
"""More than the error of a similarity, which is computed in floating point."""


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

    @cached_property
    def shingles(self) -> NDArray[np.uint64]:
        """The number of each distinct shingle of word characters, ascending."""
        return distinct(shingle_numbers(self.words))


def compute_shingles(texts: Iterable[TextFeatures]) -> None:
    """Compute the shingles of texts that have none yet. For many texts together this takes less time."""
    missing = [text for text in texts if "shingles" not in vars(text)]
    numbers, counts = shingles_of_texts([text.words for text in missing])
    for text, some in zip(missing, np.split(numbers, np.cumsum(counts)[:-1]), strict=False):
        text.shingles = distinct(some)


@dataclass(frozen=True)
class Confirm:
    """Compares texts by one measure.

    :param least: the smallest similarity of near-duplicates, from 0 to 1.
    :param measure: one of ``MEASURES``; :mod:`es_simhash.similarity.measures` explains them.
    :param numbers_agree: texts that contradict each other have the similarity 0, such as the notices of two days
        (``differences.py``).
    """

    least: float
    measure: Measure
    numbers_agree: bool = False

    def similarity(self, a: TextFeatures, b: TextFeatures) -> float:
        """Return the similarity, from 0 to 1; 1 if the normalised texts are equal.

        A Levenshtein similarity below ``least`` may count as 0.
        """
        if a.normalised == b.normalised:
            return 1.0
        similarity = 0.0
        if self.measure != "jaccard":
            similarity = levenshtein(a.words, b.words, self.least)
        if self.measure != "levenshtein":
            of_shingles = containment if self.measure == "containment" else jaccard
            similarity = max(similarity, of_shingles(a.shingles, b.shingles))
        if self.numbers_agree and similarity >= self.least and contradict(a, b):
            return 0.0
        return similarity

    def similar_among(self, text: TextFeatures, others: Iterable[TextFeatures]) -> Iterator[tuple[int, float]]:
        """Yield the index and the similarity of each text that is similar enough, in their order.

        The others are taken in steps, each sixteen times as large as the one before, because mostly the first one is
        similar, or none is.
        """
        left, first, size = iter(others), 0, 1
        while some := list(islice(left, size)):
            for index in self._may_be_similar(text, some):
                similarity = self.similarity(text, some[index])
                if similarity >= self.least:
                    yield first + index, similarity
            first, size = first + size, 16 * size

    def _may_be_similar(self, text: TextFeatures, others: Sequence[TextFeatures]) -> Sequence[int]:
        """Return the indices of the texts that may be similar enough, ascending.

        Many short texts are compared at once. A long text is compared with few, each alone.
        """
        if len(others) == 1 or not 0 < len(text.words) <= _COMPARED_AT_ONCE:
            return range(len(others))
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        found = np.zeros(len(others), dtype=np.bool_)
        if self.measure != "jaccard":
            words, cutoff = [other.words for other in others], max(0.0, self.least - _MARGIN)
            edited = cdist([text.words], words, scorer=Levenshtein.normalized_similarity, score_cutoff=cutoff)
            found |= edited[0] >= cutoff
        if self.measure != "levenshtein":
            compute_shingles(others)
            both = in_common_with_each(text.shingles, [other.shingles for other in others])
            sizes = np.array([other.shingles.size for other in others])
            fewer = np.minimum(text.shingles.size, sizes)
            whole = fewer if self.measure == "containment" else text.shingles.size + sizes - both
            found |= both >= (self.least - _ROUNDING) * whole
        return np.flatnonzero(found).tolist()
