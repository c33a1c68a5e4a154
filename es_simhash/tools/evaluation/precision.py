"""The evaluation: what each rule finds of labelled pairs, which rule to choose, and what each max_distance finds.

**Prediction.** A pair is predicted as duplicates by a rule if a store with keys would find one document by the other:

- by texts (``copy``, ``contained``): the texts share enough keys, and the texts confirm;
- by fingerprints (``fingerprint``): at max_distance k, the fingerprints differ in at most k bits.

Exact duplicates are predicted by every rule and at every k. A text that is too short for a fingerprint has no distance.
Its pair is predicted by texts, or as an exact duplicate. A store also limits how many texts it compares with one
document. Pairs do not show that limit.

**Measures.** A predicted pair is a true positive (TP) if its label is duplicate, otherwise a false positive (FP). Any
other pair is a false negative (FN) if its label is duplicate, otherwise a true negative (TN).

- precision = TP / (TP + FP): the share of the predicted pairs that are duplicates. Undefined if nothing is predicted.
- recall = TP / (TP + FN): the share of the duplicates that are predicted. It needs at least one duplicate.
- F1 = 2 TP / (2 TP + FP + FN): the harmonic mean of the two. 0 if there is no true positive.

(Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 8.3; F1 is 1 - E at α = 1/2 of
van Rijsbergen, "Information Retrieval", 2nd edition, 1979, chapter 7.)

**Choice.** The best rule has the highest F1; of several, the last. It is compared with each other rule: only pairs
that the two decide differently say which is better. If so few speak for the best rule that a coin would do it once in
twenty times, the labels do not decide (the exact test of McNemar, "Note on the sampling error of the difference between
correlated proportions or percentages", Psychometrika 12, 1947).

For fingerprints, the max_distance with the highest F1 is chosen. If several have it, the smallest is chosen, because it
has the fewest candidates.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, permutations
from math import comb
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.similarity.rule import RULES, DuplicateRule, rule_of
from es_simhash.similarity.text_decision import decide
from es_simhash.tools.evaluation.intervals import CONFIDENCE, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
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
    :param predicted: for each rule that can decide, whether it predicts the pair. Without texts, ``copy`` and
        ``contained`` cannot.
    :param texts: what texts and keys say under the last rule by which texts decide; None if the texts were not
        compared.
    :param place: where the pair comes from, such as ``pairs.jsonl:12``.
    """

    duplicate: bool
    distance: int | None
    exact: bool
    predicted: Mapping[str, bool] = field(default_factory=dict)
    texts: TextDecision | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Point:
    """The numbers of pairs that are predicted at one max_distance, or by a rule (None)."""

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
    def precision_interval(self) -> tuple[float, float]:
        """The interval of the precision (Wilson)."""
        return wilson(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """The share of the duplicates that are predicted, from 0 to 1."""
        return self.true_positives / (self.true_positives + self.false_negatives)

    @property
    def recall_interval(self) -> tuple[float, float]:
        """The interval of the recall."""
        return wilson(self.true_positives, self.true_positives + self.false_negatives)

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
class Undecided:
    """A rule that may be as good as the best one: the labels do not tell them apart.

    :param rule: the other rule.
    :param differ: how many pairs the two rules decide differently.
    :param best_right: in how many of them the best rule agrees with the label.
    """

    rule: str
    differ: int
    best_right: int


@dataclass(frozen=True)
class Evaluation:
    """The result of :func:`evaluate`.

    :param rules: by the name of each rule that could decide every pair; the rule of the caller is the last one.
    :param undecided: the rules that may be as good as :attr:`best`; empty if the labels decide.
    :param points: by fingerprints: one for each max_distance, from 0 to the largest that the Scheme allows.
    :param missed: pairs with the label duplicate that are not predicted by the last rule by which texts decide: the
        first ``MOST_MISSED``.
    :param duplicates: the number of pairs with the label duplicate at each distance, of length bits + 1.
    :param different: the same for the other pairs. Pairs without a distance are in neither.
    :param without_distance: the numbers of pairs without a distance.
    :param without_texts: how many pairs have no texts. If some have none, rules by which texts decide are left out.
    """

    scheme: Scheme
    rules: dict[str, Point]
    undecided: tuple[Undecided, ...]
    points: tuple[Point, ...]
    missed: tuple[LabelledPair, ...]
    duplicates: tuple[int, ...]
    different: tuple[int, ...]
    without_distance: PairsWithoutDistance
    without_texts: int

    @property
    def best(self) -> str:
        """The name of the rule with the highest F1; of several, the last."""
        return _best(self.rules)

    @property
    def chosen(self) -> Point:
        """The point of the max_distance with the highest F1; of several, the smallest."""
        return max(self.points, key=lambda point: point.f1)  # of several, the first


def evaluate(pairs: Iterable[LabelledPair], scheme: Scheme = DEFAULT) -> Evaluation:
    """Count what each rule predicts, and what each max_distance of the Scheme predicts.

    The memory does not grow with the number of pairs.

    >>> from es_simhash import Fingerprinter
    >>> texts = [("今天下午有小雨", "今天下午有小雨。", True), ("今天下午有小雨", "明天上午是晴天", False)]
    >>> made = evaluate(labelled(a, b, label, Fingerprinter()) for a, b, label in texts)
    >>> made.best, made.rules["copy"].precision, made.rules["copy"].recall
    ('copy', 1.0, 1.0)
    >>> [(other.rule, other.differ) for other in made.undecided]
    [('exact', 1), ('fingerprint', 1), ('contained', 0)]

    :param pairs: the labelled pairs. A pair that occurs twice counts twice.
    :raises InputError: if there are no pairs; if all labels are the same.
    """
    at_distance = {label: [0] * (scheme.bits + 1) for label in (True, False)}
    # By the smallest max_distance at which fingerprints predict them.
    first_at = {label: [0] * (scheme.max_distance + 1) for label in (True, False)}
    by_rules = _ByRules()
    labels = {True: 0, False: 0}
    without_distance = {True: 0, False: 0}
    copies = without_texts = 0
    for pair in pairs:
        label = pair.duplicate
        labels[label] += 1
        if pair.distance is None:
            without_distance[label] += 1
            copies += pair.exact
        else:
            at_distance[label][pair.distance] += 1
        without_texts += pair.texts is None
        first = 0 if pair.exact else pair.distance
        if first is not None and first <= scheme.max_distance:
            first_at[label][first] += 1
        by_rules.add(pair)
    _check_labels(labels)
    rules = by_rules.points(labels)
    predicted = zip(accumulate(first_at[True]), accumulate(first_at[False]), strict=True)
    return Evaluation(
        scheme=scheme,
        rules=rules,
        undecided=by_rules.undecided(rules),
        points=tuple(_point(k, tp, fp, labels) for k, (tp, fp) in enumerate(predicted)),
        missed=() if without_texts else tuple(by_rules.missed),
        duplicates=tuple(at_distance[True]),
        different=tuple(at_distance[False]),
        without_distance=PairsWithoutDistance(sum(without_distance.values()), without_distance[True], copies),
        without_texts=without_texts,
    )


class _ByRules:
    """What each rule predicts, and how often one rule agrees with the label where another one does not."""

    def __init__(self) -> None:
        self.missed: list[LabelledPair] = []
        self._decided: Counter[str] = Counter()
        self._predicted: Counter[tuple[str, bool]] = Counter()
        self._right: Counter[tuple[str, str]] = Counter()  # the first rule is right, the second is wrong

    def add(self, pair: LabelledPair) -> None:
        self._decided.update(pair.predicted.keys())
        self._predicted.update((rule, pair.duplicate) for rule, predicted in pair.predicted.items() if predicted)
        self._right.update(
            (one, other)
            for one, other in permutations(pair.predicted, 2)
            if pair.predicted[one] == pair.duplicate != pair.predicted[other]
        )
        if pair.duplicate and pair.texts is not None and not (pair.exact or pair.texts.found_by_keys):
            self.missed += [pair] * (len(self.missed) < MOST_MISSED)

    def points(self, labels: dict[bool, int]) -> dict[str, Point]:
        """Return the points of the rules that decided every pair."""
        return {
            rule: _point(None, self._predicted[rule, True], self._predicted[rule, False], labels)
            for rule, decided in self._decided.items()
            if decided == sum(labels.values())
        }

    def undecided(self, rules: dict[str, Point]) -> tuple[Undecided, ...]:
        """Return the rules that the labels do not tell from the best one."""
        if not rules:
            return ()
        best = _best(rules)
        counted = [(rule, self._right[best, rule], self._right[rule, best]) for rule in rules if rule != best]
        return tuple(
            Undecided(rule, right + wrong, right)
            for rule, right, wrong in counted
            if right <= wrong or 2 * _coin(wrong, right + wrong) > 1 - CONFIDENCE
        )


def _coin(most: int, tosses: int) -> float:
    """Return the chance that at most so many of the tosses of a coin show heads."""
    return float(Fraction(sum(comb(tosses, heads) for heads in range(most + 1)), 1 << tosses))


def _best(rules: dict[str, Point]) -> str:
    return max(reversed(rules), key=lambda rule: rules[rule].f1)  # of several, the last


def _point(max_distance: int | None, tp: int, fp: int, labels: dict[bool, int]) -> Point:
    return Point(max_distance, tp, fp, labels[True] - tp, labels[False] - fp)


def named_rules(rule: DuplicateRule | None = None) -> dict[str, DuplicateRule]:
    """Return the four rules by name, and with them a rule of the caller: the last one. Without it, ``copy`` is last."""
    rule = DuplicateRule() if rule is None else replace(rule, text_field=None, within=None, time_field=None)
    rules: dict[str, DuplicateRule] = {name: DuplicateRule(name) for name in reversed(RULES)}
    name = rule.rule if rule == rules[rule.rule] else _name(rule)
    rules.pop(name, None)
    return rules | {name: rule}


def _name(rule: DuplicateRule) -> str:
    plain = DuplicateRule(rule.rule)
    words = [
        f"{name.replace('_', ' ')} {value}" if name in ("confirm", "max_distance") else str(value)
        for name in ("confirm", "max_distance", "measure")
        if (value := getattr(rule, name)) != getattr(plain, name)
    ]
    return ", ".join([rule.rule, *words, *["any numbers"] * (rule.numbers_agree is False)])


def labelled(
    a: str, b: str, duplicate: bool, fingerprinter: Fingerprinter, rule: str | DuplicateRule | None = None
) -> LabelledPair:
    """Return two texts as a pair with its label, for :func:`evaluate`: what each of the four rules decides.

    :param rule: another rule to compare them with. ``within`` has no effect. By texts,
        keys are made for ``b``, which looks for ``a``.
    :raises InputError: if a text is not a string, or has a lone surrogate; if the rule is invalid.
    """
    rules = named_rules(rule_of(rule))
    contents = TextFeatures(a, fingerprinter), TextFeatures(b, fingerprinter)
    ours, theirs = (fingerprinter.fingerprint_normalised(content.normalised) for content in contents)
    return decided(duplicate, ours.distance(theirs), ours.is_copy(theirs), contents, rules, fingerprinter)


def decided(
    duplicate: bool,
    distance: int | None,
    exact: bool,
    contents: tuple[TextFeatures, TextFeatures] | None,
    rules: Mapping[str, DuplicateRule],
    fingerprinter: Fingerprinter,
    place: str = "",
) -> LabelledPair:
    """Return the pair with what each rule decides.

    :param contents: the texts; None if they are not there. Then rules by which texts decide are left out.
    """
    predicted, texts = {}, None
    for name, rule in rules.items():
        near = distance is not None and distance <= rule.bits_allowed(fingerprinter.scheme)
        if rule.confirm is None:
            predicted[name] = exact or near
        elif contents is not None:
            texts = decide(*contents, rule, fingerprinter)
            predicted[name] = exact or (texts.found_by_keys and (near or rule.max_distance is None))
    return LabelledPair(duplicate, distance, exact, predicted, texts, place)


def _check_labels(labels: dict[bool, int]) -> None:
    pairs = sum(labels.values())
    if not pairs:
        raise InputError("no pairs to evaluate: label some duplicates and some pairs that are none")
    if not labels[True]:
        raise InputError(f"none of the {pairs:,} pairs is labelled as duplicate: label some duplicates too")
    if not labels[False]:
        raise InputError(f"all of the {pairs:,} pairs are labelled as duplicates: label some pairs that are none too")
