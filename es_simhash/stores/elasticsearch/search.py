"""Search documents: candidates, and documents that are linked to others."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Found
from es_simhash.errors import SimhashError, StoreError, TooManyCandidates
from es_simhash.fingerprinting.encoding import hex_segments
from es_simhash.search.candidates import blocks_clause, candidates_clause, plain_clause
from es_simhash.search.look_up import LookUp, choose
from es_simhash.stores.elasticsearch.by_id import chunks, with_ids
from es_simhash.stores.elasticsearch.failures import check_complete, check_count, error_from_body
from es_simhash.stores.elasticsearch.index import WHOLE
from es_simhash.stores.elasticsearch.keys import sharing_clause
from es_simhash.stores.elasticsearch.point_in_time import close_point_in_time, open_point_in_time, read_page
from es_simhash.stores.elasticsearch.rows import KEY_FIELDS, ROW_FIELDS, ROW_OPTIONS, hit_rows, to_row, usable_rows
from es_simhash.stores.elasticsearch.times import Ranges, by_times, ranges_of, with_time
from es_simhash.stores.stored_row import excluding_damaged, without_damaged

if TYPE_CHECKING:
    Search = tuple[dict[str, Any], dict[str, Any]]
    """The header and the body of one search. A header may name an index, in place of the index of the store."""

    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.contract import Probe, Row
    from es_simhash.search.keys import KeyQuery
    from es_simhash.stores.elasticsearch.index import Index

PAGE = 1_000
"""Hits of one search. If a search returns a full page, all pages of its query are read."""
MAX_CANDIDATES = 200_000
"""Largest number of hits of one query. A query with more hits contains a segment that very many documents share."""
READ_AT_ONCE = 10_000
"""Up to this number all hits of a query are read, if they have very many fingerprints."""
WORTH_DIVIDING = 0.75
"""A query is divided again if it has at most this part of the hits of the query that was divided."""
DIGESTS = 100
"""Largest number of digests in one query without fingerprints."""
COUNTED = 10_000
"""Up to this number the documents that fulfil the queries of a Probe are counted."""
SEARCHES = 100
"""Searches in one multi-search. A request may have 100 MB."""
LARGEST_GROUP = 100
"""Hits of documents with one high half of 128 bits."""
KEEP_ALIVE = "2m"
"""How long a point in time lives after each page of Candidates."""
TERMS = 10_000
"""Ids in one query of Dependents. A server takes 65,536."""

_KEYED_ROW_OPTIONS = ROW_OPTIONS | {"docvalue_fields": [*ROW_FIELDS, *KEY_FIELDS]}
"""Options of a search whose hits become Rows with keys."""
_FIRST_WRITTEN = {"simhash.written": {"order": "asc", "missing": "_first"}}


# --- candidates ----------------------------------------------------------------------------------------------------


def candidates(request: Candidates, index: Index) -> Found:
    try:
        found = _find(request, index)
    except StoreError as error:
        if "single valued" not in str(error):
            raise
        # A damaged document has several digests or fingerprints, so the server cannot return one document for each.
        request = replace(request, one_per_digest=False, per_fingerprint=None)
        found = _find(request, index)
    while (again := excluding_damaged(request, found)) is not None:
        request = again
        more = _find(request, index)
        found = replace(more, rows=[*more.rows, *(row for row in found.rows if row.damaged)])
        if not any(row.damaged for row in more.rows):
            break
    return Found(without_damaged(found.rows), found.left_out, found.ids)


def _find(request: Candidates, index: Index) -> Found:
    """Return the reply to Candidates, with the Rows of damaged documents."""
    rows: dict[str, Row] = {}
    ids: set[str] = set()
    left_out: Counter[int] = Counter()
    crowds: dict[int | None, int] = {}
    look_up, batches = _probe_batches(request, index)
    ranges = ranges_of(request, index)
    asked: list[tuple[dict[str, Any], Sequence[Probe] | None, Sequence[int] | None]]
    asked = [(search, probes, ()) for probes in batches for search in _searches(request, probes, ranges, look_up)]
    by_keys = request.key_searches().items()
    asked += [(_key_search(request, *some, ranges), None, numbers) for some, numbers in by_keys]
    asked += [(_search_of_ids(some), None, None) for some in chunks(request.ids, TERMS)]
    for some in chunks(asked, SEARCHES):
        bodies = _multi_search([search for search, _, _ in some], index)
        for (search, probes, sharing), body in zip(some, bodies, strict=True):
            hits = body["hits"]["hits"]
            if sharing is None:
                ids.update(hit["_id"] for hit in hits)
                continue
            if probes is None:
                most = search["size"] - 1
                if len(hits) > most:
                    left_out.update(dict.fromkeys(sharing, body["hits"]["total"]["value"] - most))
                hits = hits[:most]
            elif len(hits) == search["size"]:
                if request.per_fingerprint is None or ranges is not None:
                    hits = _all_hits(search["query"], index, _row_options(request))
                else:
                    hits, some_crowds = _crowded(request, probes, look_up, index)
                    crowds |= some_crowds  # two searches may find one fingerprint
            rows |= {row.id: row for row in hit_rows(hits, index, request.time_field)}
    left_out.update(request.left_out_of(crowds))
    return Found(list(rows.values()), dict(left_out), frozenset(ids))


def _search_of_ids(ids: Sequence[str]) -> dict[str, Any]:
    """Return the body of a search for the documents that have one of these ids."""
    return {"query": with_ids(ids), "size": len(ids), "_source": False, "sort": ["_doc"], "track_total_hits": False}


def _crowded(
    request: Candidates, probes: Sequence[Probe], look_up: LookUp, index: Index
) -> tuple[list[dict[str, Any]], dict[int | None, int]]:
    """Return the hits of Probes of which some find very many documents, ``per_fingerprint`` of each fingerprint.

    The second value is by fingerprint how many hits were left out; empty if ``per_fingerprint`` is 1.
    """
    most = request.per_fingerprint or 1
    digests = replace(request, max_distance=-1)
    asked = [some for some in chunks(probes, DIGESTS) if any(p.digest is not None for p in some)]
    by_digest = [_search(digests, some, look_up) for some in asked]
    hits: list[dict[str, Any]] = []
    for search, body in zip(by_digest, (_multi_search(by_digest, index)) if by_digest else (), strict=True):
        found = body["hits"]["hits"]
        if len(found) == search["size"]:  # many copies: with one for each digest there are no more than Probes
            found = _all_hits(search["query"], index, _row_options(request))
        hits += found
    crowds: dict[int | None, int] = {}
    pending = [([probe for probe in probes if probe.fingerprint is not None], math.inf)]
    while pending:
        some, before = pending.pop()
        if not some:
            continue
        search = _search_of_fingerprints(request, some, look_up)
        [body] = _multi_search([search], index)
        heads = body["hits"]["hits"]
        total = body["hits"]["total"]["value"]
        # Very many fingerprints are found. Half of the Probes may find half of the documents, or, in a chain, the same.
        if len(heads) == PAGE and len(some) > 1 and READ_AT_ONCE < total <= WORTH_DIVIDING * before:
            middle = len(some) // 2
            pending += [(some[:middle], total), (some[middle:], total)]
            continue
        if len(heads) == PAGE or any(to_row(head).damaged for head in heads):
            hits += _all_hits(search["query"], index, _row_options(request))
            continue
        groups: list[dict[str, Any]] = [{"hits": [head]} for head in heads]
        if most > 1 or request.bits > 64:
            groups = []
            same = [_search_of_group(request, to_row(head), most) for head in heads]
            for part in chunks(same, SEARCHES):
                groups += [body["hits"] for body in (_multi_search(part, index))]
        if any(_is_mixed(group["hits"]) for group in groups):
            hits += _all_hits(search["query"], index, _row_options(request))
            continue
        for group in groups:
            hits += group["hits"]
            if most > 1 and group["total"]["value"] > most:
                crowds[to_row(group["hits"][0]).fingerprint] = group["total"]["value"] - most
    return hits, crowds


def _search_of_fingerprints(request: Candidates, probes: Sequence[Probe], look_up: LookUp) -> dict[str, Any]:
    """Return the body of a search by the fingerprints of some Probes: the first document of each fingerprint.

    At 128 bits it returns the first document of each high half.
    """
    without_digests = [replace(probe, digest=None) for probe in probes]
    search = _search(replace(request, one_per_digest=False), without_digests, look_up)
    return search | {"collapse": {"field": "simhash.fp"}, "sort": [_FIRST_WRITTEN], "track_total_hits": True}


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


def _multi_search(searches: Sequence[dict[str, Any]], index: Index) -> list[dict[str, Any]]:
    """Return the body of the response to each search. Every shard has answered.

    The score of a hit counts the documents of all shards. This takes a further round between the shards, so only
    searches that sort by score ask for it.
    """
    scored = {"search_type": "dfs_query_then_fetch"}
    return multi_search([(scored if "_score" in search["sort"] else {}, search) for search in searches], index)


def _probe_batches(request: Candidates, index: Index) -> tuple[LookUp, list[Sequence[Probe]]]:
    """Return how fingerprints are looked up, and the Probes with a digest or a fingerprint in batches, one a query.

    The Probes of a batch have about the same times (:func:`~es_simhash.stores.elasticsearch.times.by_times`).
    """
    asked = [
        replace(probe, queries=(), most=None) if probe.queries else probe
        for probe in request.probes
        if probe.digest is not None or request.fingerprints([probe])
    ]
    probes = list(dict.fromkeys(asked))  # copies have equal Probes
    fingerprints = len(request.fingerprints(probes))
    look_up = LookUp("plan", DIGESTS)
    if fingerprints:
        if index.count.old and fingerprints > 1:
            index.count.set(index.send(index.request("POST", "_count"))["count"])
        documents = index.count.documents
        look_up = choose(fingerprints, request.max_distance, request.bits, documents, blocks=request.blocks)
    if request.time_field is None:
        return look_up, list(chunks(probes, look_up.together))
    return look_up, [batch for some in by_times(probes) for batch in chunks(some, look_up.together)]


def _searches(
    request: Candidates, probes: Sequence[Probe], ranges: Ranges | None, look_up: LookUp
) -> Iterator[dict[str, Any]]:
    """Yield the bodies of the searches by the digests and the fingerprints of some of the Probes.

    One search is enough, unless one document stands for all with its digest and the Probes have different times. Then
    a document outside the times that all Probes have in common stands for itself alone.

    :param probes: all with times, or all without.
    """
    times = [probe.times for probe in probes if probe.times is not None]
    if ranges is None or not times:
        yield _search(request, probes, look_up)
    elif not request.one_per_digest:
        yield _search(request, probes, look_up, [ranges.outer(times)], collapse=False)
    else:
        common, others = ranges.split(times)
        if common is not None:
            yield _search(request, probes, look_up, [common], collapse=True)
        if others:
            yield _search(request, probes, look_up, [_any_of(others)], collapse=False)


def _search(
    request: Candidates,
    probes: Sequence[Probe],
    look_up: LookUp,
    ranges: Sequence[dict[str, Any]] = (),
    *,
    collapse: bool | None = None,
) -> dict[str, Any]:
    """Return the body of a search by the digests and the fingerprints of some of the Probes.

    :param ranges: clauses for the times of the documents.
    :param collapse: of documents with one digest, find the one that was written first; by default as the request says.
    """
    should: list[dict[str, Any]] = []
    if fingerprints := request.fingerprints(probes):
        should.append(_near(fingerprints, request, look_up))
    if digests := [probe.digest for probe in probes if probe.digest is not None]:
        should.append({"terms": {"simhash.digest": digests}})
    query = _restricted(request, {"filter": [_any_of(should), *ranges]})
    search = {"query": query, "size": PAGE, "_source": False, **_row_options(request)}
    if request.one_per_digest if collapse is None else collapse:
        return search | {"collapse": {"field": "simhash.digest"}, "sort": [_FIRST_WRITTEN]}
    return search | {"sort": ["_doc"]}  # the cheapest order


def _near(fingerprints: Sequence[int], request: Candidates, look_up: LookUp) -> dict[str, Any]:
    """Return the clause that looks fingerprints up."""
    if look_up.clause == "blocks":
        return blocks_clause(fingerprints, request.bits)
    if look_up.clause == "plain":
        return plain_clause(fingerprints[0], bits=request.bits)
    return candidates_clause(fingerprints, request.max_distance, bits=request.bits)


def _key_search(
    request: Candidates,
    queries: Sequence[KeyQuery],
    times: tuple[int, int] | None,
    most: int,
    ranges: Ranges | None,
) -> dict[str, Any]:
    """Return the body of a search for the documents that fulfil one of the queries: most shared keys first.

    It returns one hit too many, if there is one: so it is known that documents were left out.
    """
    in_times = [] if ranges is None or times is None else [ranges.outer([times])]
    search = {
        "query": _restricted(request, {"must": [sharing_clause(queries)], "filter": in_times}),
        "sort": ["_score", _FIRST_WRITTEN],
        "size": most + 1,
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
    return with_time(_KEYED_ROW_OPTIONS if request.with_keys else ROW_OPTIONS, request.time_field)


def dependents(index: Index, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for ids in chunks(sorted({*originals, *heads}), TERMS):
        named, led = set(originals) & set(ids), set(heads) & set(ids)
        links = [
            {"terms": {"simhash.duplicate_of": sorted(named)}},
            {"terms": {"simhash.group": sorted(led)}},
        ]
        query = {"bool": {"filter": [_any_of(links)]}}
        search = {"query": query, "size": PAGE, "_source": False, **ROW_OPTIONS}
        body = index.send(index.request("POST", "_search", search, **WHOLE))
        check_complete(body, index.name)
        hits = body["hits"]["hits"]
        if len(hits) == PAGE:  # all copies of an error page are linked to the first one, however many they are
            hits = _all_hits(query, index, ROW_OPTIONS, limited=False)
        for row in usable_rows(hits, index):
            if row.duplicate_of in named or (row.group in led and row.group != row.id):
                found.add(row.id)
    return found


def _any_of(clauses: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _all_hits(
    query: dict[str, Any], index: Index, row_options: dict[str, Any], *, limited: bool = True
) -> list[dict[str, Any]]:
    """Return all hits of a query, page by page from one point in time.

    :param row_options: ROW_OPTIONS or _KEYED_ROW_OPTIONS.
    :param limited: False if every hit is needed, however many there are.
    :raises TooManyCandidates: if there are more than MAX_CANDIDATES, and ``limited``.
    """
    reading = open_point_in_time(index, KEEP_ALIVE)
    hits: list[dict[str, Any]] = []
    options = {**row_options, "_source": False}
    try:
        while not reading.finished:
            page, reading = read_page(query, reading, PAGE, options, index)
            hits += page
            if limited and len(hits) > MAX_CANDIDATES and not reading.finished:
                raise TooManyCandidates(
                    f"{index.name}: more than {MAX_CANDIDATES:,} candidates: very many documents share a segment; "
                    "use a smaller max_distance or a narrower filter"
                )
    except SimhashError:
        close_point_in_time(reading, index)
        raise
    close_point_in_time(reading, index)
    return hits


def multi_search(searches: Iterable[Search], index: Index) -> list[dict[str, Any]]:
    """Return the body of the response to each search. Every shard has answered."""
    whole = {"allow_partial_search_results": False}
    lines = [line for header, body in searches for line in ({**whole, **header}, body)]
    response = index.send(index.request("POST", "_msearch", lines))
    bodies: list[dict[str, Any]] = response["responses"]
    check_count(bodies, lines[::2], index.name)
    for body in bodies:
        if "error" in body:
            raise error_from_body(body, body["status"], index.name)
        check_complete(body, index.name)
    return bodies
