"""Print what texts and keys say about two texts: a TextDecision as lines or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.similarity.text_decision import SharedKeys, TextDecision


def rule_json(rule: DuplicateRule) -> dict[str, Any]:
    """Return how texts confirm under a rule, as the fields of a JSON object."""
    return {
        "rule": rule.rule,
        "confirm": rule.confirm,
        "similarity": rule.measure,
        "numbers_agree": rule.numbers_agree,
    }


def decision_json(decision: TextDecision) -> dict[str, Any]:
    """Return the decision as a JSON object."""
    return asdict(decision) | {"candidate": decision.candidate}


def texts_line(decision: TextDecision, rule: DuplicateRule) -> str:
    """Return the similarity of the texts, and the similarity that the rule needs."""
    return f"{decision.similarity:.4f} {rule.measure} similarity; {rule.confirm:g} needed"


def numbers_line(decision: TextDecision) -> str:
    """Return the numbers in which the texts differ."""
    sides = (("A", decision.only_a), ("B", decision.only_b))
    return "; ".join(f"only in {name}: {', '.join(only)}" for name, only in sides if only) or "the same in both"


def keys_line(decision: TextDecision) -> str:
    """Return how many keys the texts share, and how many they need to."""
    if not decision.keys:
        return "none: no letter, digit or Han character"
    return "; ".join(_keys_of_a_kind(shared, decision.lengths[0]) for shared in decision.keys)


def _keys_of_a_kind(shared: SharedKeys, length: int) -> str:
    line = f"{shared.shared} of {shared.keys} {shared.kind} in common, {shared.asked} needed"
    if shared.lengths is None or shared.lengths[0] <= length <= shared.lengths[1]:
        return line
    return f"{line}, and {length:,} word characters, {shared.lengths[0]} to {shared.lengths[1]} needed"
