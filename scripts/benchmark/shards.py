"""The same documents in 1, 3, 6 and 12 shards: look-ups one at a time and in batches, and routing by tenant."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bench import latencies
from random_index import TENANTS, load, queries_of, search_of, together_of
from report import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench

SHARDS = (12, 6, 3, 1)
BYTES = 1_500
"""Bytes on the disk for a document, with what a merge needs."""
SINGLE, BATCH, TOGETHER = 100, 1_000, 100
HOW: dict[str, dict[str, Any]] = {
    "all": {},
    f"one of {TENANTS} tenants, by a filter": {"tenant": "t7", "routed": False},
    f"one of {TENANTS} tenants, with routing": {"tenant": "t7"},
}


def shards(bench: Bench) -> None:
    """Load an index of 12 shards, shrink it to 6, 3 and 1, each shard one Lucene segment, and look up by the plan."""
    bench.room(len(SHARDS) * bench.count, BYTES)  # all indices exist at once
    rows: list[list[Any]] = [["shards, documents", "ms, one at a time", "a second", f"a second, batches of {TOGETHER}"]]
    settings = {"number_of_shards": SHARDS[0], "number_of_replicas": 0, "routing": True}
    with ExitStack() as stack:
        names = {count: stack.enter_context(bench.index(f"shards-{count}")) for count in SHARDS}
        load(bench, names[SHARDS[0]], bench.count, None, settings)
        bench.client.indices.put_settings(index=names[SHARDS[0]], settings={"index.blocks.write": True})
        for count, index in names.items():
            if count != SHARDS[0]:
                fewer = {"index.number_of_shards": count, "index.number_of_replicas": 0}
                bench.client.indices.shrink(index=names[SHARDS[0]], target=index, settings=fewer)
                bench.client.cluster.health(index=index, wait_for_status="green", timeout="10m")
            bench.servers[0].merge(index)
        for how, options in HOW.items():
            rows += measure(bench, names, how, options)
    title = f"{bench.count:,} documents on one node, each shard one Lucene segment"
    bench.report.add(Facts(title, rows))


def measure(bench: Bench, names: dict[int, str], how: str, options: dict[str, Any]) -> list[list[Any]]:
    """Return a row for each number of shards. They take turns."""
    found: dict[int, list[float]] = {}
    for size in (1, TOGETHER):
        queries = queries_of(bench, "plan", min(SINGLE if size == 1 else BATCH, bench.count // 2))
        searches: dict[str, Callable[[Sequence[int]], object]] = {
            str(count): search_in(bench, index, size, options) for count, index in names.items()
        }
        for name, milliseconds in latencies(searches, queries, size, bench.rounds).items():
            found.setdefault(int(name), []).append(min(milliseconds))
    return [
        [f"{count}, {how}", alone, 1000 / alone, 1000 / in_batches]
        for count, (alone, in_batches) in sorted(found.items())
    ]


def search_in(bench: Bench, index: str, size: int, options: dict[str, Any]) -> Callable[[Sequence[int]], object]:
    return search_of(bench, index, "plan", together_of("plan", size, bench.count), **options)
