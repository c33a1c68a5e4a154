"""Search in Elasticsearch and OpenSearch: the query plan beside the plain OR, bit vectors, and an empty search."""

from __future__ import annotations

import statistics
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench import fingerprints_near, latencies
from embedded import fill
from es_simhash import Documents
from report import Table
from servers import TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench
    from servers import Server

BATCH = 100
BYTES, HNSW_HEAP = 1_500, 1_000
"""Bytes on the disk for a document, with what merges need; bytes of heap for a document while an HNSW graph is made."""
QUERIES = 200
LIMIT = 10_000
NEAREST = 50
"""Hits of a search by vectors. More than any query has within 7 bits."""
VALUE = ["simhash.fp"]

Found = list[set[int]]
"""For each query the fingerprints that were found."""


@dataclass
class Pool:
    """Random fingerprints with neighbours of each query at every distance from 0 to 7."""

    values: list[int]
    queries: list[int]
    near: dict[int, list[int]]


def search(bench: Bench) -> None:
    """Search one at a time and in batches, within 3 and within 7 bits."""
    for server in bench.servers:
        server.room(bench.count, BYTES)
    pool = pool_of(bench.count, bench)
    with ExitStack() as stack:
        indices = [Indices(server, stack.enter_context(server.index("search"))) for server in bench.servers]
        for each in indices:
            load(each.server, each.ours, pool.values)
            if not each.server.is_opensearch:
                add_vectors(bench, each, pool.values, stack)
        for k in (3, 7):
            searches = searches_on(indices, k)
            without_vectors = {name: each for name, each in searches.items() if not is_of_vectors(name)}
            for size in (1, BATCH):
                measure(bench, pool, without_vectors, k, size)
                if len(without_vectors) < len(searches):
                    compared(bench, pool, searches, k, size)
        by_distance(bench, pool, indices[0])


def add_vectors(bench: Bench, indices: Indices, values: Sequence[int], stack: ExitStack) -> None:
    """Fill the indices with bit vectors. One that needs too much heap is left out."""
    server = indices.server
    for name, kind in VECTORS.items():
        try:
            server.room(bench.count, BYTES, bench.count * HNSW_HEAP if kind == "hnsw" else 0)
        except TooSmall as error:
            bench.report.left_out(name, str(error))
            continue
        indices.vectors[name] = stack.enter_context(server.index(kind))
        load_vectors(server, indices.vectors[name], values, kind)


def compared(
    bench: Bench, pool: Pool, searches: dict[str, Any], k: int, size: int
) -> tuple[Table, dict[str, dict[str, float]]]:
    """Add a table of searches to the report. Return it, with what is known of each search.

    An exact search of bit vectors reads all of them. After it, the data of the other searches is no longer in the
    processor's cache.
    """
    named = bench.servers[0].named
    facts = {name: recall_of(each, pool, k, size) for name, each in searches.items() if not name.endswith(FLOOR)}
    base = named(FLOOR if size == 1 else OURS)
    how = described(size)
    values = latencies(searches, pool.queries, size, bench.rounds)
    for name, each in facts.items():
        each["queries a second"] = 1_000 / statistics.median(values[name])
    beside = ", beside bit vectors" if any(map(is_of_vectors, searches)) else ""
    title = f"{len(pool.values):,} fingerprints, within {k} bits, {len(pool.queries)} queries, {how}{beside}"
    table = Table(title, "ms a query", values, base, facts)
    bench.report.add(table)
    return table, facts


def measure(bench: Bench, pool: Pool, searches: dict[str, Any], k: int, size: int) -> None:
    """Compare searches without bit vectors, and compare the aims with the figures."""
    table, facts = compared(bench, pool, searches, k, size)
    named, how = bench.servers[0].named, described(size)
    recall = min(each["recall"] for name, each in facts.items() if name.endswith(OURS))
    bench.report.aim(f"search within {k} bits, {how}: recall", recall, at_least=1)
    if size == 1:
        limit = 1.5 if k == 3 else 2.5
        bench.report.aim(f"search within {k} bits, × an empty search", table.ratio(named(OURS)), at_most=limit)
    elif k == 3:
        times = table.ratio(named("plain OR"), named(OURS))
        bench.report.aim(f"search in batches of {size}, × the plain OR", times, at_least=10)


def described(size: int) -> str:
    return "one at a time" if size == 1 else f"{size} at a time"


def by_distance(bench: Bench, pool: Pool, indices: Indices) -> None:
    """Compare the query plan at each distance, on the first server."""
    searches, facts = {}, {}
    floor = indices.server.named(FLOOR)
    for k in range(8):
        every = searches_on([Indices(indices.server, indices.ours)], k)
        name = f"within {k} bits"
        searches[name] = every[indices.server.named(OURS)]
        facts[name] = recall_of(searches[name], pool, k, 1)
    searches[floor] = every[floor]
    title = f"{len(pool.values):,} fingerprints, the plan, {len(pool.queries)} queries, one at a time"
    values = latencies(searches, pool.queries, 1, bench.rounds)
    bench.report.add(Table(title, "ms a query", values, floor, facts))


FLOOR = "empty search"
OURS = "plan"
VECTORS = {"dense_vector flat": "flat", "dense_vector HNSW": "hnsw"}


def is_of_vectors(name: str) -> bool:
    """Return whether the contender with this name searches bit vectors."""
    return name.endswith(tuple(VECTORS))


@dataclass
class Indices:
    """The indices of a server.

    :param vectors: by the name of the contender, an index with bit vectors.
    """

    server: Server
    ours: str
    vectors: dict[str, str] = field(default_factory=dict)


def searches_on(indices: Sequence[Indices], k: int) -> dict[str, Callable[[Sequence[int]], Any]]:
    """Return the searches on all servers, each of one query or of a batch. The same ones stand side by side."""
    of_each = [searches_of(each, k) for each in indices]
    kinds = dict.fromkeys(kind for searches in of_each for kind in searches)
    pairs = [
        (each.server.named(kind), searches.get(kind))
        for kind in kinds
        for each, searches in zip(indices, of_each, strict=True)
    ]
    return {name: search for name, search in pairs if search is not None}


def searches_of(indices: Indices, k: int) -> dict[str, Callable[[Sequence[int]], Any]]:
    """Return the searches on one server."""
    server, ours = indices.server, indices.ours
    store = Documents(f"{server.store}/{ours}", request_timeout=600).store
    found: dict[str, Callable[[Sequence[int]], Any]] = {OURS: lambda queries: by_store(store, queries, k)}
    if k <= 3:
        found["plain OR"] = lambda queries: plain(server, ours, queries)
    for name, index in indices.vectors.items():
        found[name] = lambda queries, i=index: by_vectors(server, i, queries, k)
    nothing = {"query": {"match_none": {}}, "size": 0}
    found[FLOOR] = lambda queries: server.searches(ours, [nothing] * len(queries))
    return found


def recall_of(search: Callable[[Sequence[int]], Found], pool: Pool, k: int, size: int) -> dict[str, float]:
    """Return the share of the planted neighbours within k bits that a search finds, and what it returns for a query."""
    true, hits, returned = 0, 0, 0
    for start in range(0, len(pool.queries), size):
        queries = pool.queries[start : start + size]
        found = set().union(*search(queries))
        near = {value for query in queries for value in pool.near[query] if (value ^ query).bit_count() <= k}
        true, hits, returned = true + len(near), hits + len(near & found), returned + len(found)
    return {"recall": hits / true, "candidates": returned / len(pool.queries)}


# --- the searches ---------------------------------------------------------------------------------------------------


def by_store(store: Any, queries: Sequence[int], k: int) -> Found:
    from es_simhash.contract import Candidates, Probe

    probes = tuple(Probe(query, None) for query in queries)
    return [{row.fingerprint for row in store.candidates(Candidates(probes, k, 64)).rows}]


def plain(server: Server, index: str, queries: Sequence[int]) -> Found:
    options = {"size": LIMIT, "sort": ["_doc"]}
    return values_of(server.searches(index, [{**plain_search(query), **options} for query in queries]))


def plain_search(query: int) -> dict[str, Any]:
    """Return the body of a search by the plain OR, as a user would write it."""
    from es_simhash import plain_clause

    fields = {"_source": False, "docvalue_fields": VALUE, "track_total_hits": False}
    return {"query": {"bool": {"filter": [plain_clause(query)]}}, **fields}


def by_vectors(server: Server, index: str, queries: Sequence[int], k: int) -> Found:
    """Search for the nearest vectors, those within k bits alone."""

    def one(query: int) -> dict[str, Any]:
        return {"field": "fp", "query_vector": f"{query:016x}", "k": NEAREST, "num_candidates": 100, "similarity": k}

    options = {"size": NEAREST, "_source": False, "docvalue_fields": VALUE, "track_total_hits": False}
    return values_of(server.searches(index, [{"knn": one(query), **options} for query in queries]))


def values_of(responses: Sequence[dict[str, Any]]) -> Found:
    return [{hit["fields"]["simhash.fp"][0] % 2**64 for hit in each["hits"]["hits"]} for each in responses]


# --- the indices ----------------------------------------------------------------------------------------------------


def pool_of(count: int, bench: Bench) -> Pool:
    near: dict[int, list[int]] = defaultdict(list)
    queries = [bench.rng.getrandbits(64) for _ in range(min(QUERIES, count // 20))]
    for query in queries:
        near[query] = fingerprints_near(query, range(8), bench.rng)
    values = [value for some in near.values() for value in some]
    values += [bench.rng.getrandbits(64) for _ in range(count - len(values))]
    bench.rng.shuffle(values)
    return Pool(values, queries, near)


def load(server: Server, index: str, values: Sequence[int]) -> None:
    """Fill an index, in one Lucene segment."""
    store = Documents(f"{server.store}/{index}", request_timeout=600).store
    fill(store, values)
    store.close()
    server.merge(index)


def load_vectors(server: Server, index: str, values: Sequence[int], kind: str) -> None:
    """Fill an index with bit vectors, in one Lucene segment."""
    vector = {"type": "dense_vector", "element_type": "bit", "dims": 64, "index_options": {"type": kind}}
    fields = {"fp": vector, "simhash.fp": {"type": "long", "index": False}}
    # Without refreshes there are few Lucene segments, so few graphs are made twice.
    settings = {"index": {"refresh_interval": "-1"}}
    server.create(index, settings=settings, mappings={"dynamic": False, "properties": fields})
    lines = (
        ('{"index":{}}', f'{{"fp":"{value:016x}","simhash.fp":{value - (value >> 63 << 64)}}}') for value in values
    )
    server.parallel_bulk(index, lines, 2, 2_000)
    server.merge(index)
