"""Search documents: candidates, and documents that are linked to others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.contract import Candidates, Found
from es_simhash.errors import SimhashError, StoreError
from es_simhash.fingerprinting.encoding import from_longs, to_array
from es_simhash.search.candidates import candidates_clause, narrow_clause, plain_clause, same_clause
from es_simhash.search.hamming import near_any
from es_simhash.search.look_up import LookUp, choose
from es_simhash.search.nearest import Crowd
from es_simhash.stores.elasticsearch.by_id import chunks, with_ids
from es_simhash.stores.elasticsearch.clauses import COLLAPSED, FIRST_WRITTEN, any_of, restricted
from es_simhash.stores.elasticsearch.failures import check_complete, check_count, error_from_body
from es_simhash.stores.elasticsearch.index import COUNT_AGE, COUNT_AGE_FOR_ONE
from es_simhash.stores.elasticsearch.key_search import body_of_one, body_of_several, searched_together, within_most
from es_simhash.stores.elasticsearch.point_in_time import close_point_in_time, open_point_in_time, read_page
from es_simhash.stores.elasticsearch.rows import (
    FINGERPRINT_FIELDS,
    hit_rows,
    row_options,
    usable_rows,
)
from es_simhash.stores.elasticsearch.times import Ranges, by_times, ranges_of
from es_simhash.stores.stored_row import find_usable

if TYPE_CHECKING:
    Search = tuple[dict[str, Any], dict[str, Any]]
    """The header and the body of one search. A header may name an index, in place of the index of the store."""

    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from es_simhash.contract import Probe, Row
    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.key_search import Searches

DIGESTS = 100
"""Largest number of digests in one query without fingerprints, and of fingerprints in one query for exactly these."""
SEARCHES = 100
"""Searches in one multi-search. A request may have 100 MB."""
HITS = 20_000
"""Hits that the searches of one multi-search may ask for: at most some 12 MB, or 30 MB with keys."""
KEEP_ALIVE = "2m"
"""How long a point in time lives after each page of Candidates."""
TERMS = 10_000
"""Ids in one query of Dependents. A server takes 65,536."""

_SCORED = {"search_type": "dfs_query_then_fetch"}
"""The header of a search that sorts by score: a score counts the documents of all shards. That takes a further round
between the shards."""


# --- candidates ----------------------------------------------------------------------------------------------------


def candidates(index: Index, query: Candidates) -> Found:
    try:
        return find_usable(partial(_find, index), query)
    except StoreError as error:
        if "single valued" not in str(error):
            raise
    # A damaged document has several digests or fingerprints, so the server cannot return one document for each.
    return find_usable(partial(_find, index), replace(query, one_per_digest=False, per_fingerprint=None))


@dataclass(frozen=True)
class _Look:
    """A search for candidates.

    :param probes: whose digests and fingerprints it looks for.
    :param ranges: its clauses for the times of the documents.
    :param sharing: the indices of the Probes whose keys it looks for; None if it looks for no keys.
    :param searches: the searches by keys that it stands for, if no text has too many hits.
    :param ids: it only looks for ids.
    """

    search: dict[str, Any]
    probes: Sequence[Probe] = ()
    ranges: tuple[dict[str, Any], ...] = ()
    sharing: Sequence[int] | None = None
    searches: Searches = ()
    ids: bool = False


def _find(index: Index, request: Candidates) -> Found:
    """Return the reply to Candidates, with the Rows of damaged documents."""
    rows: dict[str, Row] = {}
    ids: set[str] = set()
    left_out: Counter[int] = Counter()
    crowded: list[_Look] = []
    look_up, batches = _probe_batches(request, index)
    ranges = ranges_of(request, index)
    page = min(index.limits.page, max(1, HITS // max(1, min(SEARCHES, len(batches)))))
    looks = [look for probes in batches for look in _searches(request, probes, ranges, look_up, page)]
    if look_up.narrow:
        crowded, looks = looks, []  # a search found very many documents a moment ago, so this one probably does, too
    together, alone = searched_together(request, index)
    looks += [_Look(body_of_several(request, some, index), searches=some) for some in together]
    looks += _looks_of_one(request, alone, ranges)
    looks += [_Look(_search_of_ids(some), ids=True) for some in chunks(request.ids, TERMS)]
    while looks:
        again: list[_Look] = []
        for look, body in zip(looks, _bodies([look.search for look in looks], index), strict=True):
            hits, size = body["hits"]["hits"], look.search["size"]
            if look.ids:
                ids.update(hit["_id"] for hit in hits)
            elif look.searches:
                others = look.searches
                if len(hits) < size:
                    some, others = within_most(hit_rows(hits, index, request.time_field), others)
                    rows |= {row.id: row for row in some}
                else:
                    index.crowded_keys.set(True)
                again += _looks_of_one(request, others, ranges)
            elif look.sharing is None and len(hits) == size:
                crowded.append(look)
                index.crowded.set(True)
            else:
                if look.sharing is not None:
                    if len(hits) == size:
                        left_out.update(dict.fromkeys(look.sharing, body["hits"]["total"]["value"] - size + 1))
                    hits = hits[: size - 1]
                rows |= {row.id: row for row in hit_rows(hits, index, request.time_field)}
        looks = again
    for probes, clauses in _crowds(crowded):
        hits, left = _nearest_hits(request, probes, clauses, look_up, index)
        left_out.update(left)
        rows |= {row.id: row for row in hit_rows(hits, index, request.time_field)}
    return Found(list(rows.values()), dict(left_out), frozenset(ids))


def _looks_of_one(request: Candidates, searches: Searches, ranges: Ranges | None) -> list[_Look]:
    """Return the searches by the keys of one text each."""
    return [_Look(body_of_one(request, search, ranges), sharing=probes) for search, probes in searches]


def _bodies(searches: Sequence[dict[str, Any]], index: Index) -> Iterator[dict[str, Any]]:
    """Yield the body of the response to each search. No multi-search or its response is too large."""
    some: list[Search] = []
    hits = 0
    for search in searches:
        hits += search["size"]
        if some and (len(some) == SEARCHES or hits > HITS):
            yield from multi_search(some, index)
            some, hits = [], search["size"]
        some.append((_SCORED if "_score" in search["sort"] else {}, search))
    if some:
        yield from multi_search(some, index)


def _search_of_ids(ids: Sequence[str]) -> dict[str, Any]:
    """Return the body of a search for the documents that have one of these ids."""
    return {"query": with_ids(ids), "size": len(ids), "_source": False, "sort": ["_doc"], "track_total_hits": False}


def _crowds(looks: Sequence[_Look]) -> Iterator[tuple[Sequence[Probe], tuple[dict[str, Any], ...]]]:
    """Yield the Probes of searches that find very many documents, and the clauses for their times.

    Such searches find much the same documents, so Probes without times are looked for together.
    """
    if probes := [probe for look in looks if not look.ranges for probe in look.probes]:
        yield probes, ()
    yield from ((look.probes, look.ranges) for look in looks if look.ranges)


def _nearest_hits(
    request: Candidates,
    probes: Sequence[Probe],
    ranges: tuple[dict[str, Any], ...],
    look_up: LookUp,
    index: Index,
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Return the hits of Probes of which some find very many documents, and how many are left out by the Probe's index.

    The server counts the documents of each fingerprint. Only the nearest documents are read.
    """
    digests = replace(request, max_distance=-1)
    searches = [
        _search(digests, some, look_up, index.limits.page, ranges, collapse=False if ranges else None)
        for some in chunks([probe for probe in probes if probe.digest is not None], DIGESTS)
    ]
    if not request.fingerprints(probes):
        return list(chain(*_every_hit(request, searches, index))), {}
    counted = _count_fingerprints(request, probes, ranges, look_up, index)
    found = request.nearest_of(counted, probes)
    named = {each: counted[each] for each in found.fingerprints}
    hits, crowds = _hits_of_fingerprints(request, named, searches, ranges, index)
    return hits, request.left_out_of(crowds, found.left_out)


def _count_fingerprints(
    request: Candidates,
    probes: Sequence[Probe],
    ranges: tuple[dict[str, Any], ...],
    look_up: LookUp,
    index: Index,
) -> dict[int, Crowd]:
    """Return the fingerprints near those of some Probes, each with its documents that match the request."""
    asked = list(dict.fromkeys(request.fingerprints(probes)))
    look_up = replace(look_up, narrow=len(asked) == 1)
    every = to_array(asked, request.bits)
    names = FINGERPRINT_FIELDS[: request.bits // 64]
    kinds: dict[str, Any] = {
        "size": index.limits.kinds,
        "sources": [{name: {"terms": {"field": name}}} for name in names],
    }
    search = {
        "query": restricted(request, {"filter": [_near(asked, request, look_up), *ranges]}),
        "size": 0,
        "track_total_hits": False,
        "aggs": {"kinds": {"composite": kinds, "aggs": {"first": {"min": {"field": "simhash.written"}}}}},
    }
    crowds: dict[int, Crowd] = {}
    while True:
        [body] = multi_search([({}, search)], index)
        page = body["aggregations"]["kinds"]
        buckets = page["buckets"]
        values = [from_longs([bucket["key"][name] for name in names]) for bucket in buckets]
        near = near_any(every, to_array(values, request.bits), request.max_distance)
        for position in np.flatnonzero(near).tolist():
            bucket = buckets[position]
            crowds[values[position]] = Crowd(bucket["doc_count"], int(bucket["first"]["value"] or 0))
        if len(buckets) < index.limits.kinds:
            return crowds
        kinds["after"] = page["after_key"]


def _hits_of_fingerprints(
    request: Candidates,
    crowds: Mapping[int, Crowd],
    others: Sequence[dict[str, Any]],
    ranges: tuple[dict[str, Any], ...],
    index: Index,
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Return the hits with some fingerprints, ``per_fingerprint`` of each, and how many others each of them has.

    :param others: searches whose hits are returned, too.
    """
    most, page = request.per_fingerprint, index.limits.page
    if most is None:
        every = list(chunks(list(crowds), DIGESTS))
        searches = [_search_of_fingerprints(request, some, page, ranges) for some in every]
        found = _every_hit(request, [*others, *searches], index)
        not_read = {
            some[-1]: sum(crowds[value].count for value in some) - len(hits)
            for some, hits in zip(every, found[len(others) :], strict=True)
            if len(hits) >= index.limits.most_hits
        }
        return list(chain(*found)), not_read
    if most == 1 and request.bits == 64:
        first = {"collapse": {"field": "simhash.fp"}}
        searches = [_search_of_fingerprints(request, some, len(some)) | first for some in chunks(list(crowds), DIGESTS)]
        hits = [hit for body in _bodies(searches, index) for hit in body["hits"]["hits"]]
        return [*chain(*_every_hit(request, others, index)), *hits], {}
    left_out = {value: crowd.count - most for value, crowd in crowds.items() if crowd.count > most}
    searches = [_search_of_fingerprints(request, [value], most) for value in left_out]
    hits = [hit for body in _bodies(searches, index) for hit in body["hits"]["hits"]]
    parts, count = list[list[int]](), page  # so the first fingerprint opens a part
    for value, crowd in crowds.items():
        if value in left_out:
            continue
        count += crowd.count
        if count >= page or len(parts[-1]) == DIGESTS:
            parts.append([])
            count = crowd.count
        parts[-1].append(value)
    searches = [_search_of_fingerprints(request, some, page) for some in parts]
    return [*chain(*_every_hit(request, [*others, *searches], index)), *hits], left_out


def _search_of_fingerprints(
    request: Candidates, fingerprints: Sequence[int], size: int, ranges: tuple[dict[str, Any], ...] = ()
) -> dict[str, Any]:
    """Return the body of a search for the documents with exactly these fingerprints, the first written first."""
    search = {
        "query": restricted(request, {"filter": [same_clause(fingerprints, request.bits), *ranges]}),
        "size": size,
        "sort": [FIRST_WRITTEN],
        **row_options(request.time_field, keys=request.with_keys),
    }
    return search | COLLAPSED if request.one_per_digest and not ranges else search


def _every_hit(request: Candidates, searches: Sequence[dict[str, Any]], index: Index) -> list[list[dict[str, Any]]]:
    """Return the hits of each search; all hits of its query, if it may have more."""
    options = row_options(request.time_field, keys=request.with_keys)
    found: list[list[dict[str, Any]]] = [body["hits"]["hits"] for body in _bodies(searches, index)]
    return [
        hits if len(hits) < search["size"] else _all_hits(search["query"], index, options, index.limits.most_hits)
        for search, hits in zip(searches, found, strict=True)
    ]


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
        if index.count.old(COUNT_AGE if fingerprints > 1 else COUNT_AGE_FOR_ONE):
            index.count.set(index.send("POST", "_count")["count"])
        look_up = choose(fingerprints, request.max_distance, request.bits, index.count.value)
    if fingerprints == 1 and not index.crowded.old(COUNT_AGE):
        look_up = LookUp("plan", 1, narrow=True)
    if request.time_field is None:
        return look_up, list(chunks(probes, look_up.together))
    return look_up, [batch for some in by_times(probes) for batch in chunks(some, look_up.together)]


def _searches(
    request: Candidates, probes: Sequence[Probe], ranges: Ranges | None, look_up: LookUp, page: int
) -> Iterator[_Look]:
    """Yield the searches by the digests and the fingerprints of some of the Probes.

    One search is enough, unless one document stands for all with its digest and the Probes have different times. Then
    a document outside the times that all Probes have in common stands for itself alone.

    :param probes: all with times, or all without.
    :param page: the most hits of each search.
    """
    times = [probe.times for probe in probes if probe.times is not None]
    if ranges is None or not times:
        yield _Look(_search(request, probes, look_up, page), probes)
        return
    if not request.one_per_digest:
        parts = [(ranges.outer(times), False)]
    else:
        common, others = ranges.split(times)
        parts = [] if common is None else [(common, True)]
        parts += [(any_of(others), False)] if others else []
    for part, collapse in parts:
        search = _search(request, probes, look_up, page, [part], collapse=collapse)
        yield _Look(search, probes, (part,))


def _search(
    request: Candidates,
    probes: Sequence[Probe],
    look_up: LookUp,
    page: int,
    ranges: Sequence[dict[str, Any]] = (),
    *,
    collapse: bool | None = None,
) -> dict[str, Any]:
    """Return the body of a search by the digests and the fingerprints of some of the Probes.

    :param page: the most hits.
    :param ranges: clauses for the times of the documents.
    :param collapse: of documents with one digest, find the one that was written first; by default as the request says.
    """
    should: list[dict[str, Any]] = []
    if fingerprints := request.fingerprints(probes):
        should.append(_near(fingerprints, request, look_up))
    if digests := [probe.digest for probe in probes if probe.digest is not None]:
        should.append({"terms": {"simhash.digest": digests}})
    query = restricted(request, {"filter": [any_of(should), *ranges]})
    search = {"query": query, "size": page, **row_options(request.time_field, keys=request.with_keys)}
    if request.one_per_digest if collapse is None else collapse:
        return search | COLLAPSED | {"sort": [FIRST_WRITTEN]}
    return search | {"sort": ["_doc"]}  # the cheapest order


def _near(fingerprints: Sequence[int], request: Candidates, look_up: LookUp) -> dict[str, Any]:
    """Return the clause that looks fingerprints up."""
    if request.max_distance == 0 and len(fingerprints) > 1:  # segments of different ones would find others
        return same_clause(fingerprints, request.bits)
    if look_up.narrow:
        return narrow_clause(fingerprints[0], request.max_distance, bits=request.bits)
    if look_up.clause == "plain":
        return plain_clause(fingerprints[0], bits=request.bits)
    return candidates_clause(fingerprints, request.max_distance, bits=request.bits)


def dependents(index: Index, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for ids in chunks(sorted({*originals, *heads}), TERMS):
        named, led = set(originals) & set(ids), set(heads) & set(ids)
        links = [
            {"terms": {"simhash.duplicate_of": sorted(named)}},
            {"terms": {"simhash.group": sorted(led)}},
        ]
        query = {"bool": {"filter": [any_of(links)]}}
        search = {"query": query, "size": index.limits.page, **row_options()}
        hits = index.search(search)["hits"]["hits"]
        if len(hits) == search["size"]:  # all copies of an error page are linked to the first one
            hits = _all_hits(query, index, row_options())
        for row in usable_rows(hits, index):
            if row.duplicate_of in named or (row.group in led and row.group != row.id):
                found.add(row.id)
    return found


def _all_hits(
    query: dict[str, Any], index: Index, options: dict[str, Any], most: int | None = None
) -> list[dict[str, Any]]:
    """Return all hits of a query, page by page from one point in time.

    :param options: of :func:`row_options`.
    :param most: about so many hits are enough; None for all.
    """
    reading = open_point_in_time(index, KEEP_ALIVE)
    hits: list[dict[str, Any]] = []
    try:
        while not reading.finished and (most is None or len(hits) < most):
            page, reading = read_page(query, reading, index.limits.page, options, index)
            hits += page
    except SimhashError:
        close_point_in_time(reading, index)
        raise
    close_point_in_time(reading, index)
    return hits


def multi_search(searches: Iterable[Search], index: Index) -> list[dict[str, Any]]:
    """Return the body of the response to each search. Every shard has answered."""
    whole = {"allow_partial_search_results": False}
    lines = [line for header, body in searches for line in ({**whole, **header}, body)]
    response = index.send("POST", "_msearch", lines)
    bodies: list[dict[str, Any]] = response["responses"]
    check_count(bodies, lines[::2], index.name)
    for body in bodies:
        if "error" in body:
            raise error_from_body(body, body["status"], index.name)
        check_complete(body, index.name)
    return bodies
