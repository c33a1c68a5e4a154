"""Which original is a document a copy of? The one decision that every verb makes.

A *group* is an original and its copies. A document is compared with originals alone, so each copy is a copy of its
original, and there are no chains. An exact copy of a copy belongs to the same original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.decide.judge import Judged

MOST_CONTRADICTING = 5
"""Originals that contradict a document that are told."""


@value
class Original:
    """What a document is a copy of.

    :param id: of the original.
    :param digest: of the original; None if it is not known, because a copy of it has the equal text.
    :param group: the name of its group.
    :param distance: from the original, in bits; None if it is not known, or one of the two has no fingerprint.
    :param similarity: to the original; None if it is not known, or texts do not decide.
    """

    id: str
    digest: str | None
    group: str
    exact: bool
    order: int
    distance: int | None
    similarity: float | None


@value
class Chosen:
    """What was chosen for a document.

    :param original: None if the document is an original itself.
    :param contradicting: those that are similar enough and contradict, the most similar first: of those that were
        judged before the original.
    """

    original: Original | None
    contradicting: tuple[Judged, ...] = ()


def choose(judged: Iterable[Judged]) -> Chosen:
    """Return the original of a document: the first candidate that it is a copy of.

    :param judged: the candidates, as ``judge`` yields them. Those behind the original are not asked for.
    """
    contradicting: list[Judged] = []
    for one in judged:
        if one.relation == "different":
            break
        if one.relation != "contradicts":
            return Chosen(_original(one), tuple(contradicting))
        if len(contradicting) < MOST_CONTRADICTING:
            contradicting.append(one)
    return Chosen(None, tuple(contradicting))


def _original(judged: Judged) -> Original:
    row, exact = judged.candidate.row, judged.relation == "exact"
    if row.duplicate_of is not None:  # the original has another text than this copy
        return Original(row.duplicate_of, None, row.group, exact, row.order, None, None)
    return Original(row.id, row.digest, row.group, exact, row.order, judged.distance, judged.similarity)
