"""The planner: by which clause a search in Elasticsearch looks fingerprints up, and how many in one query.

Three clauses find everything within max_distance. They differ in what they cost:

- ``plain`` (:func:`~es_simhash.search.candidates.plain_clause`): an OR of the segments. It asks for few values, but the
  more documents there are, the more of them have an equal segment by chance. The server returns all of these.
- ``plan`` (:mod:`es_simhash.search.query_plan`): it asks for more values, and finds almost nothing by chance. If one
  query looks for several fingerprints, a segment near one of them and a segment near another make a chance candidate.
- ``blocks`` (:mod:`es_simhash.search.blocks`): one ``terms`` clause. It finds almost nothing by chance, however many
  fingerprints one query looks for. It needs an index with block keys, and a max_distance of at most 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.blocks import LARGEST_DISTANCE
from es_simhash.search.query_plan import query_plan

Clause = Literal["plain", "plan", "blocks"]

UNION = 100
"""Most fingerprints in one query by the plan."""
UNION_VALUES = 20_000
"""Largest number of segment values in one query: some 200 KB."""
UNION_CANDIDATES = 40
"""Largest number of candidates that a query for several fingerprints may find by chance, near none of them.

Measured: a candidate costs as much as some ten values.
"""
BLOCKS_UNION = 500
"""Most fingerprints in one query by block keys: 5,000 keys at 64 bits. A server takes 65,536."""
PLAIN_CANDIDATES = 8
"""Largest number of candidates that the plain clause may find by chance: those of some 130,000 documents at 64 bits."""


@dataclass(frozen=True)
class LookUp:
    """How fingerprints are looked up.

    :param clause: the clause of a query.
    :param together: the largest number of fingerprints in one query.
    """

    clause: Clause
    together: int


def choose(fingerprints: int, max_distance: int, bits: int, documents: int | None, *, blocks: bool) -> LookUp:
    """Return how to look fingerprints up.

    :param fingerprints: how many there are to look up.
    :param max_distance: in bits, from 0.
    :param bits: width of the fingerprints.
    :param documents: an estimate of how many documents the index has; None if it is not known.
    :param blocks: the index has complete block keys.
    """
    segments = segment_count(bits)
    few = documents is not None and documents * segments <= PLAIN_CANDIDATES << 16
    if fingerprints == 1 and max_distance < segments and few:
        return LookUp("plain", 1)
    if blocks and max_distance <= LARGEST_DISTANCE:
        return LookUp("blocks", BLOCKS_UNION)
    plan = query_plan(max_distance, segments)
    together = min(UNION, max(1, UNION_VALUES // plan.values))
    while together > 1 and (documents or 0) * plan.share(together) > UNION_CANDIDATES:
        together = together * 3 // 4
    return LookUp("plan", together)
