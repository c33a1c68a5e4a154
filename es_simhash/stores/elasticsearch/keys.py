"""Keys in their text form: in a document, and in the clause that finds documents with common keys. The scores by which
rare keys come first.

In OpenSearch 3 each term of a keyword field has the score 1, unless the mapping of the field says ``use_similarity``.
Other servers do not know this parameter, and score by the rarity of the term. Source: OpenSearch, issue 17823.
"""

from __future__ import annotations

import json
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any

from es_simhash.search.encoding import decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.mapping import Part

CLAUSES = 500
"""The most clauses for keys in a query by the keys of several texts. A server allows 1,024 or more
(``indices.query.bool.max_clause_count``), those of the user's filter included."""
_NO_FIELDS: Mapping[str, Any] = {}


def stored_keys(values: Any) -> Any:
    """Return the keys of a document as integers; what is no list of keys comes back as a string."""
    if not values:
        return ()
    if isinstance(values, str):  # an index with synthetic _source returns a list of one value as the value
        values = [values]
    keys = None
    if isinstance(values, list) and {str}.issuperset(map(type, values)):
        keys = decoded(values)
    return repr(values) if keys is None else keys


def keys_of_hits(hits: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return :func:`stored_keys` of the hits of a search. Together this takes a tenth of the time."""
    every = [hit.get("fields", _NO_FIELDS).get("simhash.keys", ()) for hit in hits]
    lists = all(isinstance(values, list | tuple) for values in every)
    if not lists or not {str}.issuperset(map(type, chain.from_iterable(every))):
        return [stored_keys(values) for values in every]
    keys = decoded([*chain.from_iterable(every)])
    if keys is None:
        return [stored_keys(values) for values in every]
    ends = [*accumulate(map(len, every), initial=0)]
    return [keys[start:end] for start, end in pairwise(ends)]


def sharing_clause(queries: Sequence[KeyQuery]) -> dict[str, Any]:
    """Return a clause for documents that fulfil at least one of the queries.

    In query context the score of a document is the sum of the rarities of the keys that it shares, times a constant:
    the largest sum over the queries that it fulfils. It is the score of BM25 for a field without norms.

    :param queries: at least one. Each has at least as many keys as its minimum.
    """
    return {"dis_max": {"queries": [_clause(query) for query in queries]}}


def alternative_clauses(queries: Sequence[KeyQuery]) -> list[dict[str, Any]]:
    """Return clauses for filter context. A document that fulfils one of the queries fulfils one of the clauses.

    :param queries: at least one, of any number of texts.
    """
    every = [key for query in queries if _is_plain(query) for key in query.keys]
    clauses: list[dict[str, Any]] = [{"terms": {"simhash.keys": encoded(every)}}] if every else []
    for query in queries:
        if query.one_is_enough and query.numbers:
            both = [{"terms": {"simhash.keys": encoded(some)}} for some in (query.keys, query.numbers)]
            clauses.append({"bool": {"filter": both}})
        elif not _is_plain(query):
            clauses.append(_clause(query))
    return clauses


def clauses_of(queries: Sequence[KeyQuery]) -> int:
    """Return how many clauses :func:`alternative_clauses` takes for queries, as Lucene counts them.

    Queries for which one common key is enough, and no number counts, share one clause. It is not counted.
    """
    return sum(0 if _is_plain(query) else 3 if query.one_is_enough else len(query.keys) + 3 for query in queries)


def clauses_left(filter: Mapping[str, Any] | None) -> int:
    """Return how many clauses a query by the keys of several texts may have beside a filter.

    A filter has no more clauses than there are spaces in its JSON. If it is large, each text is searched alone.
    """
    return CLAUSES if filter is None else CLAUSES - json.dumps(filter).count(" ")


def _is_plain(query: KeyQuery) -> bool:
    """Return whether one of the keys is enough, and nothing else counts."""
    return query.one_is_enough and not query.numbers


def _clause(query: KeyQuery) -> dict[str, Any]:
    # A text of all keys, which the server splits: a clause for each of them would be four times as long.
    keys = {"query": " ".join(encoded(query.keys)), "analyzer": "whitespace"}
    clause: dict[str, Any] = {"match": {"simhash.keys": {**keys, "minimum_should_match": max(1, query.minimum)}}}
    filters: list[dict[str, Any]] = []
    if query.lengths is not None:
        shortest, longest = query.lengths
        filters.append({"range": {"simhash.length": {"gte": shortest, "lte": longest}}})
    if query.numbers:
        filters.append({"terms": {"simhash.keys": encoded(query.numbers)}})
    return {"bool": {"must": [clause], "filter": filters}} if filters else clause


_FIELD = "simhash"
_OPTION = "use_similarity"


def with_scores(mapping: dict[str, Any], index: Index) -> dict[str, Any]:
    """Return a mapping with our fields as this server needs it, so that keys have scores."""
    keys = _keys_of(mapping)
    if not index.server.equal_scores or not keys:
        return mapping
    ours = mapping["properties"][_FIELD]
    ours = {**ours, "properties": {**ours["properties"], "keys": {**keys, _OPTION: True}}}
    return {**mapping, "properties": {**mapping["properties"], _FIELD: ours}}


def lacks_scores(part: Part[Any], mappings: Iterable[Mapping[str, Any]], index: Index) -> bool:
    """Return whether the part has keys, and there is a mapping in which they have no scores on this server.

    So it is with a mapping from an older OpenSearch, or with one that another program made.
    """
    if not index.server.equal_scores or part.field != _FIELD:
        return False
    return any(map(_lacks_option, mappings))


def warn_if_unknown(mappings: Iterable[Mapping[str, Any]], index: Index) -> None:
    """Warn once if the keys have no scores should the server be an OpenSearch 3, and the server does not say that."""
    if index.server.equal_scores is None and any(map(_lacks_option, mappings)):
        index.warn_once(
            "version",
            f"{index.name}: the server does not tell your user its version. If it is OpenSearch 3, rare keys do not "
            "come first with this mapping, and duplicates may be missed: give the user the permission "
            "cluster:monitor/main",
        )


def _lacks_option(mapping: Mapping[str, Any]) -> bool:
    keys = _keys_of(mapping)
    return bool(keys) and str(keys.get(_OPTION)).lower() != "true"


def _keys_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    properties = mapping.get("properties", {}).get(_FIELD, {}).get("properties", {})
    keys: dict[str, Any] = properties.get("keys", {})
    return keys
