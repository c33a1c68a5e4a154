"""Print an Evaluation as a table or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from es_simhash.console.output import count_of
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.tools.decision import decision_json, keys_line, numbers_line, rule_json
from es_simhash.tools.evaluation.intervals import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.tools.evaluation.precision import Evaluation, LabelledPair, Point

SHOWN_MISSED = 10
"""The text form shows this many duplicates that keys miss. --json has more of them."""


def json_form(evaluation: Evaluation, rule: DuplicateRule, rejected: int) -> dict[str, Any]:
    """Return the evaluation as a JSON object.

    :param rule: of the caller, with which the four are compared.
    :param rejected: how many lines could not be used.
    """
    chosen = evaluation.chosen
    return {
        "pairs": chosen.pairs,
        "duplicates": chosen.true_positives + chosen.false_negatives,
        "rejected": rejected,
        "without_fingerprint": asdict(evaluation.without_distance),
        "without_texts": evaluation.without_texts,
        **rule_json(rule),
        "rules": {name: _json_point(point) for name, point in evaluation.rules.items()},
        "best": evaluation.best,
        "undecided": [asdict(other) for other in evaluation.undecided],
        "points": [_json_point(point) for point in evaluation.points],
        "choose": chosen.max_distance,
        "missed": [_json_missed(pair) for pair in evaluation.missed],
        "distances": {"duplicates": list(evaluation.duplicates), "different": list(evaluation.different)},
        "scheme": evaluation.scheme.version,
    }


def _json_point(point: Point) -> dict[str, Any]:
    precision = {"precision": point.precision, "precision_interval": point.precision_interval}
    return (
        asdict(point) | precision | {"recall": point.recall, "recall_interval": point.recall_interval, "f1": point.f1}
    )


def _json_missed(pair: LabelledPair) -> dict[str, Any]:
    texts = {} if pair.texts is None else decision_json(pair.texts)
    return {"place": pair.place, "distance": pair.distance, **texts}


def table_lines(evaluation: Evaluation, rule: DuplicateRule) -> Iterator[str]:
    """Yield the lines of a table: one line for each rule, then one for each max_distance, and notes.

    :param rule: of the caller, with which the four are compared.
    """
    pairs = evaluation.chosen.pairs
    width = max(len("fingerprint, k = 15"), *map(len, evaluation.rules))
    yield f"{'rule':<{width}}  {'precision':^20}  {'recall':^20}      F1  true pos.  false pos.  false neg.  true neg."
    for name, point in evaluation.rules.items():
        yield _row(name.ljust(width), point) + ("  <" if name == evaluation.best else "")
    for point in evaluation.points:
        name = f"fingerprint, k = {point.max_distance}"
        yield _row(name.ljust(width), point) + ("  <" if point == evaluation.chosen else "")
    yield f"in brackets: the interval of Wilson, {CONFIDENCE:.0%}"
    yield from _choice_lines(evaluation)
    yield f"with --rule fingerprint choose k = {evaluation.chosen.max_distance}: the smallest k with the highest F1"
    if evaluation.without_texts:
        yield (
            f"{count_of(evaluation.without_texts, 'pair')} of {pairs:,} without texts: the rules copy and contained "
            "are not compared; add the texts 'a' and 'b' to each line"
        )
    short = evaluation.without_distance
    if short.pairs:
        yield (
            f"{count_of(short.pairs, 'pair')} ({short.duplicates:,} labelled as duplicates) without fingerprints (text "
            f"too short): {count_of(short.copies, 'pair')} of exact duplicates found at every k, the others at no k"
        )
    yield from _missed_lines(evaluation, rule)


def _choice_lines(evaluation: Evaluation) -> Iterator[str]:
    best = evaluation.best
    if not evaluation.undecided:
        yield f"choose the rule {best}: it agrees with your labels most often"
        return
    yield f"too few answers to choose: {best} has the highest F1, but may be no better than"
    for other in evaluation.undecided:
        differ = f"they differ in {count_of(other.differ, 'pair')}, and {best} is right in {other.best_right:,}"
        yield f"  {other.rule}: {differ if other.differ else 'they decide every pair the same'}"
    yield "label more pairs: `es-simhash label` with a larger --sample draws pairs in which rules differ"


def _missed_lines(evaluation: Evaluation, rule: DuplicateRule) -> Iterator[str]:
    if not evaluation.missed:
        return
    name = "copy" if rule.confirm is None else next(reversed(evaluation.rules))
    count = evaluation.rules[name].false_negatives
    shown = rule if rule.confirm is not None else DuplicateRule()
    yield f"{count_of(count, 'duplicate')} not found by {name}:"
    for pair in evaluation.missed[:SHOWN_MISSED]:
        if pair.texts is not None:
            reasons = [keys_line(pair.texts), f"similarity {pair.texts.similarity:.4f}, {shown.confirm:g} needed"]
            if shown.numbers_agree and not pair.texts.numbers_agree:
                reasons.append(f"numbers {numbers_line(pair.texts)}")
            yield f"  {pair.place}  {'; '.join(reasons)}"
    if count > SHOWN_MISSED:
        yield f"  and {count - SHOWN_MISSED:,} more"


def _row(name: str, point: Point) -> str:
    precision = "-" if point.precision is None else _share(point.precision, point.precision_interval)
    recall = _share(point.recall, point.recall_interval)
    return (
        f"{name}  {precision:^20}  {recall:^20}  {point.f1:.4f}  {point.true_positives:>9,}  "
        f"{point.false_positives:>10,}  {point.false_negatives:>10,}  {point.true_negatives:>9,}"
    )


def _share(share: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{share:.4f} ({low:.3f}-{high:.3f})"
