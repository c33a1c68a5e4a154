"""Near misses: pairs of stored documents that are near each other and just outside the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.search.hamming import hamming_distance
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.verbs.sample import BATCH, DOCUMENTS, draw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.verbs.rule import ResolvedRule
    from es_simhash.verbs.sample import Drawn

DRAWN = 1_000
"""Pairs that are drawn at random. Near misses are found among them."""
FARTHER = 3
"""Where texts do not confirm, pairs up to this many bits beyond ``max_distance`` are drawn."""


@dataclass(frozen=True)
class NearMiss:
    """Two documents of different groups that the rule just keeps apart.

    :param distance: Hamming distance in bits.
    :param similarity: of the texts, if the rule has a ``confirm``; else None.
    """

    a_id: str
    b_id: str
    distance: int
    similarity: float | None


def near_misses(
    store: Store, scheme: Scheme, rule: ResolvedRule, most: int, seed: int = 0, filter: Mapping[str, Any] | None = None
) -> list[NearMiss]:
    """Return pairs that are no duplicates by the rule, those nearest to it first.

    They are found in a random sample, so the list is not complete.

    :param most: how many pairs are returned at most.
    :param filter: draws only from documents that match it.
    """
    farthest = scheme.max_distance if rule.texts is not None else max(rule.max_distance, 0) + FARTHER
    drawn = draw(store, scheme, DRAWN, seed, DOCUMENTS, filter, farthest)
    misses: list[NearMiss] = []
    for start in range(0, len(drawn), BATCH):
        misses += _outside(store, drawn[start : start + BATCH], rule)
    misses.sort(key=lambda miss: (-(miss.similarity or 0), miss.distance))
    return misses[:most]


def _outside(store: Store, drawn: Sequence[Drawn], rule: ResolvedRule) -> list[NearMiss]:
    """Return the drawn pairs that are no duplicates and in different groups."""
    rows = store.fetch(tuple(sorted({id for a, b, _ in drawn for id in (a, b)})), rule.time_field)
    pairs = [(rows[a], rows[b]) for a, b, _ in drawn if a in rows and b in rows]
    pairs = [(a, b) for a, b in pairs if a.group != b.group and not (a.damaged or b.damaged)]
    duplicates = {(a.id, b.id) for a, b in (rule.duplicates(store, pairs))}
    return _measured(store, [(a, b) for a, b in pairs if (a.id, b.id) not in duplicates], rule)


def _measured(store: Store, pairs: list[tuple[Row, Row]], rule: ResolvedRule) -> list[NearMiss]:
    """Return the pairs with their distances, and with the similarity of their texts if the rule compares texts."""
    measured = []
    stored = {}
    if rule.texts is not None:
        stored = rule.texts.stored(store, (row.id for pair in pairs for row in pair))
    for a, b in pairs:
        ours, theirs = stored.get(a.id), stored.get(b.id)
        similarity = None
        if rule.texts is not None:
            if not isinstance(ours, TextFeatures) or not isinstance(theirs, TextFeatures):
                continue
            similarity = rule.texts.similarity(ours, theirs)
        distance = hamming_distance(a.fingerprint, b.fingerprint)
        if distance is not None:
            measured.append(NearMiss(a.id, b.id, distance, similarity))
    return measured
