"""Draw pairs of stored documents for a person to label: random documents, and what a wide rule finds beside them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import mmh3

from es_simhash import DuplicateRule, InputError
from es_simhash.tools.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash import Documents

WIDE = 0.5
"""The least similarity of a drawn pair. Numbers do not count."""
LOOKED_UP = 20
"""Documents that are looked up at most, for each pair of the sample."""
BATCH = 100
"""Documents that are looked up together."""


@dataclass(frozen=True)
class SampledPair:
    """Two stored documents that may be copies, with their texts."""

    a_id: str
    b_id: str
    a: str
    b: str


def sample_pairs(
    documents: Documents, size: int, *, filter: Mapping[str, Any] | None = None, seed: int = 0
) -> Iterator[SampledPair]:
    """Draw pairs of documents for a person to label. Exact duplicates are none of them: they need no label.

    Random documents are looked up by a wide rule: similar texts, whatever their numbers. Each gives the most and the
    least similar of what is found. It reads all rows first, and holds 20 ids for each pair. The same store and seed
    give the same pairs.

    :param size: the most pairs.
    :param filter: only documents that match this filter.
    :raises InputError: if no document is like another.
    """
    ids = iter(
        heapq.nsmallest(
            LOOKED_UP * size,
            (row.id for row in documents.export(filter=filter)),
            key=lambda id: mmh3.hash64(f"{seed}:{id}")[0],
        )
    )
    drawn: set[str] = set()
    count = 0
    while count < size and (batch := list(islice(ids, BATCH))):
        for pairs in _pairs(documents, batch, filter):
            # Of a family of pages, one document is enough.
            if pairs[0].a_id not in drawn:
                for pair in pairs[: size - count]:
                    drawn.update((pair.a_id, pair.b_id))
                    count += 1
                    yield pair
    if not count:
        raise InputError(f"no document of {documents.name} is like another: ingest more documents")


def _pairs(documents: Documents, ids: Sequence[str], filter: Mapping[str, Any] | None) -> Iterator[list[SampledPair]]:
    """Yield one or two pairs for each of these documents that has one like it."""
    wide = DuplicateRule("copy", min_similarity=WIDE, contradictions="allow")
    texts = texts_of(documents, ids)
    beside: dict[str, list[str]] = {}
    for id, matches in zip(texts, documents.similar_many(texts.values(), rule=wide, filter=filter), strict=True):
        others = [match for match in matches if match.id != id and not match.exact]
        others.sort(key=lambda match: match.similarity or 0)
        beside[id] = list(dict.fromkeys(match.id for match in (*others[-1:], *others[:1])))
    other_texts = texts_of(documents, sorted({other for others in beside.values() for other in others}))
    for id, others_of in beside.items():
        pairs = [SampledPair(id, other, texts[id], other_texts[other]) for other in others_of if other in other_texts]
        if pairs:
            yield pairs
