"""Compare two texts: how alike they are, and why their fingerprints differ where they do.

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

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Literal

from es_simhash.core.fingerprint import Fingerprint, Fingerprinter
from es_simhash.core.scheme import DEFAULT, Scheme
from es_simhash.core.text import normalise
from es_simhash.core.units import UNIT
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

SHINGLE = 5
"""How many characters a shingle has."""

Verdict = Literal["exact_duplicate", "near_duplicate", "different"]

Measure = Literal["jaccard", "cosine", "levenshtein"]
MEASURES: tuple[Measure, ...] = ("jaccard", "cosine", "levenshtein")


@dataclass(frozen=True)
class Pull:
    """A feature that weighs more in one text than in the other, and so pulls their fingerprints apart.

    :param weight: what it weighs in the one.
    :param other: what it weighs in the other, less; 0 where it is not there.
    """

    feature: str
    weight: float
    other: float


@dataclass(frozen=True)
class Side:
    """What there is to say of one of the two texts.

    :param pulls: what weighs more in it than in the other, the largest difference first.
    :param stop_words: its words that were dropped because they are on the list, sorted.
    :param short_words: its other words that were dropped because they have one character, sorted.
    """

    fingerprint: Fingerprint
    pulls: tuple[Pull, ...]
    stop_words: tuple[str, ...]
    short_words: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two texts, a and b, side by side.

    :param distance: how many bits differ; None if either text has too little to say.
    :param differing: which bits differ, 0 being the highest; empty without a distance.
    :param matching: for each segment, whether it is the same in both; empty without a distance.
    :param jaccard: of shingles of ``SHINGLE`` characters, from 0 to 1.
    :param cosine: of the weighed words, from 0 to 1.
    :param verdicts: what b is to a at each max_distance, from 0 to the largest of the Scheme.
    """

    scheme: Scheme
    a: Side
    b: Side
    distance: int | None
    differing: tuple[int, ...]
    matching: tuple[bool, ...]
    jaccard: float
    cosine: float
    verdicts: tuple[Verdict, ...]


def compare(a: str, b: str, scheme: Scheme | Fingerprinter = DEFAULT) -> Comparison:
    """Compare two texts under a Scheme; with tables of one's own, under a Fingerprinter that has them.

    >>> made = compare("市气象台发布暴雨橙色预警，部分路段积水", "市气象台发布暴雨红色预警，部分路段积水")
    >>> made.distance, round(made.jaccard, 2), made.a.pulls
    (8, 0.5, (Pull(feature='橙色', weight=1.0, other=0.0),))

    :raises InputError: if a text is not a string, or has a lone surrogate.
    """
    fingerprinter = scheme if isinstance(scheme, Fingerprinter) else Fingerprinter(scheme)
    scheme = fingerprinter.scheme
    ours, theirs = fingerprinter.fingerprint(a), fingerprinter.fingerprint(b)
    normalised = normalise(a), normalise(b)
    words = [fingerprinter.tokenize(text) for text in normalised]
    features = _weighed(fingerprinter, words)
    distance = ours.distance(theirs)
    exact = ours.is_copy(theirs)
    return Comparison(
        scheme=scheme,
        a=_side(fingerprinter, ours, words[0], *features),
        b=_side(fingerprinter, theirs, words[1], *reversed(features)),
        distance=distance,
        differing=_differing(ours, theirs),
        matching=tuple(one == other for one, other in zip(ours.segments, theirs.segments, strict=False)),
        jaccard=jaccard(*normalised),
        cosine=1.0 if normalised[0] == normalised[1] else cosine(*features),
        verdicts=tuple(_verdict(exact, distance, k) for k in range(scheme.max_distance + 1)),
    )


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
            return cosine(*_weighed(fingerprinter, [fingerprinter.tokenize(text) for text in normalised]))


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


def _weighed(fingerprinter: Fingerprinter, words: list[list[str]]) -> list[dict[str, int]]:
    features = [fingerprinter.weigh(each) for each in words]
    if not all(features):  # too little for a fingerprint: what there is
        features = [fingerprinter.weigh(each, min_features=1) for each in words]
    return features


def _side(
    fingerprinter: Fingerprinter, made: Fingerprint, words: list[str], ours: dict[str, int], theirs: dict[str, int]
) -> Side:
    more = [(feature, weight, theirs.get(feature, 0)) for feature, weight in ours.items()]
    more = sorted((each for each in more if each[1] > each[2]), key=lambda each: (each[2] - each[1], each[0]))
    dropped = sorted(set(words) - ours.keys())
    return Side(
        fingerprint=made,
        pulls=tuple(Pull(feature, weight / UNIT, other / UNIT) for feature, weight, other in more),
        stop_words=tuple(filter(fingerprinter.is_stop_word, dropped)),
        short_words=tuple(word for word in dropped if not fingerprinter.is_stop_word(word)),
    )


def _differing(ours: Fingerprint, theirs: Fingerprint) -> tuple[int, ...]:
    if ours.value is None or theirs.value is None:
        return ()
    apart = ours.value ^ theirs.value
    return tuple(place for place in range(ours.bits) if apart >> (ours.bits - 1 - place) & 1)


def _verdict(exact: bool, distance: int | None, max_distance: int) -> Verdict:
    if exact:
        return "exact_duplicate"
    return "near_duplicate" if distance is not None and distance <= max_distance else "different"
