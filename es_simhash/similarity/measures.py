"""Measures of how similar two texts are.

Three measures that don't depend on fingerprints, all of normalised text, from 0 to 1: texts that differ in nothing but
what normalisation takes away agree at 1.

- Jaccard similarity of character shingles (Broder, "On the resemblance and containment of documents", 1997): the
  shingles that both have, of those that either has. It sees the order of words, and it is what a near-duplicate can be
  confirmed by.
- Cosine of the weighed words (Salton): blind to order, as a fingerprint is, in which about arccos(cosine) / π of the
  bits differ (Charikar 2002).
- Levenshtein similarity: 1 less the share of the longer text that has to be edited, a character at a time (Levenshtein
  1966). For short texts, of which one edit takes away many shingles; its time grows with the product of the lengths.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal

from es_simhash.errors import InputError
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

SHINGLE = 5
"""How many characters a shingle has."""

Measure = Literal["jaccard", "cosine", "levenshtein"]
MEASURES: tuple[Measure, ...] = ("jaccard", "cosine", "levenshtein")


def similarity(a: str, b: str, measure: Measure = "jaccard", scheme: Scheme | Fingerprinter = DEFAULT) -> float:
    """One of the measures: from 0 to 1.

    >>> similarity("市气象台发布暴雨橙色预警，部分路段积水", "市气象台发布暴雨红色预警，部分路段积水")
    0.5

    :param scheme: what cuts and weighs the words for ``cosine``; it has no part in ``jaccard``.
    :raises InputError: if a text is not a string, or has a lone surrogate; if there is no such measure.
    """
    check_measure(measure)
    normalised = normalise(a), normalise(b)
    if normalised[0] == normalised[1]:
        return 1.0
    match measure:
        case "jaccard":
            return jaccard(*normalised)
        case "levenshtein":
            return levenshtein(*normalised)
        case "cosine":
            fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
            return cosine(*weighed(fingerprinter, [fingerprinter.tokenize(text) for text in normalised]))


def check_measure(measure: str) -> None:
    """Refuse what is no measure.

    :raises InputError: naming those there are.
    """
    if measure not in MEASURES:
        raise InputError(f"the similarity {measure!r} is not known: use one of {', '.join(MEASURES)}")


def shingles(normalised: str, width: int = SHINGLE) -> set[str]:
    """Every ``width`` characters of a normalised text that follow each other; a shorter text is its only shingle.

    :raises InputError: if the width is below 1.
    """
    if width < 1:
        raise InputError(f"a shingle of {width} characters: use a whole number from 1")
    if len(normalised) <= width:
        return {normalised}
    return {normalised[start : start + width] for start in range(len(normalised) - width + 1)}


def jaccard(a: str, b: str, width: int = SHINGLE) -> float:
    """Jaccard similarity of the character shingles of two texts, which are normalised first: from 0 to 1.

    >>> jaccard("ＡＢＣＤＥＦ", "abcdef"), jaccard("abcdef", "abcdeg")
    (1.0, 0.3333333333333333)

    :raises InputError: if a text is not a string, or has a lone surrogate; if the width is below 1.
    """
    ours, theirs = shingles(normalise(a), width), shingles(normalise(b), width)
    both = len(ours & theirs)
    return both / (len(ours) + len(theirs) - both)


def levenshtein(a: str, b: str, least: float = 0.0) -> float:
    """Levenshtein similarity of two normalised texts: from 0 to 1.

    >>> levenshtein("暴雨橙色预警", "暴雨红色预警")
    0.8333333333333334

    :param least: what is clearly below it may be given as 0, which is found faster.
    """
    from rapidfuzz.distance import Levenshtein  # no command should wait for it that compares no texts

    return Levenshtein.normalized_similarity(a, b, score_cutoff=max(0.0, least - 0.001))


def cosine(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Cosine of two texts' weights of features, as ``weigh`` gives them: from 0 to 1.

    1 exactly if the weights are in the same proportions; 0 if they have no feature in common, or either has none.
    """
    dot = sum(weight * b.get(feature, 0) for feature, weight in a.items())
    if not dot:
        return 0.0
    # The quotient of whole numbers is rounded once: equal ones give 1.
    return sqrt(dot * dot / (sum(weight * weight for weight in a.values()) * sum(weight**2 for weight in b.values())))


def weighed(fingerprinter: Fingerprinter, words: list[list[str]]) -> list[dict[str, int]]:
    features = [fingerprinter.weigh(each) for each in words]
    if not all(features):  # too little for a fingerprint: what there is
        features = [fingerprinter.weigh(each, min_features=1) for each in words]
    return features
