"""Near misses: pairs of stored documents that are near each other and just outside the rule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.search.hamming import hamming_distance
from es_simhash.similarity.text_fields import text_of
from es_simhash.tools.evaluation.sample import BATCH, draw_from, sampled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash import Documents, DuplicateRule, Row
    from es_simhash.similarity.confirm import Confirm, TextFeatures
    from es_simhash.tools.evaluation.sample import Drawn

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
    documents: Documents, most: int, rule: DuplicateRule, seed: int = 0, filter: Mapping[str, Any] | None = None
) -> list[NearMiss]:
    """Return pairs that are no duplicates by the rule, those nearest to it first.

    They are found in a random sample, so the list is not complete.

    :param most: how many pairs are returned at most.
    :param filter: draws only from documents that match it.
    """
    fingerprinter = documents.fingerprinter()
    scheme = fingerprinter.scheme
    confirm = rule.comparison(fingerprinter)
    farthest = max(rule.bits_allowed(scheme), 0) + FARTHER
    if confirm is not None:
        farthest = scheme.max_distance
    candidates = draw_from(sampled(documents.export(filter=filter), scheme, seed), DRAWN, farthest)
    misses: list[NearMiss] = []
    for start in range(0, len(candidates), BATCH):
        pairs = _outside(documents, candidates[start : start + BATCH], rule)
        misses += _measured(documents, pairs, confirm, rule.text_fields)
    misses.sort(key=lambda miss: (-(miss.similarity or 0), miss.distance))
    return misses[:most]


def _outside(documents: Documents, drawn: Sequence[Drawn], rule: DuplicateRule) -> list[tuple[Row, Row]]:
    """Return the drawn pairs that are no duplicates and in different groups."""
    rows = documents.fetch(sorted({id for a, b, _ in drawn for id in (a, b)}))
    pairs = [(rows[a], rows[b]) for a, b, _ in drawn if a in rows and b in rows]
    pairs = [(a, b) for a, b in pairs if a.group != b.group and not (a.damaged or b.damaged)]
    near = documents.are_duplicates([(a.id, b.id) for a, b in pairs], rule=rule)
    return [pair for pair, is_near in zip(pairs, near, strict=True) if not is_near]


def _measured(
    documents: Documents, pairs: Sequence[tuple[Row, Row]], confirm: Confirm | None, fields: tuple[str, ...]
) -> list[NearMiss]:
    """Return the pairs with their distances, and with the similarity of their texts if texts confirm.

    A pair is left out if texts confirm and a document has none, or if a document has no fingerprint.
    """
    texts: dict[str, TextFeatures] = {}
    if confirm is not None:
        ids = sorted({row.id for pair in pairs for row in pair})
        for start in range(0, len(ids), BATCH):
            for id, source in documents.sources(ids[start : start + BATCH], fields=fields).items():
                with suppress(InputError):
                    texts[id] = confirm.features(text_of(source, fields))
    measured = []
    for a, b in pairs:
        distance = hamming_distance(a.fingerprint, b.fingerprint)
        if distance is None or (confirm is not None and not {a.id, b.id} <= texts.keys()):
            continue
        similarity = None if confirm is None else confirm.similarity(texts[a.id], texts[b.id])
        measured.append(NearMiss(a.id, b.id, distance, similarity))
    return measured
