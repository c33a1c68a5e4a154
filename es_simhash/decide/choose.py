"""Which head is a document a copy of? The one decision that every verb makes.

A *group* is a head and its copies. A document is compared with heads alone, so each copy is a copy of its head, and
there are no chains. An exact copy of a copy belongs to the same head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.parts import in_parts
from es_simhash.similarity.confirm import similar_among
from es_simhash.text.encoding import hamming_distance
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Probe, Row
    from es_simhash.similarity.confirm import TextFeatures

COMPARED_AT_ONCE = 20
"""Candidates whose texts are read together: mostly the first one is a copy, or none is."""


@value
class Asker:
    """A document that asks what it is a copy of.

    :param row: what is known of it, as a head.
    :param keys: that are stored.
    :param probe: what to look for.
    :param features: of its text; None if texts do not decide.
    :param keeps_order: it stays where it is in the order of documents, so only earlier ones can be its head. Otherwise
        it comes after all others.
    :param source: the document as JSON, if it is not stored yet.
    """

    row: Row
    keys: tuple[int, ...]
    probe: Probe
    features: TextFeatures | None
    keeps_order: bool = False
    source: str | None = None


@value
class Original:
    """What a document is a copy of.

    :param id: of the head.
    :param digest: of the head; None if it is not known, because a copy of the head has the equal text.
    :param distance: from the head, in bits; None if it is not known, or one of the two has no fingerprint.
    :param similarity: to the head; None if it is not known, or texts do not decide.
    """

    id: str
    digest: str | None
    exact: bool
    order: int
    distance: int | None
    similarity: float | None


def choose(
    asker: Asker,
    exact: Row | None,
    heads: Sequence[Row],
    rule: ResolvedRule,
    texts: Callable[[Sequence[Row]], Sequence[TextFeatures | None]],
) -> Original | None:
    """Return what a document is a copy of; None if it is a head.

    :param exact: the first document with an equal text.
    :param heads: heads that may be near. The nearest by fingerprint is compared first.
    :param texts: returns the features of the texts of heads; None for one that has changed.
    """
    if exact is not None and exact.duplicate_of is not None:
        return Original(exact.group, None, True, exact.order, None, None)  # the head has another text
    if exact is not None:
        return Original(exact.id, exact.digest, True, exact.order, 0, None if rule.min_similarity is None else 1.0)
    near = [row for row in heads if rule.allows(asker.row, row)]
    near.sort(key=lambda row: (distance_or_more(asker.row, row), row.order, row.id))
    if rule.min_similarity is None or asker.features is None:
        return _near_copy(asker, near[0], None) if near else None
    for compared in in_parts(near, COMPARED_AT_ONCE):
        known = [(row, features) for row, features in zip(compared, texts(compared), strict=True) if features]
        for index, similarity in similar_among(asker.features, [features for _, features in known], rule.chosen):
            return _near_copy(asker, known[index][0], similarity)
    return None


def distance_or_more(row: Row, other: Row) -> int:
    """Return the distance of two documents in bits; more than any distance if one has no fingerprint."""
    if row.fingerprint is None or other.fingerprint is None:
        return 65
    return (row.fingerprint ^ other.fingerprint).bit_count()


def _near_copy(asker: Asker, head: Row, similarity: float | None) -> Original:
    distance = hamming_distance(asker.row.fingerprint, head.fingerprint)
    return Original(head.id, head.digest, False, head.order, distance, similarity)
