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
  that was cut, or that stands inside other text (``containment.py``). Texts that are too short for it, and copies with
  edits all over, count by their Levenshtein similarity, if that is larger.
- Cosine of the weighted words (Salton). It does not depend on the order of the words, and neither does a fingerprint:
  about arccos(cosine) / π of the bits of two fingerprints differ (Charikar 2002).
- Levenshtein similarity: 1 minus the number of single-character edits divided by the length of the longer text
  (``edits.py``).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal, get_args

from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import compared_characters, normalise
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.shingles import SHINGLE
from es_simhash.similarity.containment import containment
from es_simhash.similarity.edits import levenshtein

if TYPE_CHECKING:
    from collections.abc import Mapping

Measure = Literal["either", "jaccard", "containment", "cosine", "levenshtein"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


def similarity(a: str, b: str, measure: Measure = "either", scheme: Scheme | Fingerprinter = DEFAULT) -> float:
    """Return the similarity of two texts by one of the measures, from 0 to 1.

    >>> texts = "市气象台发布暴雨橙色预警，部分路段积水", "市气象台发布暴雨红色预警，部分路段积水"
    >>> similarity(*texts, "jaccard"), round(similarity(*texts), 2)
    (0.5, 0.94)

    :param a: a text; it is normalised first.
    :param b: another text; it is normalised first.
    :param scheme: how texts are normalised; and how words are cut and weighted, for ``cosine``.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the measure is unknown.
    """
    check_measure(measure)
    chosen = scheme.scheme if isinstance(scheme, Fingerprinter) else scheme
    normalised = chosen.normalise(a), chosen.normalise(b)
    if normalised[0] == normalised[1]:
        return 1.0
    words = compared_characters(normalised[0]), compared_characters(normalised[1])
    match measure:
        case "either":
            return max(jaccard_of_normalised(*normalised), levenshtein_of_words(*words))
        case "jaccard":
            return jaccard_of_normalised(*normalised)
        case "containment":
            return max(containment(*words), levenshtein_of_words(*words))
        case "levenshtein":
            return levenshtein_of_words(*words)
        case "cosine":
            fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
            return cosine(*feature_weights(fingerprinter, [fingerprinter.tokenize(text) for text in normalised]))


def check_measure(measure: str) -> None:
    """Check the name of a measure.

    :raises InputError: if it is unknown; the message lists the known ones.
    """
    if measure not in MEASURES:
        raise InputError(f"unknown similarity measure {measure!r}: use one of {', '.join(MEASURES)}")


def shingles(normalised: str, width: int = SHINGLE) -> set[str]:
    """Return the shingles of a normalised text: every run of ``width`` of its word characters.

    Links, punctuation, white space, symbols and emoji are left out first. If ``width`` word characters or fewer are
    left, they are the only shingle. A text without word characters has no shingles.

    >>> sorted(shingles("新桥, 通车了!"))
    ['新桥通车了']

    :raises InputError: if the width is below 1.
    """
    if width < 1:
        raise InputError(f"the width of a shingle is {width}: use a whole number from 1")
    characters = compared_characters(normalised)
    if len(characters) <= width:
        return {characters} if characters else set()
    return {characters[start : start + width] for start in range(len(characters) - width + 1)}


def jaccard(a: str, b: str, width: int = SHINGLE) -> float:
    """Return the Jaccard similarity of the character shingles of two texts, from 0 to 1. It normalises them first.

    >>> jaccard("ＡＢＣＤＥＦ", "abcdef"), jaccard("abcdef", "abcdeg")
    (1.0, 0.3333333333333333)

    :raises InputError: if a text is not a string, or has a lone surrogate; if the width is below 1.
    """
    return jaccard_of_normalised(normalise(a), normalise(b), width)


def jaccard_of_normalised(a: str, b: str, width: int = SHINGLE) -> float:
    """Return the Jaccard similarity of two texts that are normalised, from 0 to 1.

    A text without word characters has similarity 1 to itself and 0 to all others.

    :raises InputError: if the width is below 1.
    """
    ours, theirs = shingles(a, width), shingles(b, width)
    both = len(ours & theirs)
    if not both:
        return 1.0 if a == b else 0.0
    return both / (len(ours) + len(theirs) - both)


def levenshtein_of_words(a: str, b: str, least: float = 0.0) -> float:
    """Return the Levenshtein similarity of the word characters of two texts; 0 if a text has none."""
    return levenshtein(a, b, least) if a and b else 0.0


def cosine(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Return the cosine of the feature weights of two texts, from 0 to 1.

    :param a: weights by feature, as :func:`feature_weights` returns them.
    :param b: the same of the other text.
    :returns: exactly 1 if the weights have the same proportions; 0 if no feature is in both.
    """
    dot = sum(weight * b.get(feature, 0) for feature, weight in a.items())
    if not dot:
        return 0.0
    # The weights are whole numbers, so only the quotient is rounded: equal proportions give exactly 1.
    return sqrt(dot * dot / (sum(weight * weight for weight in a.values()) * sum(weight**2 for weight in b.values())))


def feature_weights(fingerprinter: Fingerprinter, words: list[list[str]]) -> list[dict[str, int]]:
    """Return the weights by feature of each text, for :func:`cosine`.

    If one text has too few features for a fingerprint, all texts are weighted without that minimum.

    :param words: the words of each text.
    """
    weights = [fingerprinter.weigh(each) for each in words]
    if not all(weights):
        weights = [fingerprinter.weigh(each, min_features=1) for each in words]
    return weights
