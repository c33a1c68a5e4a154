"""What each rule finds of labelled pairs: precision, recall and F1.

A rule finds a pair if :func:`es_simhash.compare` calls the two texts exact or near duplicates. It is right if a person
has labelled the pair as copies.

- precision: the share of the found pairs that are copies. Unknown if nothing is found.
- recall: the share of the copies that are found.
- F1: the harmonic mean of the two, 2 right / (2 right + wrong + missed).

(Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, section 8.3)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from es_simhash import DuplicateRule, Fingerprinter, InputError
from es_simhash.decide.compare import compare
from es_simhash.similarity.rule import MOST_BITS, RULES, rule_of
from es_simhash.tools.evaluation.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class LabelledPair:
    """Two texts that a person has labelled.

    :param copy: one is a copy of the other.
    :param place: where the pair comes from, such as ``pairs.jsonl:12``.
    """

    a: str
    b: str
    copy: bool
    place: str = ""


@dataclass(frozen=True)
class Figures:
    """What a rule finds of labelled pairs.

    :param right: how many copies the rule finds.
    :param wrong: the places of the pairs that it finds, and that are no copies.
    :param missed: the places of the copies that it does not find.
    """

    right: int
    wrong: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def found(self) -> int:
        """How many pairs the rule finds."""
        return self.right + len(self.wrong)

    @property
    def copies(self) -> int:
        """How many pairs are copies."""
        return self.right + len(self.missed)

    @property
    def precision(self) -> float | None:
        """The share of the found pairs that are copies, from 0 to 1; None if nothing is found."""
        return self.right / self.found if self.found else None

    @property
    def precision_interval(self) -> tuple[float, float]:
        """The interval of the precision (Wilson)."""
        return wilson(self.right, self.found)

    @property
    def recall(self) -> float:
        """The share of the copies that are found, from 0 to 1."""
        return self.right / self.copies

    @property
    def recall_interval(self) -> tuple[float, float]:
        """The interval of the recall (Wilson)."""
        return wilson(self.right, self.copies)

    def is_better_than(self, other: Figures) -> bool:
        """Return whether the sample shows that this rule is right more often than another one.

        Of the pairs on which one of the two is wrong and the other is not, this rule must be right on more than half:
        the interval of its share (Wilson) must be above a half. Both figures are of the same pairs.
        """
        ours, theirs = ({*figures.wrong, *figures.missed} for figures in (self, other))
        return wilson(len(theirs - ours), len(theirs ^ ours))[0] > 0.5

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, from 0 to 1."""
        return 2 * self.right / (self.found + self.copies)


def evaluate(
    pairs: Iterable[LabelledPair],
    fingerprinter: Fingerprinter | None = None,
    *,
    rule: str | DuplicateRule | None = None,
    limits: bool = False,
) -> dict[str, Figures]:
    """Return what each of the four rules finds of labelled pairs, or one rule with different limits.

    >>> pairs = [
    ...     LabelledPair("今天下午有小雨，气温下降五度", "今天下午有小雨，气温下降五度。", True),
    ...     LabelledPair("今天下午有小雨，气温下降五度", "今天下午有阵雨，气温下降五度", True),
    ...     LabelledPair("今天下午有小雨，气温下降五度", "明天上午是晴天", False),
    ... ]
    >>> {name: figures.recall for name, figures in evaluate(pairs).items()}
    {'copy': 1.0, 'contained': 1.0, 'fingerprint': 0.5, 'exact': 0.0}

    :param fingerprinter: by default that of the default Scheme.
    :param rule: another rule beside these, such as a refined one.
    :param limits: the figures of this rule alone, with limits from 0.5 to 1, or each k.
    :returns: by the name of each rule.
    :raises InputError: if no pair is a copy; for ``limits`` of the rule ``exact``, which has none.
    """
    fingerprinter = Fingerprinter() if fingerprinter is None else fingerprinter
    chosen = replace(rule_of(rule), within=None, time_field=None)
    plain: dict[str, DuplicateRule] = {name: DuplicateRule(name) for name in RULES}
    rules = rules_by_limit(chosen) if limits else {str(chosen): chosen} | plain
    labelled = list(pairs)
    if not any(pair.copy for pair in labelled):
        raise InputError(
            f"none of {len(labelled):,} pairs is labelled as a copy: draw some from a store (--sample), and label some "
            "copies, and some pairs that are none"
        )
    return {name: _figures(labelled, fingerprinter, each) for name, each in rules.items()}


def _figures(pairs: Sequence[LabelledPair], fingerprinter: Fingerprinter, rule: DuplicateRule) -> Figures:
    """Return the figures of a rule."""
    decided = [(pair, compare(pair.a, pair.b, fingerprinter, rule=rule).is_duplicate) for pair in pairs]
    return Figures(
        right=sum(pair.copy and found for pair, found in decided),
        wrong=tuple(pair.place for pair, found in decided if found and not pair.copy),
        missed=tuple(pair.place for pair, found in decided if pair.copy and not found),
    )


def rules_by_limit(rule: DuplicateRule) -> dict[str, DuplicateRule]:
    """Return a rule with different limits: ``min_similarity`` from 0.5 to 1, or ``max_distance`` k from 0 to 7 bits.

    :returns: by name, such as ``copy, min_similarity=0.80`` or ``fingerprint, k=3``; the limits ascend.
    :raises InputError: for the rule ``exact``, which has no limit.
    """
    if rule.max_distance is not None:
        return {f"{rule.rule}, k={k}": replace(rule, max_distance=k) for k in range(MOST_BITS + 1)}
    if rule.min_similarity is None:
        raise InputError(f"the rule {rule.rule!r} has no limit: use --rule copy, contained or fingerprint")
    shares = [percent / 100 for percent in range(50, 101, 5)]
    return {f"{rule.rule}, min_similarity={share:.2f}": replace(rule, min_similarity=share) for share in shares}
