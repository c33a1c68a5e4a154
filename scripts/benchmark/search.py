"""Search in Elasticsearch: our clauses beside the plain OR, the server's own bit vectors, and an empty search."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import TooSmall, fingerprints_near, latencies
from embedded import fill
from es_simhash.stores.address import open_store
from report import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench

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
    bench.room(bench.count, BYTES)
    pool = pool_of(bench.count, bench)
    with bench.index("search") as ours, bench.index("flat") as flat, bench.index("hnsw") as hnsw:
        load(bench, ours, pool.values)
        vectors = {"dense_vector flat": flat}
        load_vectors(bench, flat, pool.values, "flat")
        try:
            bench.room(bench.count, 0, bench.count * HNSW_HEAP)
            load_vectors(bench, hnsw, pool.values, "hnsw")
            vectors["dense_vector HNSW"] = hnsw
        except TooSmall as error:
            bench.report.left_out("dense_vector HNSW", str(error))
        for k in (3, 7):
            searches = searches_of(bench, ours, vectors, k)
            for size in (1, BATCH):
                measure(bench, pool, searches, k, size)
        by_distance(bench, pool, ours)


def measure(bench: Bench, pool: Pool, searches: dict[str, Any], k: int, size: int) -> None:
    facts = {name: recall_of(each, pool, k, size) for name, each in searches.items() if name != FLOOR}
    base = FLOOR if size == 1 else "plan"
    how = "one at a time" if size == 1 else f"{size} at a time"
    table = Table(
        f"{len(pool.values):,} fingerprints, within {k} bits, {len(pool.queries)} queries, {how}",
        "ms a query",
        latencies(searches, pool.queries, size, bench.rounds),
        base,
        facts,
    )
    bench.report.add(table)
    recall = min(each["recall"] for name, each in facts.items() if name in OURS)
    bench.report.aim(f"search within {k} bits, {how}: recall", recall, at_least=1)
    best = "block keys" if k == 3 else "plan"
    if size == 1:
        limit = 1.5 if k == 3 else 2.5
        bench.report.aim(f"search within {k} bits by {best}, × an empty search", table.ratio(best), at_most=limit)
    elif k == 3:
        times = table.ratio("plain OR", "block keys")
        bench.report.aim(f"search in batches of {size} by {best}, × the plain OR", times, at_least=10)


def by_distance(bench: Bench, pool: Pool, index: str) -> None:
    """Compare the query plan at each distance."""
    searches, facts = {}, {}
    for k in range(8):
        every = searches_of(bench, index, {}, k)
        name = f"within {k} bits"
        searches[name] = every["plan"]
        facts[name] = recall_of(every["plan"], pool, k, 1)
    searches[FLOOR] = every[FLOOR]
    title = f"{len(pool.values):,} fingerprints, the plan, {len(pool.queries)} queries, one at a time"
    values = latencies(searches, pool.queries, 1, bench.rounds)
    bench.report.add(Table(title, "ms a query", values, FLOOR, facts))


FLOOR = "empty search"
OURS = ("block keys", "plan")


def searches_of(bench: Bench, ours: str, vectors: dict[str, str], k: int) -> dict[str, Callable[[Sequence[int]], Any]]:
    """Return the searches, each of one query or of a batch."""
    store = open_store(f"{bench.store}/{ours}", request_timeout=600)
    found: dict[str, Callable[[Sequence[int]], Any]] = {}
    if k <= 3:
        found["block keys"] = lambda queries: by_store(store, queries, k, blocks=True)
    found["plan"] = lambda queries: by_store(store, queries, k, blocks=False)
    if k <= 3:
        found["plain OR"] = lambda queries: plain(bench, ours, queries)
    for name, index in vectors.items():
        found[name] = lambda queries, i=index: by_vectors(bench, i, queries, k)
    nothing = {"query": {"match_none": {}}, "size": 0}
    found[FLOOR] = lambda queries: raw(bench, ours, [nothing] * len(queries))
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


def by_store(store: Any, queries: Sequence[int], k: int, *, blocks: bool) -> Found:
    from es_simhash.contract import Candidates, Probe

    probes = tuple(Probe(query, None) for query in queries)
    return [{row.fingerprint for row in store.perform(Candidates(probes, k, 64, blocks=blocks)).rows}]


def plain(bench: Bench, index: str, queries: Sequence[int]) -> Found:
    options = {"size": LIMIT, "sort": ["_doc"]}
    return values_of(raw(bench, index, [{**plain_search(query), **options} for query in queries]))


def plain_search(query: int) -> dict[str, Any]:
    """Return the body of a search by the plain OR, as a user would write it."""
    from es_simhash import plain_clause

    fields = {"_source": False, "docvalue_fields": VALUE, "track_total_hits": False}
    return {"query": {"bool": {"filter": [plain_clause(query)]}}, **fields}


def by_vectors(bench: Bench, index: str, queries: Sequence[int], k: int) -> Found:
    """Search for the nearest vectors, those within k bits alone."""

    def one(query: int) -> dict[str, Any]:
        return {"field": "fp", "query_vector": f"{query:016x}", "k": NEAREST, "num_candidates": 100, "similarity": k}

    options = {"size": NEAREST, "_source": False, "docvalue_fields": VALUE, "track_total_hits": False}
    return values_of(raw(bench, index, [{"knn": one(query), **options} for query in queries]))


def raw(bench: Bench, index: str, searches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = [line for search in searches for line in ({"index": index}, search)]
    responses = bench.client.msearch(searches=lines)["responses"]
    for each in responses:
        if "error" in each:
            raise RuntimeError(each["error"])
    return responses


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


def load(bench: Bench, index: str, values: Sequence[int]) -> None:
    """Fill an index with block keys, in one Lucene segment."""
    store = open_store(f"{bench.store}/{index}", request_timeout=600)
    fill(store, values, ("blocks",))
    store.close()
    merge(bench, index)


def load_vectors(bench: Bench, index: str, values: Sequence[int], kind: str) -> None:
    """Fill an index with bit vectors, in one Lucene segment."""
    from elasticsearch.helpers import parallel_bulk

    vector = {"type": "dense_vector", "element_type": "bit", "dims": 64, "index_options": {"type": kind}}
    fields = {"fp": vector, "simhash.fp": {"type": "long", "index": False}}
    bench.client.indices.create(index=index, mappings={"dynamic": False, "properties": fields})
    lines = (
        ('{"index":{}}', f'{{"fp":"{value:016x}","simhash.fp":{value - (value >> 63 << 64)}}}') for value in values
    )
    for ok, item in parallel_bulk(
        bench.client, lines, thread_count=2, chunk_size=2_000, index=index, expand_action_callback=lambda line: line
    ):
        assert ok, item
    merge(bench, index)


def merge(bench: Bench, index: str) -> None:
    """Merge an index to one Lucene segment."""
    bench.client.options(request_timeout=3_600).indices.forcemerge(index=index, max_num_segments=1)
    bench.client.indices.refresh(index=index)
