"""The evaluation: how many labelled pairs each max_distance finds, and which max_distance to choose.

**Prediction.** A pair is predicted as duplicates if a store would find one document by the other. There are three ways.
The last two need pairs whose texts were compared.

- *fingerprints*: at max_distance k, the fingerprints differ in at most k bits;
- *fingerprints and texts*: the same, and the texts confirm;
- *keys and texts*: the texts share enough keys, and the texts confirm. There is no k.

Exact duplicates are predicted in each way and at every k. A text that is too short for a fingerprint has no distance.
Its pair is predicted by keys, or as an exact duplicate.

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

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.rule import DuplicateRule, rule_of
from es_simhash.similarity.text_decision import decide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Unpack

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.similarity.rule import MatchOptions
    from es_simhash.similarity.text_decision import TextDecision

MOST_MISSED = 1_000
"""Pairs that :class:`Evaluation` lists at most."""


@dataclass(frozen=True)
class LabelledPair:
    """A pair of texts with a label: whether they are duplicates.

    :param duplicate: the label.
    :param distance: Hamming distance in bits; None if one of the texts is too short for a fingerprint.
    :param exact: whether they are exact duplicates: the digests of the normalised texts are equal, and the texts are
        not empty.
    :param texts: what texts and keys say under a rule with ``confirm``; None if the texts were not compared.
    :param place: where the pair comes from, such as ``pairs.jsonl:12``.
    """

    duplicate: bool
    distance: int | None
    exact: bool
    texts: TextDecision | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Point:
    """The numbers of pairs that are predicted at one max_distance, or by keys (None)."""

    max_distance: int | None
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def pairs(self) -> int:
        """The number of all pairs; it is the same in all points."""
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
    :param copies: those that are exact duplicates. They are predicted at every max_distance, the others at none. Keys
        may find the others.
    """

    pairs: int
    duplicates: int
    copies: int


@dataclass(frozen=True)
class Evaluation:
    """The result of :func:`evaluate`.

    :param points: by fingerprints: one for each max_distance, from 0 to the largest that the Scheme allows.
    :param confirmed_points: by fingerprints and texts: the same; empty if the texts were not compared.
    :param keys: by keys and texts; None if the texts were not compared.
    :param missed: pairs with the label duplicate that are not predicted by keys and texts: the first ``MOST_MISSED``.
    :param duplicates: the number of pairs with the label duplicate at each distance, of length bits + 1.
    :param different: the same for the other pairs. Pairs without a distance are in neither.
    :param without_distance: the numbers of pairs without a distance.
    """

    scheme: Scheme
    points: tuple[Point, ...]
    confirmed_points: tuple[Point, ...]
    keys: Point | None
    missed: tuple[LabelledPair, ...]
    duplicates: tuple[int, ...]
    different: tuple[int, ...]
    without_distance: PairsWithoutDistance

    @property
    def chosen(self) -> Point:
        """The point with the highest F1; if several have it, the one with the smallest max_distance.

        It is one of ``confirmed_points`` if the texts were compared; else one of ``points``.
        """
        return max(self.confirmed_points or self.points, key=lambda point: point.f1)  # of several, the first


def evaluate(pairs: Iterable[LabelledPair], scheme: Scheme = DEFAULT) -> Evaluation:
    """Count what each max_distance of the Scheme predicts, and what keys predict.

    The memory does not grow with the number of pairs.

    >>> pairs = [LabelledPair(True, 2, False), LabelledPair(True, 6, False), LabelledPair(False, 5, False)]
    >>> chosen = evaluate(pairs).chosen
    >>> chosen.max_distance, chosen.precision, round(chosen.recall, 2), chosen.f1
    (6, 0.6666666666666666, 1.0, 0.8)

    :param pairs: the labelled pairs. A pair that occurs twice counts twice.
    :raises InputError: if there are no pairs; if all labels are the same; if the texts of some pairs were compared, and
        those of others were not.
    """
    at_distance = {label: [0] * (scheme.bits + 1) for label in (True, False)}
    by_fingerprints, confirmed = _FirstPredicted(scheme), _FirstPredicted(scheme)
    labels = {True: 0, False: 0}
    without_distance = {True: 0, False: 0}
    by_keys = {True: 0, False: 0}
    copies = compared = 0
    missed: list[LabelledPair] = []
    for pair in pairs:
        label = pair.duplicate
        labels[label] += 1
        if pair.distance is None:
            without_distance[label] += 1
            copies += pair.exact
        else:
            at_distance[label][pair.distance] += 1
        by_fingerprints.add(pair)
        if pair.texts is None:
            continue
        compared += 1
        if pair.exact or pair.texts.confirmed:
            confirmed.add(pair)
        if pair.exact or pair.texts.found_by_keys:
            by_keys[label] += 1
        elif label and len(missed) < MOST_MISSED:
            missed.append(pair)
    _check_labels(labels)
    if compared not in (0, sum(labels.values())):
        raise InputError("the texts of some pairs were not compared: pass the same rule to labelled() for each pair")
    return Evaluation(
        scheme=scheme,
        points=by_fingerprints.points(labels),
        confirmed_points=confirmed.points(labels) if compared else (),
        keys=_point(None, by_keys[True], by_keys[False], labels) if compared else None,
        missed=tuple(missed),
        duplicates=tuple(at_distance[True]),
        different=tuple(at_distance[False]),
        without_distance=PairsWithoutDistance(sum(without_distance.values()), without_distance[True], copies),
    )


class _FirstPredicted:
    """The numbers of pairs by the smallest max_distance at which they are predicted."""

    def __init__(self, scheme: Scheme) -> None:
        self._first_at = {label: [0] * (scheme.max_distance + 1) for label in (True, False)}
        self._most = scheme.max_distance

    def add(self, pair: LabelledPair) -> None:
        first = 0 if pair.exact else pair.distance
        if first is not None and first <= self._most:
            self._first_at[pair.duplicate][first] += 1

    def points(self, labels: dict[bool, int]) -> tuple[Point, ...]:
        predicted = zip(accumulate(self._first_at[True]), accumulate(self._first_at[False]), strict=True)
        return tuple(_point(k, tp, fp, labels) for k, (tp, fp) in enumerate(predicted))


def _point(max_distance: int | None, tp: int, fp: int, labels: dict[bool, int]) -> Point:
    return Point(max_distance, tp, fp, labels[True] - tp, labels[False] - fp)


def labelled(
    a: str, b: str, duplicate: bool, fingerprinter: Fingerprinter, **rule: Unpack[MatchOptions]
) -> LabelledPair:
    """Fingerprint two texts and return them with their label, for :func:`evaluate`.

    :param rule: ``rule``, and its refinements. By ``copy`` and ``contained`` the texts are compared, and keys are made
        for ``b``, which looks for ``a``. Without a rule, fingerprints alone are compared. ``max_distance`` has no
        effect.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the rule is invalid.
    """
    chosen = rule_of(rule) if rule else DuplicateRule(rule="fingerprint")
    contents = TextFeatures(a, fingerprinter), TextFeatures(b, fingerprinter)
    ours, theirs = (fingerprinter.fingerprint_normalised(content.normalised) for content in contents)
    return LabelledPair(
        duplicate=duplicate,
        distance=ours.distance(theirs),
        exact=ours.is_copy(theirs),
        texts=None if chosen.confirm is None else decide(*contents, chosen, fingerprinter),
    )


def _check_labels(labels: dict[bool, int]) -> None:
    pairs = sum(labels.values())
    if not pairs:
        raise InputError("no pairs to evaluate: label some duplicates and some pairs that are none")
    if not labels[True]:
        raise InputError(f"none of the {pairs:,} pairs is labelled as duplicate: label some duplicates too")
    if not labels[False]:
        raise InputError(f"all of the {pairs:,} pairs are labelled as duplicates: label some pairs that are none too")
