"""What does the store have that a document may be a copy of?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.decide.batch import Found
from es_simhash.decide.judge import Side
from es_simhash.filters import parse_filter
from es_simhash.parts import in_parts
from es_simhash.rows import Hits, StoreQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from es_simhash.decide.eligible import Eligible
    from es_simhash.decide.outcome import Document
    from es_simhash.decide.turn import Turn
    from es_simhash.rows import Row

TOGETHER = 100
"""Documents whose candidates are read together."""


def look_up(
    turn: Turn,
    documents: Sequence[Document],
    queries: Sequence[StoreQuery],
    eligible: Eligible,
    replaced: Collection[str] = (),
) -> Iterator[Found]:
    """Yield what the store has for each document. Texts are read for several of them together.

    :param queries: of the documents.
    :param replaced: ids of documents of the batch that get another text: those with their former texts may be gone
        when a document behind them is decided.
    """
    hits = turn.store.search(queries, eligible.filter, originals=True) if queries else []
    rule, stale = eligible.rule, {*eligible.without, *replaced}
    again = [
        number
        for number, (query, one) in enumerate(zip(queries, hits, strict=True))
        if len(one.equal) == query.most_equal and stale.issuperset(row.id for row in one.equal)
    ]
    if again:
        asked = [StoreQuery(digest=queries[number].digest, times=queries[number].times) for number in again]
        more = dict(zip(again, turn.store.search(asked, eligible.filter, originals=False), strict=True))
        hits = [Hits(more[n].equal, one.candidates, one.left_out) if n in more else one for n, one in enumerate(hits)]
    originals = _originals(turn, hits, eligible) if eligible.limits_originals else {}
    candidates = [
        rule.worth_reading(document.row, (row for row in one.candidates if eligible.is_before(row, document)))
        for document, one in zip(documents, hits, strict=True)
    ]
    for one, sides in zip(hits, _with_texts(turn, candidates), strict=True):
        yield Found(one.equal, originals, sides, one.left_out)


def _originals(turn: Turn, hits: Sequence[Hits], eligible: Eligible) -> dict[str, Row]:
    """Return the originals of the copies that were found, by id: those that match the filter."""
    ids = sorted({row.duplicate_of for one in hits for row in one.equal if row.duplicate_of is not None})
    if not ids:
        return {}
    read = turn.store.read(ids, None if eligible.filter is not None else ())
    if eligible.filter is None:
        return {id: stored.row for id, stored in read.items()}
    matches = parse_filter(eligible.filter)
    return {id: stored.row for id, stored in read.items() if matches(stored.source or {}, id)}


def _with_texts(turn: Turn, candidates: Sequence[Sequence[Row]]) -> Iterator[list[Side]]:
    """Yield the candidates of each document with their texts, where texts decide; without those whose text is gone."""
    if not turn.rule.compares_texts:
        yield from ([Side(row, None) for row in rows] for rows in candidates)
        return
    for part in in_parts(candidates, TOGETHER):
        rows = list({row.id: row for some in part for row in some}.values())
        known = {row.id: text for row, text in zip(rows, turn.texts.of_rows(rows), strict=True)}
        yield from ([Side(row, text) for row in some if (text := known[row.id]) is not None] for some in part)
