"""Evaluate: what each max_distance finds of pairs that a person has labelled, and which max_distance to choose.

A pair is predicted to be duplicates at k if a store would find the one by the other: if they are exact copies, which
are found at every k, or if their fingerprints differ in at most k bits; and, where there is a confirm, if the texts'
similarity is at least that. A text with too little to say for a fingerprint takes part like any other: its pair is
predicted at every k if it is one of copies, at none if not.

Of TP true and FP false positives (pairs rightly and wrongly predicted), FN false and TN true negatives:

- precision, the share of the predicted that are duplicates, is TP / (TP + FP): undefined if nothing is predicted;
- recall, the share of the duplicates that are predicted, is TP / (TP + FN): there must be duplicates to evaluate by;
- F1, the harmonic mean of the two, is 2 TP / (2 TP + FP + FN): 0 if nothing is rightly predicted.

(Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 8.3; F1 is 1 - E at α = 1/2 of
van Rijsbergen, "Information Retrieval", 2nd edition, 1979, chapter 7.)

The max_distance to choose is the one of the highest F1, of several the smallest: it brings the fewest candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.measures import similarity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.measures import Measure


@dataclass(frozen=True)
class LabelledPair:
    """Two texts of which somebody says whether they are duplicates, as far as that is evaluated.

    :param duplicate: the label.
    :param distance: Hamming distance in bits; None if either text has too little to say.
    :param exact: they are copies: the digests of the normalised texts are equal, and the texts not empty.
    :param similarity: of the texts, from 0 to 1; None if it was not asked for.
    """

    duplicate: bool
    distance: int | None
    exact: bool
    similarity: float | None = None


@dataclass(frozen=True)
class Point:
    """What is predicted at one max_distance: numbers of pairs."""

    max_distance: int
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def pairs(self) -> int:
        """All of them: the same at every max_distance."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def precision(self) -> float | None:
        """The share of the predicted pairs that are duplicates, from 0 to 1; None if nothing is predicted."""
        predicted = self.true_positives + self.false_positives
        return self.true_positives / predicted if predicted else None

    @property
    def recall(self) -> float:
        """The share of the duplicates that are predicted, from 0 to 1."""
        return self.true_positives / (self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, from 0 to 1; 0 if nothing is rightly predicted."""
        twice = 2 * self.true_positives
        return twice / (twice + self.false_positives + self.false_negatives)


@dataclass(frozen=True)
class TooLittle:
    """How many pairs have no distance, because either text has too little to say; they are among the others.

    :param copies: those that are exact copies: predicted at every max_distance, the others at none.
    """

    pairs: int
    duplicates: int
    copies: int


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` found.

    :param confirm: the least similarity of a predicted pair; None if it didn't matter.
    :param points: for each max_distance, from 0 to the largest of the Scheme.
    :param duplicates: how many pairs labelled as duplicates are at each distance, shape (bits + 1,).
    :param different: the same for the other pairs. Pairs without a distance are in neither.
    """

    scheme: Scheme
    confirm: float | None
    points: tuple[Point, ...]
    duplicates: tuple[int, ...]
    different: tuple[int, ...]
    too_little: TooLittle

    @property
    def chosen(self) -> Point:
        """The one of the highest F1; of several the one of the smallest max_distance."""
        return max(self.points, key=lambda point: (point.f1, -point.max_distance))


def evaluate(pairs: Iterable[LabelledPair], scheme: Scheme = DEFAULT, confirm: float | None = None) -> Evaluation:
    """Count what each max_distance of the Scheme predicts. Memory does not grow with the number of pairs.

    >>> pairs = [LabelledPair(True, 2, False), LabelledPair(True, 6, False), LabelledPair(False, 5, False)]
    >>> chosen = evaluate(pairs).chosen
    >>> chosen.max_distance, chosen.precision, round(chosen.recall, 2), chosen.f1
    (6, 0.6666666666666666, 1.0, 0.8)

    :param pairs: each counts once, also one that comes again.
    :param confirm: the least similarity that a predicted pair has, from 0 to 1.
    :raises InputError: if there are no pairs, or only duplicates, or none; if a similarity is wanted and not there.
    """
    if confirm is not None and not 0 <= confirm <= 1:  # nan is neither
        raise InputError(f"confirm is {confirm}: use a similarity from 0 to 1")
    at_distance = {label: [0] * (scheme.bits + 1) for label in (True, False)}
    first_at = {label: [0] * (scheme.max_distance + 1) for label in (True, False)}  # k from which on it is predicted
    labels = {True: 0, False: 0}
    too_little = {True: 0, False: 0}
    copies = 0
    for pair in pairs:
        labels[pair.duplicate] += 1
        if pair.distance is None:
            too_little[pair.duplicate] += 1
            copies += pair.exact
        else:
            at_distance[pair.duplicate][pair.distance] += 1
        first = 0 if pair.exact else pair.distance
        if first is not None and first <= scheme.max_distance and _confirmed(pair, confirm):
            first_at[pair.duplicate][first] += 1
    _both_kinds(labels)
    predicted = zip(accumulate(first_at[True]), accumulate(first_at[False]), strict=True)
    return Evaluation(
        scheme=scheme,
        confirm=confirm,
        points=tuple(Point(k, tp, fp, labels[True] - tp, labels[False] - fp) for k, (tp, fp) in enumerate(predicted)),
        duplicates=tuple(at_distance[True]),
        different=tuple(at_distance[False]),
        too_little=TooLittle(too_little[True] + too_little[False], too_little[True], copies),
    )


def labelled(
    a: str, b: str, duplicate: bool, fingerprinter: Fingerprinter, measure: Measure | None = None
) -> LabelledPair:
    """Fingerprint two texts that somebody has labelled, for :func:`evaluate`.

    :param measure: what to take their similarity by, where a confirm asks for one.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the measure is not known.
    """
    ours, theirs = fingerprinter.fingerprint(a), fingerprinter.fingerprint(b)
    return LabelledPair(
        duplicate=duplicate,
        distance=ours.distance(theirs),
        exact=ours.is_copy(theirs),
        similarity=None if measure is None else similarity(a, b, measure, fingerprinter),
    )


def _confirmed(pair: LabelledPair, confirm: float | None) -> bool:
    if confirm is None:
        return True
    if pair.similarity is None:
        raise InputError("a pair has no similarity to confirm: give a measure to labelled(), or no confirm")
    return pair.similarity >= confirm


def _both_kinds(labels: dict[bool, int]) -> None:
    pairs = sum(labels.values())
    if not pairs:
        raise InputError("no pairs to evaluate: label some, duplicates and others")
    if not labels[True]:
        raise InputError(f"none of the {pairs:,} pairs is labelled as duplicates: some of either kind are wanted")
    if not labels[False]:
        raise InputError(f"all of the {pairs:,} pairs are labelled as duplicates: some of either kind are wanted")
