"""Search in Elasticsearch or OpenSearch: the query plan beside the plain OR, and beside a search that finds nothing."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench import latencies
from es_simhash import Documents, DuplicateRule, near_query, plain_clause
from report import Table
from servers import with_our_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench

BATCH = 100
BYTES = 1_500
"""Bytes on the disk for a document, with what merges need."""
QUERIES = 200
LIMIT = 10_000
OURS, PLAIN, FLOOR = "plan", "plain OR", "empty search"


@dataclass
class Pool:
    """Random fingerprints with neighbours of each query at every distance from 0 to 7."""

    values: list[int]
    queries: list[int]
    near: dict[int, list[int]]


def search(bench: Bench) -> None:
    """Search one at a time and in batches, within 3 and within 7 bits."""
    server = bench.required_server()
    server.room(bench.count, BYTES)
    pool = pool_of(bench)
    with server.index("search") as index:
        with Documents(f"{server.store}/{index}") as documents:
            documents.setup(rule="fingerprint")
        lines = (with_our_fields(number, value, number + 1, bench.rng) for number, value in enumerate(pool.values))
        server.parallel_bulk(index, lines)
        server.client.indices.forcemerge(index=index, max_num_segments=1)
        server.client.indices.refresh(index=index)
        for k in (3, 7):
            for size in (1, BATCH):
                measure(bench, pool, index, k, size)


def measure(bench: Bench, pool: Pool, index: str, k: int, size: int) -> None:
    """Add a table of searches to the report, and compare the aims with the figures."""
    searches = searches_of(bench, index, k)
    facts = {name: recall_of(each, pool, k, size) for name, each in searches.items() if name != FLOOR}
    values = latencies(searches, pool.queries, size, bench.rounds)
    for name, each in facts.items():
        each["queries a second"] = 1_000 / statistics.median(values[name])
    how = "one at a time" if size == 1 else f"{size} at a time"
    title = f"{len(pool.values):,} fingerprints, within {k} bits, {len(pool.queries)} queries, {how}"
    table = Table(title, "ms a query", values, FLOOR, facts)
    bench.report.add(table)
    bench.report.aim(f"search within {k} bits, {how}: recall", facts[OURS]["recall"], at_least=1)
    if size == 1:
        limit = 1.5 if k == 3 else 2.5
        bench.report.aim(f"search within {k} bits, × an empty search", table.ratio(OURS), at_most=limit)


def searches_of(bench: Bench, index: str, k: int) -> dict[str, Any]:
    """Return the searches, each of one query or of a batch."""
    server = bench.required_server()
    rule = DuplicateRule(rule="fingerprint", max_distance=k)

    def values_of(searches: list[dict[str, Any]]) -> list[set[int]]:
        options = {"size": LIMIT, "_source": False, "docvalue_fields": ["simhash.fp"], "track_total_hits": False}
        responses = server.searches(index, [{**search, **options} for search in searches])
        return [{hit["fields"]["simhash.fp"][0] % 2**64 for hit in each["hits"]["hits"]} for each in responses]

    def in_filter(clause: dict[str, Any]) -> dict[str, Any]:
        return {"query": {"bool": {"filter": [clause]}}, "sort": ["_doc"]}

    searches: dict[str, Any] = {
        OURS: lambda queries: values_of([in_filter(near_query(query, rule=rule).clause) for query in queries]),
        FLOOR: lambda queries: values_of([{"query": {"match_none": {}}}] * len(queries)),
    }
    if k <= 3:  # beyond, it is not complete
        searches[PLAIN] = lambda queries: values_of([in_filter(plain_clause(query)) for query in queries])
    return searches


def recall_of(search: Callable[[Sequence[int]], list[set[int]]], pool: Pool, k: int, size: int) -> dict[str, float]:
    """Return the share of the planted neighbours within k bits that a search finds, and what it returns for a query."""
    true, hits, returned = 0, 0, 0
    for start in range(0, len(pool.queries), size):
        queries = pool.queries[start : start + size]
        values = set().union(*search(queries))
        near = {value for query in queries for value in pool.near[query] if (value ^ query).bit_count() <= k}
        true, hits, returned = true + len(near), hits + len(near & values), returned + len(values)
    return {"recall": hits / true, "candidates": returned / len(pool.queries)}


def pool_of(bench: Bench) -> Pool:
    near: dict[int, list[int]] = defaultdict(list)
    queries = [bench.rng.getrandbits(64) for _ in range(min(QUERIES, bench.count // 20))]
    for query in queries:
        for distance in range(8):
            near[query].append(query ^ sum(1 << bit for bit in bench.rng.sample(range(64), distance)))
    values = [value for planted in near.values() for value in planted]
    values += [bench.rng.getrandbits(64) for _ in range(bench.count - len(values))]
    bench.rng.shuffle(values)
    return Pool(values, queries, near)
