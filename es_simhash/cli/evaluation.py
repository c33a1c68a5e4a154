"""An Evaluation as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.evaluation.evaluate import Evaluation, Point


def plain(made: Evaluation, measure: str, rejected: int) -> dict[str, Any]:
    """For JSON.

    :param measure: what the similarity that confirms is.
    :param rejected: how many lines could not be used.
    """
    chosen = made.chosen
    return {
        "pairs": chosen.pairs,
        "duplicates": chosen.true_positives + chosen.false_negatives,
        "rejected": rejected,
        "too_little_to_say": asdict(made.without_distance),
        "confirm": made.confirm,
        "similarity": None if made.confirm is None else measure,
        "points": [
            asdict(point) | {"precision": point.precision, "recall": point.recall, "f1": point.f1}
            for point in made.points
        ],
        "choose": chosen.max_distance,
        "distances": {"duplicates": list(made.duplicates), "different": list(made.different)},
        "scheme": made.scheme.version,
    }


def table(made: Evaluation, measure: str) -> Iterator[str]:
    """A line for each max_distance, and what is to be said of them."""
    yield "  k  precision  recall      F1  true pos.  false pos.  false neg.  true neg."
    for point in made.points:
        yield _row(point) + ("  <" if point == made.chosen else "")
    yield f"choose k = {made.chosen.max_distance}: it has the highest F1, and is the smallest of those that have it"
    if made.confirm is not None:
        yield f"found are only pairs with a {measure} similarity of {made.confirm:g} or more"
    little = made.without_distance
    if little.pairs:
        yield (
            f"{little.pairs:,} pairs, {little.duplicates:,} of duplicates, have a text with too little to say: "
            f"{little.copies:,} are exact copies, found at every k, the others at none"
        )


def _row(point: Point) -> str:
    precision = "-" if point.precision is None else f"{point.precision:.4f}"
    return (
        f"{point.max_distance:>3}  {precision:>9}  {point.recall:.4f}  {point.f1:.4f}  {point.true_positives:>9,}  "
        f"{point.false_positives:>10,}  {point.false_negatives:>10,}  {point.true_negatives:>9,}"
    )
