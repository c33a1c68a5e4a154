"""Requests on documents: fingerprints in the object ``simhash``, found by their segments."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import (
    Annotate,
    Candidates,
    Count,
    Dependents,
    Describe,
    Entry,
    Fetch,
    FetchFields,
    Link,
    Probe,
    Refresh,
    Relink,
    Remove,
    Row,
    Scan,
    ScanPage,
    SetUp,
    Write,
    Written,
)
from es_simhash.errors import SimhashError, TooLarge, TooManyCandidates
from es_simhash.fingerprinting.encoding import from_longs, hex_segments, to_longs
from es_simhash.search.candidates import candidates_clause
from es_simhash.search.query_plan import query_plan
from es_simhash.stores.elasticsearch.failures import complete, from_body, item_reason, passes
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.stores.elasticsearch.steps import (
    CHANGED_SINCE,
    Call,
    chunks,
    condition,
    describe,
    results,
    set_up,
    steps,
    stored,
    with_ids,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.stores.elasticsearch.steps import Steps

PAGE = 1_000
"""Hits of a search. A full page is not trusted: the search is made again, page by page to its end."""
MAX_CANDIDATES = 200_000
"""Hits of one search at most; a query that meets more is on a hot segment."""
UNION = 100
"""Fingerprints of one union query at most."""
UNION_VALUES = 20_000
"""Values in one union query at most: some 200 KB."""
UNION_CANDIDATES = 40
"""Candidates that a union query may be expected to find: it also finds what is near none of its fingerprints. Measured:
a candidate costs as much as some ten values."""
SEARCHES = 100
"""Searches of one multi-search: a request has a limit of 100 MB."""
KEEP_ALIVE = "2m"
SCAN_PAGE = 10_000
SCAN_KEEP_ALIVE = "10m"
TERMS = 10_000
"""Ids in one query; a server takes 65,536."""

_LONGS = ("fp", "fp1")  # the second of 128 bits only
_ROW_FIELDS = [f"simhash.{name}" for name in (*_LONGS, "digest", "group", "duplicate_of", "written")]


@steps.register(Describe)
def _describe(op: Describe, index: str, name: str) -> Steps:
    return (yield from describe(DOCUMENTS, index, name))


@steps.register(SetUp)
def _set_up(op: SetUp, index: str, name: str) -> Steps:
    return (yield from set_up(DOCUMENTS, op.scheme, index, name))


@steps.register(Fetch)
def _fetch(op: Fetch, index: str, name: str) -> Steps:
    docs = yield from stored(op.ids, ("simhash",), index, name)
    return {doc["_id"]: _stored_row(doc) for doc in docs}


@steps.register(FetchFields)
def _fetch_fields(op: FetchFields, index: str, name: str) -> Steps:
    docs = yield from stored(op.ids, op.fields, index, name)
    return {doc["_id"]: doc.get("_source", {}) for doc in docs}


@steps.register(Candidates)
def _candidates(op: Candidates, index: str, name: str) -> Steps:
    header = {"index": index, "allow_partial_search_results": False}
    rows: dict[str, Row] = {}
    unions = yield from _unions(op, index)
    for searches in chunks([_search(op, probes) for probes in unions], SEARCHES):
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


@steps.register(Dependents)
def _dependents(op: Dependents, index: str, name: str) -> Steps:
    found: set[str] = set()
    for ids in chunks(sorted({*op.originals, *op.heads}), TERMS):
        originals, heads = set(op.originals) & set(ids), set(op.heads) & set(ids)
        should = [
            {"terms": {"simhash.duplicate_of": sorted(originals)}},
            {"terms": {"simhash.group": sorted(heads)}},
        ]
        query = {"bool": {"filter": [{"bool": {"should": should, "minimum_should_match": 1}}]}}
        answer = yield Call("search", {"index": index, "query": query, "size": PAGE, "source": False, **_FIELDS})
        complete(answer, name)
        hits = answer["hits"]["hits"]
        if len(hits) == PAGE:
            hits = yield from _every_page(query, index, name)
        rows = [_found_row(hit) for hit in hits]
        found |= {
            row.id for row in rows if row.duplicate_of in originals or (row.group in heads and row.group != row.id)
        }
    return found


@steps.register(Write)
def _write(op: Write, index: str, name: str) -> Steps:
    return (yield from _written([(e.row.id, _index_operation(e, op.bits)) for e in op.entries], index, name))


@steps.register(Annotate)
def _annotate(op: Annotate, index: str, name: str) -> Steps:
    written = yield from _written([(row.id, _update_operation(row, op.bits)) for row in op.rows], index, name)
    if not written.conflicts:
        return written
    stored = yield from _fetch(Fetch(tuple(sorted(written.conflicts))), index, name)
    lost = {row.id for row in op.rows if row.id in written.conflicts and stored.get(row.id) != row}
    return replace(written, conflicts=frozenset(lost))


def _written(documents: Sequence[tuple[str, tuple[Any, Any]]], index: str, name: str) -> Steps:
    operations = [line for _, lines in documents for line in lines]
    try:
        answer = yield Call("bulk", {"index": index, "operations": operations})
    except TooLarge as error:
        return (yield from _written_by_halves(documents, index, name, error))
    refused: dict[str, str] = {}
    busy: set[str] = set()
    conflicts: set[str] = set()
    for (id, _), item in zip(documents, answer["items"], strict=True):
        ((kind, result),) = item.items()
        if kind == "update" and result["status"] in CHANGED_SINCE:
            conflicts.add(id)
        elif passes(result, result["status"]):
            busy.add(id)
        elif result["status"] >= 300:
            refused[id] = f"the server refused it: {item_reason(result['error'])}"
    return Written(refused, searchable=False, busy=frozenset(busy), conflicts=frozenset(conflicts))


def _written_by_halves(
    documents: Sequence[tuple[str, tuple[Any, Any]]], index: str, name: str, error: TooLarge
) -> Steps:
    """Until each request is small enough, or holds one document that is too large by itself."""
    if len(documents) == 1:
        return Written({documents[0][0]: str(error)}, searchable=False)
    middle = len(documents) // 2
    first: Written = yield from _written(documents[:middle], index, name)
    second: Written = yield from _written(documents[middle:], index, name)
    return Written(
        {**first.refused, **second.refused},
        searchable=False,
        busy=first.busy | second.busy,
        conflicts=first.conflicts | second.conflicts,
    )


@steps.register(Remove)
def _remove(op: Remove, index: str, name: str) -> Steps:
    if not op.ids:
        return set()
    operations = [{"delete": {"_id": id, **condition(op.versions.get(id))}} for id in op.ids]
    answer = yield Call("bulk", {"index": index, "operations": operations})
    return {result["_id"] for result in results(answer, name) if result.get("result") == "deleted"}


@steps.register(Scan)
def _scan(op: Scan, index: str, name: str) -> Steps:
    size = op.size or SCAN_PAGE
    if op.after is None:
        opened = yield Call("open_point_in_time", {"index": index, "keep_alive": SCAN_KEEP_ALIVE})
        pit, place = opened["id"], {}
    else:
        pit, place = op.after[0], {"search_after": op.after[1]}
    if op.slice is not None:
        # By the ids: the server's own parts, by places in a segment, are others for each point in time.
        place = {**place, "slice": {"field": "_id", "id": op.slice[0], "max": op.slice[1]}}
    source = list(op.fields) if op.fields else False  # an empty list is all fields to the server
    page = yield from _page(_scanned(op), size, pit, SCAN_KEEP_ALIVE, place, name, source=source)
    hits = page["hits"]["hits"]
    rows = [_found_row(hit) for hit in hits]
    sources = [] if op.fields is None else [hit.get("_source", {}) for hit in hits]
    if len(hits) == size:
        return ScanPage(rows, (page["pit_id"], hits[-1]["sort"]), sources)
    yield Call("close_point_in_time", {"id": page["pit_id"]})
    return ScanPage(rows, None, sources)


@steps.register(Count)
def _count(op: Count, index: str, name: str) -> Steps:
    answer = yield Call("count", {"index": index, "query": _scanned(op.scan)})
    count: int = answer["count"]
    return count if op.scan.slice is None else count // op.scan.slice[1]  # slices are about equal


def _scanned(op: Scan) -> dict[str, Any]:
    query: dict[str, Any] = {"filter": [op.filter] if op.filter else []}
    has_digest = {"exists": {"field": "simhash.digest"}}
    if op.missing:
        query["must_not"] = [has_digest]
    elif op.fields is None:
        query["filter"].append(has_digest)
    return {"bool": query}


@steps.register(Relink)
def _relink(op: Relink, index: str, name: str) -> Steps:
    operations: list[dict[str, Any]] = []
    for id, link in op.links.items():
        links = {"group": link.group, "duplicate_of": link.duplicate_of}
        operations += ({"update": {"_id": id, **condition(link.version)}}, {"doc": {"simhash": links}})
    answer = yield Call("bulk", {"index": index, "operations": operations})
    conflicts = {result["_id"] for result in results(answer, name) if "error" in result}
    rows = yield from _fetch(Fetch(tuple(sorted(conflicts))), index, name)
    return {id for id in conflicts if id not in rows or not _has(rows[id], op.links[id])}


def _has(row: Row, link: Link) -> bool:
    return (row.group, row.duplicate_of) == (link.group, link.duplicate_of)


@steps.register(Refresh)
def _refresh(op: Refresh, index: str, name: str) -> Steps:
    yield Call("indices.refresh", {"index": index})


# --- searches ----------------------------------------------------------------------------------------------


def _unions(op: Candidates, index: str) -> Steps:
    """The Probes, by as many as one query takes: the more documents there are, the fewer."""
    asking = [probe for probe in op.probes if probe.digest is not None or op.fingerprints([probe])]
    probes = list(dict.fromkeys(asking))  # copies ask the same
    together = UNION
    if len(probes) > 1 and op.max_distance >= 0:
        documents = (yield Call("count", {"index": index}))["count"]
        plan = query_plan(op.max_distance, op.bits // 16)
        together = min(UNION, max(1, UNION_VALUES // plan.values))
        while together > 1 and documents * plan.share(together) > UNION_CANDIDATES:
            together = together * 3 // 4
    return chunks(probes, together)


def _search(op: Candidates, probes: Sequence[Probe]) -> dict[str, Any]:
    should: list[dict[str, Any]] = []
    if fingerprints := op.fingerprints(probes):
        should.append(candidates_clause(fingerprints, op.max_distance, bits=op.bits))
    if digests := [probe.digest for probe in probes if probe.digest is not None]:
        should.append({"terms": {"simhash.digest": digests}})
    query: dict[str, Any] = {"filter": [{"bool": {"should": should, "minimum_should_match": 1}}]}
    if op.filter is not None:
        query["filter"].append(op.filter)
    if op.without:
        query["must_not"] = [with_ids(op.without)]
    search = {"query": {"bool": query}, "size": PAGE, "_source": False, **_FIELDS}
    if op.one_per_digest:
        first = {"simhash.written": {"order": "asc", "missing": "_first"}}
        search |= {"collapse": {"field": "simhash.digest"}, "sort": [first]}
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
                raise TooManyCandidates(
                    f"{name}: more than {MAX_CANDIDATES:,} candidates: very many documents share a segment; "
                    "use a smaller max_distance or a narrower filter"
                )
            after = {"search_after": hits[-1]["sort"]}
    except SimhashError:
        yield Call("close_point_in_time", {"id": pit})
        raise
    yield Call("close_point_in_time", {"id": pit})
    return hits


def _page(
    query: dict[str, Any],
    size: int,
    pit: str,
    keep_alive: str,
    after: dict[str, Any],
    name: str,
    source: Any = False,
) -> Steps:
    page = yield Call(
        "search",
        {
            "query": query,
            "size": size,
            "source": source,
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


def _simhash(row: Row, bits: int) -> dict[str, Any]:
    simhash: dict[str, Any] = {
        "digest": row.digest,
        "group": row.group,
        "duplicate_of": row.duplicate_of,
        "written": row.written,
    }
    if row.fingerprint is not None:
        simhash |= zip(_LONGS, to_longs(row.fingerprint, bits), strict=False)
        simhash |= {f"s{i}": segment for i, segment in enumerate(hex_segments(row.fingerprint, bits))}
    return simhash


def _index_operation(entry: Entry, bits: int) -> tuple[Any, Any]:
    simhash = _simhash(entry.row, bits)
    if entry.row.duplicate_of is None:
        del simhash["duplicate_of"]
    # The document was written as JSON once already; ours becomes its first field.
    document = f'{{"simhash": {json.dumps(simhash, ensure_ascii=False)}, {entry.source[1:]}'
    return {"index": {"_id": entry.row.id}}, document


def _update_operation(row: Row, bits: int) -> tuple[Any, Any]:
    # An update merges objects, so a field of a former fingerprint would stay: each is named.
    names = [*(f"s{i}" for i in range(bits // 16)), *_LONGS[: bits // 64]]
    every = dict.fromkeys(names) | _simhash(row, bits)
    return {"update": {"_id": row.id, **condition(row.version)}}, {"doc": {"simhash": every}}


def _stored_row(doc: dict[str, Any]) -> Row:
    simhash = doc["_source"].get("simhash", {})
    longs = [simhash[name] for name in _LONGS if simhash.get(name) is not None]
    return Row(
        id=doc["_id"],
        fingerprint=from_longs(longs) if longs else None,
        digest=simhash.get("digest", ""),
        group=simhash.get("group", ""),
        duplicate_of=simhash.get("duplicate_of"),
        written=simhash.get("written", 0),
        version=(doc["_seq_no"], doc["_primary_term"]),
    )


def _found_row(hit: dict[str, Any]) -> Row:
    fields = {name: values[0] for name, values in hit.get("fields", {}).items()}
    longs = [fields[f"simhash.{name}"] for name in _LONGS if f"simhash.{name}" in fields]
    return Row(
        id=hit["_id"],
        fingerprint=from_longs(longs) if longs else None,
        digest=fields.get("simhash.digest", ""),
        group=fields.get("simhash.group", ""),
        duplicate_of=fields.get("simhash.duplicate_of"),
        written=fields.get("simhash.written", 0),
        version=(hit["_seq_no"], hit["_primary_term"]),
    )
