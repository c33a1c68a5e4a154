"""What may be near: by digest, by keys, and by fingerprint.

A program often looks for many documents at once. Equal texts of a whole batch are found by one search. Keys are looked
for by one search a document, in one request, because the server ranks them. Fingerprints of a batch are looked for
together: almost no other document fulfils the query plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.parts import in_parts
from es_simhash.rows import Hits, Row
from es_simhash.store.elastic.pages import pages
from es_simhash.store.elastic.query_plan import candidates_clause
from es_simhash.store.elastic.rows import HIT_OPTIONS
from es_simhash.text.keys import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.rows import StoreQuery
    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.protocol import Filter
    from es_simhash.text.keys import KeyQuery

TOGETHER = 100
"""Fingerprints in one query."""
SEARCHES = 25
"""Searches in one request. In a crowd each has a thousand hits, which take some 50 MB together."""
PAGE = 10_000
MOST_READ = 200_000
"""Documents near the fingerprints of one query that are read."""
_FIRST = {"simhash.order": "asc"}
_IS_COPY = {"exists": {"field": "simhash.duplicate_of"}}


def search(
    connection: Connection, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool
) -> list[Hits]:
    """Return what may be near each StoreQuery."""
    equal, candidates = _by_digest_and_keys(connection, queries, filter, originals=originals)
    left_out = [0] * len(queries)
    together: dict[Any, list[int]] = {}
    for number, query in enumerate(queries):
        if query.fingerprint is not None:
            together.setdefault((query.distance, query.times), []).append(number)
    for numbers in together.values():
        for part in in_parts(numbers, TOGETHER):
            found, unread = _near(connection, [queries[number] for number in part], filter, originals=originals)
            for number, near in zip(part, found, strict=True):
                candidates[number] += near
                left_out[number] = unread
    return [
        Hits(same, rows[: query.most], max(unread, int(len(rows) > query.most)))
        for query, same, rows, unread in zip(queries, equal, candidates, left_out, strict=True)
    ]


def _by_digest_and_keys(
    connection: Connection, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool
) -> tuple[list[list[Row]], list[list[Row]]]:
    """Return the documents with the digest of each StoreQuery, and those that fulfil one of its conditions on keys."""
    equal: list[list[Row]] = [[] for _ in queries]
    candidates: list[list[Row]] = [[] for _ in queries]
    first_of_digests: list[Row] = []
    searches: list[tuple[dict[str, Any], list[Row]]] = []
    by_digest: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        if query.digest and query.most_equal == 1 and query.times is None:
            by_digest.setdefault(query.digest, []).append(number)
        elif query.digest:
            same: Any = {"term": {"simhash.digest": query.digest}}
            searches.append((_body([same], filter, query.times, size=query.most_equal), equal[number]))
        if query.keys:
            sharing = {"dis_max": {"queries": [clause_of(condition) for condition in query.keys]}}
            # One hit too many tells that documents were left out. Each shard scores by its own counts of the keys
            # (there is no dfs phase): the score only decides which of very many documents come first.
            ranked = _body([], filter, query.times, size=query.most + 1, originals=originals, must=sharing)
            searches.append(({**ranked, "sort": ["_score", _FIRST]}, candidates[number]))
    if by_digest:
        of_these = {"terms": {"simhash.digest": sorted(by_digest)}}
        first_of_each = _body([of_these], filter, size=len(by_digest)) | {"collapse": {"field": "simhash.digest"}}
        searches.append((first_of_each, first_of_digests))
    shared: dict[str, Row] = {}  # each StoreQuery finds the same documents of a crowd
    for together in in_parts(searches, SEARCHES):
        answers = _rows_of_each(connection, [body for body, _ in together])
        for (_, found), found_rows in zip(together, answers, strict=True):
            found += [shared.setdefault(row.id, row) for row in found_rows if row.digest]
    for row in first_of_digests:
        for number in by_digest.get(row.digest, ()):
            equal[number] = [row]
    return equal, candidates


def _rows_of_each(connection: Connection, searches: Sequence[Mapping[str, Any]]) -> list[list[Row]]:
    """Return the Rows that each of several searches finds, by one request."""

    def read(answer: Any) -> list[list[Row]]:
        parts = answer["responses"]
        if len(parts) != len(searches):
            raise ValueError(f"{len(parts)} answers to {len(searches)} searches")
        return [_rows(part, connection) for part in parts]

    lines = [line for body in searches for line in ({}, body)]
    return connection.send("POST", "_msearch", lines, {"max_concurrent_searches": "8"}, read=read)


def clause_of(query: KeyQuery) -> dict[str, Any]:
    """Return the clause for the documents that fulfil a query.

    In query context the score of a document is that of BM25: the sum of the rarities of the shared keys.
    """
    keys = [{"term": {"simhash.keys": key}} for key in encoded(query.keys)]
    clause: dict[str, Any] = {"should": keys, "minimum_should_match": query.minimum}
    if query.lengths is not None:
        clause["filter"] = [{"range": {"simhash.length": {"gte": query.lengths[0], "lte": query.lengths[1]}}}]
    return {"bool": clause}


def _near(
    connection: Connection, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool
) -> tuple[list[list[Row]], int]:
    """Return the documents near the fingerprint of each StoreQuery, and of how many more nothing is known, at least.

    :param queries: of one distance and with equal times.
    """
    distance = queries[0].distance
    values = [query.fingerprint or 0 for query in queries]
    clause = candidates_clause(sorted(set(values)), distance)
    own = np.array(values, dtype=np.uint64)
    near: list[list[Row]] = [[] for _ in queries]
    count = 0
    for rows in _all(connection, _body([clause], filter, queries[0].times, size=PAGE, originals=originals)):
        if count >= MOST_READ:
            return near, 1
        read = [row for row in rows if row.fingerprint is not None]
        others = np.array([row.fingerprint for row in read], dtype=np.uint64)
        near_pairs = np.nonzero(np.bitwise_count(own[:, None] ^ others) <= distance)
        for one, position in zip(*near_pairs, strict=True):
            near[one].append(read[position])
        count += len(rows)
    return near, 0


def members(connection: Connection, groups: Sequence[str]) -> list[Row]:
    """Return the documents of the groups with these names."""
    search = _body([{"terms": {"simhash.group": list(groups)}}], None, size=PAGE)
    return [row for rows in _all(connection, search) for row in rows if row.digest]


def _all(connection: Connection, search: Mapping[str, Any]) -> Iterator[list[Row]]:
    """Yield the Rows of all hits of a search, the smallest order first, in pages.

    Almost always one search has them all. Else they are read from a point in time, which puts documents with equal
    orders into an order, too: none is lost between two pages.
    """
    rows = connection.send("POST", "_search", search, read=lambda answer: _rows(answer, connection))
    if len(rows) < PAGE:
        yield rows
    else:
        yield from pages(connection, search, connection.row_of)


def _body(
    filters: list[Any], filter: Filter | None, times: Any = None, *, size: int, originals: bool = False, must: Any = ()
) -> dict[str, Any]:
    """Return the search for the Rows of the first documents, the smallest order first.

    :param filters: with the filter of the caller, and ``StoreQuery.times``.
    :param must: what ranks the documents.
    """
    if filter is not None:
        filters = [*filters, filter]
    if times is not None:
        filters = [*filters, {"range": {"simhash.time": {"gte": times[0], "lte": times[1]}}}]
    query = {"bool": {"filter": filters, "must": must, "must_not": [_IS_COPY] if originals else []}}
    return {"query": query, "sort": [_FIRST], "size": size, **HIT_OPTIONS}


def _rows(answer: Any, connection: Connection) -> list[Row]:
    """Return the Rows of the hits in a response. One that another program wrote has no digest."""
    return [connection.row_of(hit) for hit in answer["hits"]["hits"]]
