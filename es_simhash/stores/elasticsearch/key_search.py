"""Documents that share keys, in Elasticsearch: the searches for them.

Most texts share enough keys with few documents, or none. So many texts are searched together. Where one text has more
documents than are returned, the server ranks them, in a search for it alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.search.keys import KeyIndex
from es_simhash.stores.elasticsearch.clauses import COLLAPSED, FIRST_WRITTEN, any_of, restricted
from es_simhash.stores.elasticsearch.index import COUNT_AGE
from es_simhash.stores.elasticsearch.keys import alternative_clauses, clauses_left, clauses_of, sharing_clause
from es_simhash.stores.elasticsearch.rows import row_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.contract import Candidates, Row
    from es_simhash.contract.candidates import KeySearch
    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.times import Ranges

    _Search = tuple[KeySearch, list[int]]
    Searches = Sequence[_Search]
    """Searches by keys, each with the indices of its Probes."""

TEXTS = 100
"""Largest number of texts whose keys are in one query."""
SHARING, SHARING_LEAST = 10, 100
"""A search by the keys of n texts asks for ``SHARING`` * n + ``SHARING_LEAST`` hits, at most for a page. If it finds as
many, each text is searched alone, and so are those of the next ``COUNT_AGE`` seconds."""
COUNTED = 10_000
"""Up to this number the documents that fulfil the queries of a Probe are counted."""


def searched_together(request: Candidates, index: Index) -> tuple[list[Searches], Searches]:
    """Return the searches by keys that are made together, and those that are made alone."""
    none_was_crowded = index.crowded_keys.old(COUNT_AGE)
    alone: list[_Search] = []
    others: list[_Search] = []
    for search, probes in request.key_searches().items():
        _, times, _ = search
        (others if times is None and none_was_crowded else alone).append((search, probes))
    parts = list(_for_one_query(others, clauses_left(request.filter)))
    return [some for some in parts if len(some) > 1], [*alone, *(some[0] for some in parts if len(some) == 1)]


def _for_one_query(searches: Searches, most: int) -> Iterator[Searches]:
    """Yield searches in lists, each for one query.

    :param most: clauses of a query.
    """
    some: list[_Search] = []
    clauses = 0
    for search, probes in searches:
        own = clauses_of(search[0])
        if some and (len(some) == TEXTS or clauses + own > most):
            yield some
            some, clauses = [], 0
        some.append((search, probes))
        clauses += own
    if some:
        yield some


def body_of_one(request: Candidates, search: KeySearch, ranges: Ranges | None) -> dict[str, Any]:
    """Return the body of the search for the documents that fulfil the queries of one text: most shared keys first.

    It returns one hit too many, if there is one: so it is known that documents were left out.
    """
    queries, times, most = search
    in_times = [] if ranges is None or times is None else [ranges.outer([times])]
    body = {
        "query": restricted(request, {"must": [sharing_clause(queries)], "filter": in_times}),
        "sort": ["_score", FIRST_WRITTEN],
        "size": most + 1,
        **row_options(request.time_field, keys=request.with_keys),
        "track_total_hits": COUNTED,
    }
    return body | COLLAPSED if request.one_per_digest else body


def body_of_several(request: Candidates, searches: Searches, index: Index) -> dict[str, Any]:
    """Return the body of the search for the documents that fulfil the queries of any of some texts."""
    clauses = alternative_clauses([query for (queries, _, _), _ in searches for query in queries])
    search = {
        "query": restricted(request, {"filter": [any_of(clauses)]}),
        "size": min(index.limits.page, SHARING_LEAST + SHARING * len(searches)),
        **row_options(request.time_field, keys=request.with_keys),
    }
    return search | (COLLAPSED | {"sort": [FIRST_WRITTEN]} if request.one_per_digest else {"sort": ["_doc"]})


def within_most(rows: Sequence[Row], searches: Searches) -> tuple[list[Row], Searches]:
    """Return the Rows of those searches that find no more than they may, and the other searches.

    The keys of a damaged document are not known. Its Row is returned, so that the caller learns of it.

    :param rows: of every document that at least one of the searches finds.
    """
    if len(rows) <= min(most for (_, _, most), _ in searches):
        return list(rows), []
    every = [queries for (queries, _, _), _ in searches]
    keys = KeyIndex([row.keys for row in rows], [row.length for row in rows], every)
    kept = {number for number, row in enumerate(rows) if row.damaged}
    others: list[_Search] = []
    for search, probes in searches:
        queries, _, most = search
        found = keys.fulfilling(queries)
        if len(found) > most:
            others.append((search, probes))
        else:
            kept.update(found)
    return [rows[number] for number in sorted(kept)], others
