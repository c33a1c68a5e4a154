"""Requests on documents: fingerprints in the object ``simhash``, found by the ring query."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.core.segments import from_signed, hex_segments, to_signed
from es_simhash.errors import IncompleteAnswer, SimhashError
from es_simhash.ops import (
    Candidates,
    Describe,
    Entry,
    Fetch,
    Probe,
    Refresh,
    Regroup,
    Remove,
    Row,
    Scan,
    Scanned,
    ScanPage,
    SetUp,
    Write,
    Written,
)
from es_simhash.stores.elasticsearch.clause import PLAIN_MAX_DISTANCE, ring_clause
from es_simhash.stores.elasticsearch.failures import BUSY, complete, from_body, item_reason
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.steps import Call, chunks, describe, set_up, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from es_simhash.stores.elasticsearch.steps import Steps

PAGE = 1_000
"""Hits of a search. A full page is not trusted: the search is made again, page by page to its end."""
MAX_CANDIDATES = 200_000
"""Hits of one search at most; a query that meets more is on a hot segment."""
UNION = 100
"""Fingerprints of one union query. Measured: more of them at once find too many candidates."""
SEARCHES = 100
"""Searches of one multi-search: each is up to 25 KB of values, and a request has a limit of 100 MB."""
KEEP_ALIVE = "2m"
SCAN_PAGE = 10_000
SCAN_KEEP_ALIVE = "10m"
CHANGED_SINCE = frozenset({404, 409})
"""Removed or written since the document was read."""

_ROW_FIELDS = ["simhash.fp", "simhash.digest", "simhash.group", "simhash.duplicate_of"]


@steps.register(Describe)
def _describe(op: Describe, index: str, name: str) -> Steps:
    return (yield from describe(DOCUMENTS, index, name))


@steps.register(SetUp)
def _set_up(op: SetUp, index: str, name: str) -> Steps:
    return (yield from set_up(DOCUMENTS, op.scheme, index, name))


@steps.register(Fetch)
def _fetch(op: Fetch, index: str, name: str) -> Steps:
    if not op.ids:
        return {}
    answer = yield Call("mget", {"index": index, "ids": list(op.ids), "source_includes": ["simhash"]})
    for doc in answer["docs"]:
        if "error" in doc:
            raise from_body(doc, 500, name)
    return {doc["_id"]: _stored_row(doc) for doc in answer["docs"] if doc["found"]}


@steps.register(Candidates)
def _candidates(op: Candidates, index: str, name: str) -> Steps:
    header = {"index": index, "allow_partial_search_results": False}
    rows: dict[str, Row] = {}
    for searches in chunks([_search(op, probes) for probes in _unions(op)], SEARCHES):
        answer = yield Call("msearch", {"searches": [line for search in searches for line in (header, search)]})
        for search, body in zip(searches, answer["responses"], strict=True):
            if "error" in body:
                raise from_body(body, body["status"], name)
            complete(body, name)
            hits = body["hits"]["hits"]
            if len(hits) == search["size"]:
                hits = yield from _every_page(search["query"], index, name)
            rows |= {hit["_id"]: _found_row(hit) for hit in hits}
    return list(rows.values())


@steps.register(Write)
def _write(op: Write, index: str, name: str) -> Steps:
    operations = [line for entry in op.entries for line in ({"index": {"_id": entry.id}}, _document(entry))]
    answer = yield Call("bulk", {"index": index, "operations": operations})
    refused = {}
    for item in answer["items"]:
        result = item["index"]
        if result["status"] in BUSY:
            refused[result["_id"]] = f"the server is too busy ({item_reason(result['error'])}): ingest it again"
        elif result["status"] >= 300:
            refused[result["_id"]] = f"the server refused it: {item_reason(result['error'])}"
    return Written(refused, searchable=False)


@steps.register(Remove)
def _remove(op: Remove, index: str, name: str) -> Steps:
    if not op.ids:
        return set()
    answer = yield Call("bulk", {"index": index, "operations": [{"delete": {"_id": id}} for id in op.ids]})
    results = [item["delete"] for item in answer["items"]]
    for result in results:
        if "error" in result:
            raise from_body(result, result["status"], name)
    return {result["_id"] for result in results if result["result"] == "deleted"}


@steps.register(Scan)
def _scan(op: Scan, index: str, name: str) -> Steps:
    if op.after is None:
        opened = yield Call("open_point_in_time", {"index": index, "keep_alive": SCAN_KEEP_ALIVE})
        pit, place = opened["id"], {}
    else:
        pit, place = op.after[0], {"search_after": op.after[1]}
    query = {"bool": {"filter": [{"exists": {"field": "simhash.digest"}}, *([op.filter] if op.filter else [])]}}
    page = yield from _page(query, SCAN_PAGE, pit, SCAN_KEEP_ALIVE, place, name)
    hits = page["hits"]["hits"]
    documents = [Scanned(_found_row(hit), (hit["_seq_no"], hit["_primary_term"])) for hit in hits]
    if len(hits) == SCAN_PAGE:
        return ScanPage(documents, (page["pit_id"], hits[-1]["sort"]))
    yield Call("close_point_in_time", {"id": page["pit_id"]})
    return ScanPage(documents, None)


@steps.register(Regroup)
def _regroup(op: Regroup, index: str, name: str) -> Steps:
    operations: list[dict[str, Any]] = []
    for id, (group, version) in op.groups.items():
        condition = {"if_seq_no": version[0], "if_primary_term": version[1]}
        operations += ({"update": {"_id": id, **condition}}, {"doc": {"simhash": {"group": group}}})
    answer = yield Call("bulk", {"index": index, "operations": operations})
    results = [item["update"] for item in answer["items"]]
    for result in results:
        if "error" in result and result["status"] not in CHANGED_SINCE:
            raise from_body(result, result["status"], name)
    return {result["_id"] for result in results if "error" in result}


@steps.register(Refresh)
def _refresh(op: Refresh, index: str, name: str) -> Steps:
    yield Call("indices.refresh", {"index": index})


# --- searches ----------------------------------------------------------------------------------------------


def _unions(op: Candidates) -> Iterator[Sequence[Probe]]:
    """The Probes, by as many as one query takes: beyond 3 bits the neighbourhoods of several would overlap too much."""
    probes = [probe for probe in op.probes if probe != Probe(None, None)]
    return chunks(probes, UNION if op.max_distance <= PLAIN_MAX_DISTANCE else 1)


def _search(op: Candidates, probes: Sequence[Probe]) -> dict[str, Any]:
    should: list[dict[str, Any]] = []
    if fingerprints := [probe.fingerprint for probe in probes if probe.fingerprint is not None]:
        should.append(ring_clause(fingerprints, op.max_distance))
    if digests := [probe.digest for probe in probes if probe.digest is not None]:
        should.append({"terms": {"simhash.digest": digests}})
    query: dict[str, Any] = {"filter": [{"bool": {"should": should, "minimum_should_match": 1}}]}
    if op.filter is not None:
        query["filter"].append(op.filter)
    if op.without:
        query["must_not"] = [{"ids": {"values": list(op.without)}}]
    search = {"query": {"bool": query}, "size": PAGE, "_source": False, **_FIELDS}
    if op.one_per_digest:
        search |= {"collapse": {"field": "simhash.digest"}, "sort": ["_seq_no"]}
    else:
        search["sort"] = ["_doc"]  # as they come
    return search


_FIELDS: dict[str, Any] = {
    "docvalue_fields": _ROW_FIELDS,
    "seq_no_primary_term": True,
    "track_total_hits": False,
}


def _every_page(query: dict[str, Any], index: str, name: str) -> Steps:
    """All hits of a query, from one point in time."""
    pit = (yield Call("open_point_in_time", {"index": index, "keep_alive": KEEP_ALIVE}))["id"]
    hits: list[dict[str, Any]] = []
    after: dict[str, Any] = {}
    try:
        while True:
            page = yield from _page(query, PAGE, pit, KEEP_ALIVE, after, name)
            pit = page["pit_id"]
            hits += page["hits"]["hits"]
            if len(page["hits"]["hits"]) < PAGE:
                break
            if len(hits) > MAX_CANDIDATES:
                raise IncompleteAnswer(
                    f"{name}: more than {MAX_CANDIDATES:,} candidates: very many documents share a segment; "
                    "use a smaller max_distance or a narrower filter"
                )
            after = {"search_after": hits[-1]["sort"]}
    except SimhashError:
        yield Call("close_point_in_time", {"id": pit})
        raise
    yield Call("close_point_in_time", {"id": pit})
    return hits


def _page(query: dict[str, Any], size: int, pit: str, keep_alive: str, after: dict[str, Any], name: str) -> Steps:
    page = yield Call(
        "search",
        {
            "query": query,
            "size": size,
            "source": False,
            **_FIELDS,
            "sort": [{"_shard_doc": "asc"}],
            "pit": {"id": pit, "keep_alive": keep_alive},
            "allow_partial_search_results": False,
            **after,
        },
    )
    complete(page, name)
    return page


# --- documents ---------------------------------------------------------------------------------------------


def _document(entry: Entry) -> str:
    simhash: dict[str, Any] = {"digest": entry.digest, "group": entry.group}
    if entry.duplicate_of is not None:
        simhash["duplicate_of"] = entry.duplicate_of
    if entry.fingerprint is not None:
        simhash["fp"] = to_signed(entry.fingerprint)
        simhash |= {f"s{i}": segment for i, segment in enumerate(hex_segments(entry.fingerprint, 64))}
    # The document was written as JSON once already; ours becomes its first field.
    return f'{{"simhash": {json.dumps(simhash, ensure_ascii=False)}, {entry.source[1:]}'


def _stored_row(doc: dict[str, Any]) -> Row:
    simhash = doc["_source"].get("simhash", {})
    fp = simhash.get("fp")
    return Row(
        id=doc["_id"],
        fingerprint=None if fp is None else from_signed(fp),
        digest=simhash.get("digest", ""),
        group=simhash.get("group", ""),
        duplicate_of=simhash.get("duplicate_of"),
        written=doc["_seq_no"],
    )


def _found_row(hit: dict[str, Any]) -> Row:
    fields = {name: values[0] for name, values in hit.get("fields", {}).items()}
    fp = fields.get("simhash.fp")
    return Row(
        id=hit["_id"],
        fingerprint=None if fp is None else from_signed(fp),
        digest=fields.get("simhash.digest", ""),
        group=fields.get("simhash.group", ""),
        duplicate_of=fields.get("simhash.duplicate_of"),
        written=hit["_seq_no"],
    )
