"""Handlers of the requests that search documents: Candidates, Dependents, Scan and Count."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Count, Dependents, Found, Scan, ScanPage
from es_simhash.errors import SimhashError, TooManyCandidates
from es_simhash.fingerprinting.encoding import hex_segments, segment_count
from es_simhash.search.candidates import candidates_clause
from es_simhash.search.query_plan import query_plan
from es_simhash.stores.elasticsearch.calls import Call, handler
from es_simhash.stores.elasticsearch.key_search import sharing_clause
from es_simhash.stores.elasticsearch.responses import check_complete, error_from_body
from es_simhash.stores.elasticsearch.rows import KEY_FIELDS, ROW_FIELDS, to_row
from es_simhash.stores.elasticsearch.steps import chunks, with_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Probe, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.elasticsearch.calls import Index, Steps

PAGE = 1_000
"""Hits of one search. If a search returns a full page, all pages of its query are read."""
MAX_CANDIDATES = 200_000
"""Largest number of hits of one query. A query with more hits contains a segment that very many documents share."""
UNION = 100
"""Largest number of Probes in one query."""
UNION_VALUES = 20_000
"""Largest number of segment values in one query: some 200 KB."""
UNION_CANDIDATES = 40
"""Largest number of candidates that a query for several fingerprints may find by chance, near none of them.

Measured: a candidate costs as much as some ten values.
"""
COUNTED = 10_000
"""Up to this number the documents that fulfil the queries of a Probe are counted."""
SEARCHES = 100
"""Searches in one multi-search. A request may have 100 MB."""
LARGEST_GROUP = 100
"""Hits of documents with one high half of 128 bits."""
KEEP_ALIVE = "2m"
"""How long a point in time lives after each page of Candidates."""
SCAN_PAGE = 10_000
"""Documents in a page of Scan, if the request does not say."""
SCAN_KEEP_ALIVE = "10m"
"""How long a point in time lives after each page of Scan."""
TERMS = 10_000
"""Ids in one query of Dependents. A server takes 65,536."""

_ROW_OPTIONS: dict[str, Any] = {
    "docvalue_fields": ROW_FIELDS,
    "seq_no_primary_term": True,
    "track_total_hits": False,
}
"""Options of a search whose hits become Rows without keys."""
_KEYED_ROW_OPTIONS = _ROW_OPTIONS | {"docvalue_fields": [*ROW_FIELDS, *KEY_FIELDS]}
"""Options of a search whose hits become Rows with keys."""
_FIRST_WRITTEN = {"simhash.written": {"order": "asc", "missing": "_first"}}


# --- candidates ----------------------------------------------------------------------------------------------------


def _candidates(request: Candidates, index: Index) -> Steps[Found]:
    rows: dict[str, Row] = {}
    left_out: Counter[int] = Counter()
    batches = yield from _probe_batches(request, index)
    key_queries = request.key_queries()
    asked = [_search(request, probes) for probes in batches] + [_key_search(request, some) for some in key_queries]
    of_probes: list[Sequence[Probe] | None] = [*batches, *[None] * len(key_queries)]
    numbers: list[Sequence[int]] = [*[()] * len(batches), *key_queries.values()]
    for some in chunks(list(zip(asked, of_probes, numbers, strict=True)), SEARCHES):
        bodies = yield from _multi_search([search for search, _, _ in some], index)
        for (search, probes, sharing), body in zip(some, bodies, strict=True):
            hits = body["hits"]["hits"]
            if probes is None:
                if len(hits) > request.most:
                    left_out.update(dict.fromkeys(sharing, body["hits"]["total"]["value"] - request.most))
                hits = hits[: request.most]
            elif len(hits) == search["size"]:
                if request.per_fingerprint is None:
                    hits = yield from _all_hits(search["query"], index, _row_options(request))
                else:
                    hits, crowds = yield from _crowded(request, probes, request.per_fingerprint, index)
                    left_out.update(request.left_out_of(crowds))
            rows |= {hit["_id"]: to_row(hit) for hit in hits}
    return Found(list(rows.values()), dict(left_out))


def _crowded(
    request: Candidates, probes: Sequence[Probe], most: int, index: Index
) -> Steps[tuple[list[dict[str, Any]], dict[int | None, int]]]:
    """Return the hits of Probes of which some find very many documents, ``most`` of each fingerprint.

    The second value is by fingerprint how many hits were left out; empty if ``most`` is 1.
    """
    digests = replace(request, max_distance=-1)
    by_digest = [_search(digests, some) for some in chunks(probes, UNION) if any(p.digest is not None for p in some)]
    hits: list[dict[str, Any]] = []
    for search, body in zip(by_digest, (yield from _multi_search(by_digest, index)) if by_digest else (), strict=True):
        found = body["hits"]["hits"]
        if len(found) == search["size"]:  # many copies: with one for each digest there are no more than Probes
            found = yield from _all_hits(search["query"], index, _row_options(request))
        hits += found
    crowds: dict[int | None, int] = {}
    pending = [[probe for probe in probes if probe.fingerprint is not None]]
    while pending:
        some = pending.pop()
        if not some:
            continue
        search = _search_of_fingerprints(request, some)
        [body] = yield from _multi_search([search], index)
        heads = body["hits"]["hits"]
        if len(heads) == PAGE and len(some) > 1:
            middle = len(some) // 2
            pending += [some[:middle], some[middle:]]
            continue
        groups: list[dict[str, Any]] = [{"hits": [head]} for head in heads]
        if most > 1 or request.bits > 64:
            groups = []
            same = [_search_of_group(request, to_row(head), most) for head in heads]
            for part in chunks(same, SEARCHES):
                groups += [body["hits"] for body in (yield from _multi_search(part, index))]
        if len(heads) == PAGE or any(_is_mixed(group["hits"]) for group in groups):
            hits += yield from _all_hits(search["query"], index, _row_options(request))
            continue
        for group in groups:
            hits += group["hits"]
            if most > 1 and group["total"]["value"] > most:
                crowds[to_row(group["hits"][0]).fingerprint] = group["total"]["value"] - most
    return hits, crowds


def _search_of_fingerprints(request: Candidates, probes: Sequence[Probe]) -> dict[str, Any]:
    """Return the body of a search by the fingerprints of some Probes: the first document of each fingerprint.

    At 128 bits it returns the first document of each high half.
    """
    search = _search(replace(request, one_per_digest=False), [replace(probe, digest=None) for probe in probes])
    return search | {"collapse": {"field": "simhash.fp"}, "sort": [_FIRST_WRITTEN]}


def _search_of_group(request: Candidates, head: Row, most: int) -> dict[str, Any]:
    """Return the body of a search for documents with the fingerprint of another one; at 128 bits with its high half."""
    assert head.fingerprint is not None
    segments = hex_segments(head.fingerprint, request.bits)[:4]
    terms = [{"term": {f"simhash.s{number}": segment}} for number, segment in enumerate(segments)]
    search = {
        "query": _restricted(request, {"filter": terms}),
        "size": most if request.bits == 64 else LARGEST_GROUP,
        "sort": [_FIRST_WRITTEN],
        "_source": False,
        **_row_options(request),
        "track_total_hits": COUNTED,
    }
    return search | {"collapse": {"field": "simhash.digest"}} if request.one_per_digest else search


def _is_mixed(hits: Sequence[dict[str, Any]]) -> bool:
    """Return whether hits are not all of their group, and have several fingerprints."""
    return len(hits) == LARGEST_GROUP and len({to_row(hit).fingerprint for hit in hits}) > 1


def _multi_search(searches: Sequence[dict[str, Any]], index: Index) -> Steps[list[dict[str, Any]]]:
    """Return the body of the response to each search. Every shard has answered.

    Scores are computed from the documents of all shards. It makes no difference for an index with one shard.
    """
    header = {"index": index.index, "allow_partial_search_results": False, "search_type": "dfs_query_then_fetch"}
    response = yield Call("msearch", {"searches": [line for search in searches for line in (header, search)]})
    bodies: list[dict[str, Any]] = response["responses"]
    for body in bodies:
        if "error" in body:
            raise error_from_body(body, body["status"], index.name)
        check_complete(body, index.name)
    return bodies


def _probe_batches(request: Candidates, index: Index) -> Steps[list[Sequence[Probe]]]:
    """Return the Probes with a digest or a fingerprint in batches, one for each query.

    A query for several fingerprints also finds documents that are near none of them: one segment is near one
    fingerprint, another segment near a second one. The more documents the index has, the smaller the batches.
    """
    asked = [
        replace(probe, queries=())
        for probe in request.probes
        if probe.digest is not None or request.fingerprints([probe])
    ]
    probes = list(dict.fromkeys(asked))  # copies have equal Probes
    size = UNION
    if len(probes) > 1 and request.max_distance >= 0:
        documents = (yield Call("count", {"index": index.index}))["count"]
        plan = query_plan(request.max_distance, segment_count(request.bits))
        size = min(UNION, max(1, UNION_VALUES // plan.values))
        while size > 1 and documents * plan.share(size) > UNION_CANDIDATES:
            size = size * 3 // 4
    return list(chunks(probes, size))


def _search(request: Candidates, probes: Sequence[Probe]) -> dict[str, Any]:
    """Return the body of a search by the digests and the fingerprints of some of the Probes."""
    should: list[dict[str, Any]] = []
    if fingerprints := request.fingerprints(probes):
        should.append(candidates_clause(fingerprints, request.max_distance, bits=request.bits))
    if digests := [probe.digest for probe in probes if probe.digest is not None]:
        should.append({"terms": {"simhash.digest": digests}})
    query = _restricted(request, {"filter": [_any_of(should)]})
    search = {"query": query, "size": PAGE, "_source": False, **_row_options(request)}
    if request.one_per_digest:
        return search | {"collapse": {"field": "simhash.digest"}, "sort": [_FIRST_WRITTEN]}
    return search | {"sort": ["_doc"]}  # the cheapest order


def _key_search(request: Candidates, queries: Sequence[KeyQuery]) -> dict[str, Any]:
    """Return the body of a search for the documents that fulfil one of the queries: most shared keys first.

    It returns one hit too many, if there is one: so it is known that documents were left out.
    """
    search = {
        "query": _restricted(request, {"must": [sharing_clause(queries)], "filter": []}),
        "sort": ["_score", _FIRST_WRITTEN],
        "size": request.most + 1,
        "_source": False,
        **_row_options(request),
        "track_total_hits": COUNTED,
    }
    return search | {"collapse": {"field": "simhash.digest"}} if request.one_per_digest else search


def _restricted(request: Candidates, clauses: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the query of these clauses for documents that match the filter, without the ids to leave out."""
    if request.filter is not None:
        clauses = {**clauses, "filter": [*clauses["filter"], request.filter]}
    if request.without:
        clauses = {**clauses, "must_not": [with_ids(request.without)]}
    return {"bool": clauses}


def _row_options(request: Candidates) -> dict[str, Any]:
    return _KEYED_ROW_OPTIONS if request.with_keys else _ROW_OPTIONS


def _dependents(request: Dependents, index: Index) -> Steps[set[str]]:
    found: set[str] = set()
    for ids in chunks(sorted({*request.originals, *request.heads}), TERMS):
        originals, heads = set(request.originals) & set(ids), set(request.heads) & set(ids)
        links = [
            {"terms": {"simhash.duplicate_of": sorted(originals)}},
            {"terms": {"simhash.group": sorted(heads)}},
        ]
        query = {"bool": {"filter": [_any_of(links)]}}
        search = {"index": index.index, "query": query, "size": PAGE, "source": False, **_ROW_OPTIONS}
        body = yield Call("search", search)
        check_complete(body, index.name)
        hits = body["hits"]["hits"]
        if len(hits) == PAGE:
            hits = yield from _all_hits(query, index, _ROW_OPTIONS)
        for row in map(to_row, hits):
            if row.duplicate_of in originals or (row.group in heads and row.group != row.id):
                found.add(row.id)
    return found


def _any_of(clauses: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


# --- scan ----------------------------------------------------------------------------------------------------------


def _scan(request: Scan, index: Index) -> Steps[ScanPage]:
    size = request.size or SCAN_PAGE
    if request.after is None:
        point_in_time, options = (yield from _open_point_in_time(index, SCAN_KEEP_ALIVE)), {}
    else:
        point_in_time, options = request.after[0], {"search_after": request.after[1]}
    if request.slice is not None:
        # Slices of the ids. The server's own slices depend on the point in time, and each part has another one.
        part, parts = request.slice
        options = {**options, "slice": {"field": "_id", "id": part, "max": parts}}
    # To the server an empty list means all fields.
    options = {**_ROW_OPTIONS, **options, "size": size, "source": list(request.fields) if request.fields else False}
    page = yield from _page(_scan_query(request), point_in_time, SCAN_KEEP_ALIVE, options, index)
    hits = page["hits"]["hits"]
    rows = [to_row(hit) for hit in hits]
    sources = [] if request.fields is None else [hit.get("_source", {}) for hit in hits]
    if len(hits) == size:
        return ScanPage(rows, (page["pit_id"], hits[-1]["sort"]), sources)
    yield index.dialect.close_point_in_time(page["pit_id"])
    return ScanPage(rows, None, sources)


def _count(request: Count, index: Index) -> Steps[int]:
    body = yield Call("count", {"index": index.index, "query": _scan_query(request.scan)})
    count: int = body["count"]
    return count if request.scan.slice is None else count // request.scan.slice[1]  # slices have about equal sizes


def _scan_query(request: Scan) -> dict[str, Any]:
    query: dict[str, Any] = {"filter": [request.filter] if request.filter else []}
    has_digest = {"exists": {"field": "simhash.digest"}}
    if request.missing:
        query["must_not"] = [has_digest]
    elif request.fields is None:
        query["filter"].append(has_digest)
    return {"bool": query}


# --- pages ---------------------------------------------------------------------------------------------------------


def _all_hits(query: dict[str, Any], index: Index, row_options: dict[str, Any]) -> Steps[list[dict[str, Any]]]:
    """Return all hits of a query, page by page from one point in time.

    :param row_options: _ROW_OPTIONS or _KEYED_ROW_OPTIONS.
    :raises TooManyCandidates: if there are more than MAX_CANDIDATES.
    """
    point_in_time = yield from _open_point_in_time(index, KEEP_ALIVE)
    hits: list[dict[str, Any]] = []
    options = {**row_options, "size": PAGE, "source": False}
    try:
        while True:
            page = yield from _page(query, point_in_time, KEEP_ALIVE, options, index)
            point_in_time = page["pit_id"]
            hits += page["hits"]["hits"]
            if len(page["hits"]["hits"]) < PAGE:
                break
            if len(hits) > MAX_CANDIDATES:
                raise TooManyCandidates(
                    f"{index.name}: more than {MAX_CANDIDATES:,} candidates: very many documents share a segment; "
                    "use a smaller max_distance or a narrower filter"
                )
            options = {**options, "search_after": hits[-1]["sort"]}
    except SimhashError:
        yield index.dialect.close_point_in_time(point_in_time)
        raise
    yield index.dialect.close_point_in_time(point_in_time)
    return hits


def _open_point_in_time(index: Index, keep_alive: str) -> Steps[str]:
    body = yield index.dialect.open_point_in_time(index.index, keep_alive)
    id: str = body[index.dialect.point_in_time_key]
    return id


def _page(
    query: dict[str, Any], point_in_time: str, keep_alive: str, options: dict[str, Any], index: Index
) -> Steps[dict[str, Any]]:
    """Return the body of the response with one page of hits."""
    body: dict[str, Any] = yield Call(
        "search",
        {
            "query": query,
            "sort": [{index.dialect.tie_breaker: "asc"}],
            "pit": {"id": point_in_time, "keep_alive": keep_alive},
            "allow_partial_search_results": False,
            **options,
        },
    )
    check_complete(body, index.name)
    return body


HANDLERS = dict(
    [
        handler(Candidates, _candidates),
        handler(Dependents, _dependents),
        handler(Scan, _scan),
        handler(Count, _count),
    ]
)
