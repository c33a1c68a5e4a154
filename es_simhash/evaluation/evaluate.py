"""The evaluation: how many labelled pairs each max_distance finds, and which max_distance to choose.

**Prediction.** At max_distance k a pair is predicted as duplicates if a store would find one document by the other:

- exact duplicates are predicted at every k;
- other pairs are predicted if their fingerprints differ in at most k bits;
- with ``confirm``, the similarity of the texts must also be at least that number.

A text that is too short for a fingerprint has no distance. Its pair is predicted at every k if both are exact
duplicates, and at no k otherwise.

**Measures.** A predicted pair is a true positive (TP) if its label is duplicate, otherwise a false positive (FP). Any
other pair is a false negative (FN) if its label is duplicate, otherwise a true negative (TN).

- precision = TP / (TP + FP): the share of the predicted pairs that are duplicates. Undefined if nothing is predicted.
- recall = TP / (TP + FN): the share of the duplicates that are predicted. It needs at least one duplicate.
- F1 = 2 TP / (2 TP + FP + FN): the harmonic mean of the two. 0 if there is no true positive.

(Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 8.3; F1 is 1 - E at α = 1/2 of
van Rijsbergen, "Information Retrieval", 2nd edition, 1979, chapter 7.)

**Choice.** Choose the max_distance with the highest F1. If several have it, the smallest is chosen, because it has the
fewest candidates.
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
    """A pair of texts with a label: whether they are duplicates.

    :param duplicate: the label.
    :param distance: Hamming distance in bits; None if one of the texts is too short for a fingerprint.
    :param exact: whether they are exact duplicates: the digests of the normalised texts are equal, and the texts are
        not empty.
    :param similarity: of the texts, from 0 to 1; None if it was not computed.
    """

    duplicate: bool
    distance: int | None
    exact: bool
    similarity: float | None = None


@dataclass(frozen=True)
class Point:
    """The numbers of pairs that are predicted at one max_distance."""

    max_distance: int
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def pairs(self) -> int:
        """The number of all pairs; it is the same at every max_distance."""
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
        """The harmonic mean of precision and recall, from 0 to 1; 0 if there is no true positive."""
        twice = 2 * self.true_positives
        return twice / (twice + self.false_positives + self.false_negatives)


@dataclass(frozen=True)
class PairsWithoutDistance:
    """The number of pairs without a distance, because one of the texts is too short for a fingerprint.

    They are counted in the points too.

    :param pairs: all pairs without a distance.
    :param duplicates: those whose label is duplicate.
    :param copies: those that are exact duplicates. They are predicted at every max_distance, the others at none.
    """

    pairs: int
    duplicates: int
    copies: int


@dataclass(frozen=True)
class Evaluation:
    """The result of :func:`evaluate`.

    :param confirm: the smallest similarity of a predicted pair; None if the similarity was not used.
    :param points: one for each max_distance, from 0 to the largest that the Scheme allows.
    :param duplicates: the number of pairs with the label duplicate at each distance, of length bits + 1.
    :param different: the same for the other pairs. Pairs without a distance are in neither.
    :param without_distance: the numbers of pairs without a distance.
    """

    scheme: Scheme
    confirm: float | None
    points: tuple[Point, ...]
    duplicates: tuple[int, ...]
    different: tuple[int, ...]
    without_distance: PairsWithoutDistance

    @property
    def chosen(self) -> Point:
        """The point with the highest F1; if several have it, the one with the smallest max_distance."""
        return max(self.points, key=lambda point: (point.f1, -point.max_distance))


def evaluate(pairs: Iterable[LabelledPair], scheme: Scheme = DEFAULT, confirm: float | None = None) -> Evaluation:
    """Count what each max_distance of the Scheme predicts. The memory does not grow with the number of pairs.

    >>> pairs = [LabelledPair(True, 2, False), LabelledPair(True, 6, False), LabelledPair(False, 5, False)]
    >>> chosen = evaluate(pairs).chosen
    >>> chosen.max_distance, chosen.precision, round(chosen.recall, 2), chosen.f1
    (6, 0.6666666666666666, 1.0, 0.8)

    :param pairs: the labelled pairs. A pair that occurs twice counts twice.
    :param confirm: the smallest similarity of a predicted pair, from 0 to 1; None to ignore the similarity.
    :raises InputError: if there are no pairs; if all labels are the same; if ``confirm`` needs a similarity that a pair
        doesn't have.
    """
    if confirm is not None and not 0 <= confirm <= 1:  # nan is neither
        raise InputError(f"confirm is {confirm}: use a similarity from 0 to 1")
    at_distance = {label: [0] * (scheme.bits + 1) for label in (True, False)}
    # Pairs by the smallest max_distance at which they are predicted.
    first_at = {label: [0] * (scheme.max_distance + 1) for label in (True, False)}
    labels = {True: 0, False: 0}
    without_distance = {True: 0, False: 0}
    copies = 0
    for pair in pairs:
        labels[pair.duplicate] += 1
        if pair.distance is None:
            without_distance[pair.duplicate] += 1
            copies += pair.exact
        else:
            at_distance[pair.duplicate][pair.distance] += 1
        first = 0 if pair.exact else pair.distance
        if first is not None and first <= scheme.max_distance and _confirmed(pair, confirm):
            first_at[pair.duplicate][first] += 1
    _check_labels(labels)
    predicted = zip(accumulate(first_at[True]), accumulate(first_at[False]), strict=True)
    return Evaluation(
        scheme=scheme,
        confirm=confirm,
        points=tuple(Point(k, tp, fp, labels[True] - tp, labels[False] - fp) for k, (tp, fp) in enumerate(predicted)),
        duplicates=tuple(at_distance[True]),
        different=tuple(at_distance[False]),
        without_distance=PairsWithoutDistance(sum(without_distance.values()), without_distance[True], copies),
    )


def labelled(
    a: str, b: str, duplicate: bool, fingerprinter: Fingerprinter, measure: Measure | None = None
) -> LabelledPair:
    """Fingerprint two texts and return them with their label, for :func:`evaluate`.

    :param measure: the measure of their similarity, for an evaluation with ``confirm``; None computes no similarity.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the measure is unknown.
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
        raise InputError("a pair has no similarity to confirm: pass a measure to labelled(), or no confirm")
    return pair.similarity >= confirm


def _check_labels(labels: dict[bool, int]) -> None:
    pairs = sum(labels.values())
    if not pairs:
        raise InputError("no pairs to evaluate: label some duplicates and some pairs that are none")
    if not labels[True]:
        raise InputError(f"none of the {pairs:,} pairs is labelled as duplicate: label some duplicates too")
    if not labels[False]:
        raise InputError(f"all of the {pairs:,} pairs are labelled as duplicates: label some pairs that are none too")
