"""Print an Evaluation as a table or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from es_simhash.console.output import count_of
from es_simhash.tools.decision import decision_json, keys_line, numbers_line, rule_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.tools.evaluation.precision import Evaluation, LabelledPair, Point

SHOWN_MISSED = 10
"""The text form shows this many duplicates that keys miss. --json has more of them."""


def json_form(evaluation: Evaluation, rule: DuplicateRule, rejected: int) -> dict[str, Any]:
    """Return the evaluation as a JSON object.

    :param rule: by which the texts were compared.
    :param rejected: how many lines could not be used.
    """
    chosen = evaluation.chosen
    return {
        "pairs": chosen.pairs,
        "duplicates": chosen.true_positives + chosen.false_negatives,
        "rejected": rejected,
        "without_fingerprint": asdict(evaluation.without_distance),
        **rule_json(rule),
        "points": [_json_point(point) for point in evaluation.points],
        "confirmed_points": [_json_point(point) for point in evaluation.confirmed_points],
        "choose": chosen.max_distance,
        "keys": None if evaluation.keys is None else _json_point(evaluation.keys),
        "missed": [_json_missed(pair) for pair in evaluation.missed],
        "distances": {"duplicates": list(evaluation.duplicates), "different": list(evaluation.different)},
        "scheme": evaluation.scheme.version,
    }


def _json_point(point: Point) -> dict[str, Any]:
    return asdict(point) | {"precision": point.precision, "recall": point.recall, "f1": point.f1}


def _json_missed(pair: LabelledPair) -> dict[str, Any]:
    texts = {} if pair.texts is None else decision_json(pair.texts)
    return {"place": pair.place, "distance": pair.distance, **texts}


def table_lines(evaluation: Evaluation, rule: DuplicateRule) -> Iterator[str]:
    """Yield the lines of a table: one line for each max_distance, then the chosen one and notes.

    :param rule: by which the texts were compared.
    """
    titled = evaluation.keys is not None
    if titled:
        yield "fingerprints"
    yield from _rows(evaluation.points, None if titled else evaluation.chosen)
    if titled:
        yield f"fingerprints, and texts with a similarity of {rule.confirm:g} or more ({rule.measure})"
        yield from _rows(evaluation.confirmed_points, evaluation.chosen)
    if evaluation.keys is not None:
        yield "keys, and texts with this similarity"
        yield _row(evaluation.keys)
    yield f"choose k = {evaluation.chosen.max_distance}: the smallest k with the highest F1"
    if titled and rule.numbers_agree:
        yield "texts with other numbers are not found (--numbers-agree)"
    short = evaluation.without_distance
    if short.pairs:
        yield (
            f"{count_of(short.pairs, 'pair')} ({short.duplicates:,} labelled as duplicates) without fingerprints (text "
            f"too short): {count_of(short.copies, 'pair')} of exact duplicates found at every k, the others at no k"
        )
    yield from _missed_lines(evaluation, rule)


def _missed_lines(evaluation: Evaluation, rule: DuplicateRule) -> Iterator[str]:
    if evaluation.keys is None or not evaluation.missed:
        return
    count = evaluation.keys.false_negatives
    yield f"{count_of(count, 'duplicate')} not found by keys:"
    for pair in evaluation.missed[:SHOWN_MISSED]:
        if pair.texts is not None:
            similarity = f"similarity {pair.texts.similarity:.4f}, {rule.confirm:g} needed"
            reasons = [keys_line(pair.texts), similarity]
            if rule.numbers_agree and not pair.texts.numbers_agree:
                reasons.append(f"numbers {numbers_line(pair.texts)}")
            yield f"  {pair.place}  {'; '.join(reasons)}"
    if count > SHOWN_MISSED:
        yield f"  and {count - SHOWN_MISSED:,} more"


def _rows(points: tuple[Point, ...], chosen: Point | None) -> Iterator[str]:
    yield "  k  precision  recall      F1  true pos.  false pos.  false neg.  true neg."
    for point in points:
        yield _row(point) + ("  <" if point == chosen else "")


def _row(point: Point) -> str:
    precision = "-" if point.precision is None else f"{point.precision:.4f}"
    max_distance = "-" if point.max_distance is None else point.max_distance
    return (
        f"{max_distance:>3}  {precision:>9}  {point.recall:.4f}  {point.f1:.4f}  {point.true_positives:>9,}  "
        f"{point.false_positives:>10,}  {point.false_negatives:>10,}  {point.true_negatives:>9,}"
    )
