"""Compare two texts: how similar they are, and which words make their fingerprints differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from es_simhash.fingerprinting.fingerprinter import Fingerprint, Fingerprinter
from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.units import UNIT
from es_simhash.similarity.measures import cosine, jaccard, weighed

Verdict = Literal["exact_duplicate", "near_duplicate", "different"]


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
    features = weighed(fingerprinter, words)
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
