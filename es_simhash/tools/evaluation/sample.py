"""Draw pairs of stored documents for a person to label: those by which rules differ.

Random documents are looked up by a wide rule. Of each pair the rule of the store says which third it belongs to: just
above its limit, just below it, or contradicting. Pairs far from the limit tell nothing of it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import mmh3

from es_simhash import DuplicateRule, Fingerprinter, InputError, Scheme, compare
from es_simhash.similarity.rule import MOST_BITS
from es_simhash.tools.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash import Documents

Third: TypeAlias = Literal["above", "below", "contradicts"]
THIRDS: tuple[Third, ...] = get_args(Third)
WIDE = 0.5
"""The least similarity of a drawn pair. Numbers do not count."""
BESIDE = 10
"""Documents beside one document that are compared with it."""
SPARE = 3
"""So many times the pairs of a third are looked at; those nearest to the limit are drawn."""
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


@dataclass(frozen=True)
class _Candidate:
    """A pair that may be drawn; ``gap`` is how far it is from the limit of the rule."""

    pair: SampledPair
    third: Third
    gap: float


def sample_pairs(
    documents: Documents, size: int, *, filter: Mapping[str, Any] | None = None, seed: int = 0
) -> list[SampledPair]:
    """Draw pairs of documents for a person to label. Exact duplicates are none of them: they need no label.

    A third of the pairs is just above the limit of the store's rule, a third just below it, and a third contradicts
    each other. If the store has too few of a third, the others have more. They come in random order, so that a label is
    not guessed. The function reads all rows first, and holds 20 ids for each pair. The same store and seed give the
    same pairs.

    :param size: the most pairs.
    :param filter: only documents that match this filter.
    :raises InputError: if no document is like another.
    """
    ids = iter(
        heapq.nsmallest(
            LOOKED_UP * size, (row.id for row in documents.export(filter=filter)), key=lambda id: _random(seed, id)
        )
    )
    thirds: dict[Third, list[_Candidate]] = {third: [] for third in THIRDS}
    paired: set[str] = set()
    share = -(-size // len(THIRDS))
    while min(map(len, thirds.values())) < SPARE * share and (batch := list(islice(ids, BATCH))):
        for candidates in _candidates(documents, batch, filter):
            # Of a family of pages, one document is enough.
            if candidates[0].pair.a_id not in paired:
                for third, nearest in _nearest(candidates).items():
                    thirds[third].append(nearest)
                    paired.update((nearest.pair.a_id, nearest.pair.b_id))
    drawn, rest = [], []
    for some in thirds.values():
        some.sort(key=lambda candidate: candidate.gap)
        drawn += some[:share]
        rest += some[share:]
    drawn += sorted(rest, key=lambda candidate: candidate.gap)[: max(0, size - len(drawn))]
    if not drawn:
        raise InputError(f"no document of {documents.name} is like another: ingest more documents")
    pairs = [candidate.pair for candidate in drawn]
    return sorted(pairs, key=lambda pair: _random(seed, f"{pair.a_id}:{pair.b_id}"))[:size]


def _random(seed: int, name: str) -> int:
    return mmh3.hash64(f"{seed}:{name}")[0]


def _nearest(candidates: Iterable[_Candidate]) -> dict[Third, _Candidate]:
    """Return of each third the candidate that is nearest to the limit."""
    nearest: dict[Third, _Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.gap):
        nearest.setdefault(candidate.third, candidate)
    return nearest


def _candidates(
    documents: Documents, ids: Sequence[str], filter: Mapping[str, Any] | None
) -> Iterator[list[_Candidate]]:
    """Yield some pairs for each of these documents that has one like it."""
    info = documents.info()
    wide = DuplicateRule("copy", min_similarity=WIDE, contradictions="allow")
    if info.rule.min_similarity is None:
        wide = DuplicateRule("fingerprint", max_distance=MOST_BITS)
    fingerprinter = Fingerprinter(info.scheme or Scheme())
    texts = texts_of(documents, ids)
    beside: dict[str, list[str]] = {}
    for id, matches in zip(texts, documents.similar_many(texts.values(), rule=wide, filter=filter), strict=True):
        others = [match.id for match in matches if match.id != id and not match.exact]
        # The most and the least similar ones: one side alone would miss a third.
        beside[id] = list(dict.fromkeys([*others[: BESIDE // 2], *others[-(BESIDE // 2) :]]))
    other_texts = texts_of(documents, sorted({other for others in beside.values() for other in others}))
    for id, others_of in beside.items():
        pairs = [SampledPair(id, other, texts[id], other_texts[other]) for other in others_of if other in other_texts]
        if pairs:
            yield [_candidate(pair, fingerprinter, info.rule) for pair in pairs]


def _candidate(pair: SampledPair, fingerprinter: Fingerprinter, rule: DuplicateRule) -> _Candidate:
    """Return the third of a pair. Where texts do not decide, ``copy`` says whether the two contradict each other."""
    made = compare(pair.a, pair.b, fingerprinter, rule=None if rule.min_similarity is None else rule)
    if rule.min_similarity is None:
        above = float((rule.max_distance or 0) - (MOST_BITS if made.distance is None else made.distance))
    else:
        above = (made.similarity or 0.0) - rule.min_similarity
    third: Third = "contradicts" if made.relation == "contradicts" else "above" if above >= 0 else "below"
    return _Candidate(pair, third, abs(above))
