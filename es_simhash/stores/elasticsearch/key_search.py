"""The clause of a query that finds documents with common keys, and scores them by the rarity of these keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.search.keys import KeyQuery


def sharing_clause(queries: Sequence[KeyQuery]) -> dict[str, Any]:
    """Return a clause for documents that fulfil at least one of the queries.

    In query context the score of a document is the sum of the rarities of the keys that it shares, times a constant:
    the largest sum over the queries that it fulfils. It is the score of BM25 for a field without norms.

    :param queries: at least one. Each has at least as many keys as its minimum.
    """
    return {"dis_max": {"queries": [_clause(query) for query in queries]}}


def _clause(query: KeyQuery) -> dict[str, Any]:
    terms = [{"term": {"simhash.keys": key}} for key in query.keys]
    clause: dict[str, Any] = {"should": terms, "minimum_should_match": max(1, query.minimum)}
    if query.lengths is not None:
        shortest, longest = query.lengths
        clause["filter"] = [{"range": {"simhash.length": {"gte": shortest, "lte": longest}}}]
    return {"bool": clause}
