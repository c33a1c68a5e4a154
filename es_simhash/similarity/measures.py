"""Measures of how similar two texts are.

All of them compare normalised texts and return a number from 0 to 1. None needs a fingerprint. Texts that are equal
after normalisation have similarity 1. Punctuation, white space, emoji and links have no effect (for the cosine, only
white space has none).

- ``either``: the Jaccard or the Levenshtein similarity, whichever is larger. It is the default. One edit changes five
  shingles, so edits all over a text lower its Jaccard similarity far more than its Levenshtein similarity. Sentences in
  another order do the opposite.
- Jaccard similarity of character shingles (Broder, "On the resemblance and containment of documents", 1997): the number
  of shingles that both texts have, divided by the number that at least one has. It depends on the order of the words.
- Containment (the same source): the share of the shingles of the shorter text that the longer one has. It finds a copy
  that was cut, or that stands inside other text, which the Jaccard similarity does not: that is at most the ratio of
  their sizes. Texts that are too short for it, and copies with edits all over, count by their Levenshtein similarity,
  if that is larger.
- Cosine of the weighted words (Salton). It does not depend on the order of the words, and neither does a fingerprint:
  about arccos(cosine) / π of the bits of two fingerprints differ (Charikar 2002).
- Levenshtein similarity: 1 minus the number of single-character edits divided by the length of the longer text
  (``edits.py``).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal, get_args

from es_simhash.errors import InputError
from es_simhash.fingerprinting.shingles import in_common

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

Measure = Literal["either", "jaccard", "containment", "cosine", "levenshtein"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

SHORTEST = 50
"""Distinct shingles that the shorter text has at least for containment. A shorter one is a phrase that stands in many
texts. A text of 61 characters has 57 shingles, if none comes twice."""


def check_measure(measure: str) -> None:
    """Check the name of a measure.

    :raises InputError: if it is unknown; the message lists the known ones.
    """
    if measure not in MEASURES:
        raise InputError(f"unknown similarity measure {measure!r}: use one of {', '.join(MEASURES)}")


def jaccard(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Return the Jaccard similarity of the shingles of two texts, from 0 to 1; 0 if neither has any.

    :param a: distinct numbers of the shingles, ascending.
    :param b: the same of the other text.
    """
    both = in_common(a, b)
    either = a.size + b.size - both
    return both / either if either else 0.0


def containment(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Return the share of the shingles of the text that has fewer that the other has, too.

    :param a: distinct numbers of the shingles, ascending.
    :param b: the same of the other text.
    :returns: from 0 to 1. 0 if the text with fewer has fewer than ``SHORTEST``, unless both are equal.
    """
    fewer = min(a.size, b.size)
    both = in_common(a, b)
    if fewer < SHORTEST and not both == a.size == b.size != 0:
        return 0.0
    return both / fewer


def cosine(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Return the cosine of the feature weights of two texts, from 0 to 1.

    :param a: weights by feature, in whole numbers.
    :param b: the same of the other text.
    :returns: exactly 1 if the weights have the same proportions; 0 if no feature is in both.
    """
    dot = sum(weight * b.get(feature, 0) for feature, weight in a.items())
    if not dot:
        return 0.0
    # The weights are whole numbers, so only the quotient is rounded: equal proportions give exactly 1.
    return sqrt(dot * dot / (sum(weight * weight for weight in a.values()) * sum(weight**2 for weight in b.values())))
