"""Print an Evaluation as a table or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from es_simhash.cli.output import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.evaluation.evaluate import Evaluation, Point


def json_form(evaluation: Evaluation, measure: str, rejected: int) -> dict[str, Any]:
    """Return the evaluation as a JSON object.

    :param measure: name of the similarity that ``--confirm`` uses.
    :param rejected: how many lines could not be used.
    """
    chosen = evaluation.chosen
    return {
        "pairs": chosen.pairs,
        "duplicates": chosen.true_positives + chosen.false_negatives,
        "rejected": rejected,
        "without_fingerprint": asdict(evaluation.without_distance),
        "confirm": evaluation.confirm,
        "similarity": None if evaluation.confirm is None else measure,
        "points": [
            asdict(point) | {"precision": point.precision, "recall": point.recall, "f1": point.f1}
            for point in evaluation.points
        ],
        "choose": chosen.max_distance,
        "distances": {"duplicates": list(evaluation.duplicates), "different": list(evaluation.different)},
        "scheme": evaluation.scheme.version,
    }


def table_lines(evaluation: Evaluation, measure: str) -> Iterator[str]:
    """Yield the lines of a table: one line for each max_distance, then the chosen one and notes.

    :param measure: name of the similarity that ``--confirm`` uses.
    """
    yield "  k  precision  recall      F1  true pos.  false pos.  false neg.  true neg."
    for point in evaluation.points:
        yield _row(point) + ("  <" if point == evaluation.chosen else "")
    yield f"choose k = {evaluation.chosen.max_distance}: the smallest k with the highest F1"
    if evaluation.confirm is not None:
        yield f"a pair is found only if its texts have a {measure} similarity of {evaluation.confirm:g} or more"
    short = evaluation.without_distance
    if short.pairs:
        yield (
            f"{count_of(short.pairs, 'pair')} ({short.duplicates:,} labelled as duplicates) without fingerprints (text "
            f"too short): {count_of(short.copies, 'pair')} of exact duplicates found at every k, the others at no k"
        )


def _row(point: Point) -> str:
    precision = "-" if point.precision is None else f"{point.precision:.4f}"
    return (
        f"{point.max_distance:>3}  {precision:>9}  {point.recall:.4f}  {point.f1:.4f}  {point.true_positives:>9,}  "
        f"{point.false_positives:>10,}  {point.false_negatives:>10,}  {point.true_negatives:>9,}"
    )
