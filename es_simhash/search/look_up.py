"""The planner: by which clause a search in Elasticsearch looks fingerprints up, and how many in one query.

Two clauses find everything within max_distance. They differ in what they cost:

- ``plain`` (:func:`~es_simhash.search.candidates.plain_clause`): an OR of the segments. It asks for few values, but the
  more documents there are, the more of them have an equal segment by chance. The server returns all of these.
- ``plan`` (:mod:`es_simhash.search.query_plan`): it asks for more values, and finds almost nothing by chance. If one
  query looks for several fingerprints, a segment near one of them and a segment near another make a chance candidate.

Measured on Elasticsearch 9.5.3, one shard, random fingerprints, k = 3. Times are lower quartiles in ms. An empty search
is the floor. docs/measurements.md has the rates:

===========  ===========================  =====  ====
documents    what                         plain  plan
===========  ===========================  =====  ====
20,000       one, empty search 1.32 ms    1.64   1.86
60,000       one, empty search 1.30 ms    1.76   1.92
130,000      one, empty search 1.48 ms    2.12   2.30
200,000      one, empty search 0.92 ms    1.56   1.57
1,000,000    chance candidates of each    61     .05
===========  ===========================  =====  ====

So the plan is used, except for one fingerprint in a small index: there the fewer values of the plain clause weigh more
than its few chance candidates.

Near-equal documents are not random: many of them have a segment in common. Once a search for one fingerprint has found
a whole page of documents, the next ones use :func:`~es_simhash.search.candidates.narrow_clause`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from es_simhash.fingerprinting.encoding import segment_count
from es_simhash.search.query_plan import query_plan

Clause = Literal["plain", "plan"]

UNION = 100
"""Most fingerprints in one query."""
UNION_VALUES = 20_000
"""Largest number of segment values in one query: some 200 KB."""
UNION_CANDIDATES = 40
"""Largest number of candidates that a query for several fingerprints may find by chance, near none of them.

Measured: a candidate costs as much as some ten values.
"""
PLAIN_CANDIDATES = 8
"""Largest number of candidates that the plain clause may find by chance: those of 131,072 documents at 64 bits."""


@dataclass(frozen=True)
class LookUp:
    """How fingerprints are looked up.

    :param clause: the clause of a query.
    :param together: the largest number of fingerprints in one query.
    :param narrow: for one fingerprint among near-equal documents.
    """

    clause: Clause
    together: int
    narrow: bool = False


def choose(fingerprints: int, max_distance: int, bits: int, documents: int | None) -> LookUp:
    """Return how to look fingerprints up.

    :param fingerprints: how many there are to look up.
    :param max_distance: in bits, from 0.
    :param bits: width of the fingerprints.
    :param documents: an estimate of how many documents the index has; None if it is not known.
    """
    segments = segment_count(bits)
    few = documents is not None and documents * segments <= PLAIN_CANDIDATES << 16
    if fingerprints == 1 and max_distance < segments and few:
        return LookUp("plain", 1)
    plan = query_plan(max_distance, segments)
    together = min(UNION, max(1, UNION_VALUES // plan.values))
    while together > 1 and (documents or 0) * plan.share(together) > UNION_CANDIDATES:
        together = together * 3 // 4
    return LookUp("plan", together)
