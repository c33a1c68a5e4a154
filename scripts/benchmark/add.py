"""Single calls: `add` beside a bare index request, `similar` beside an empty search, `unseen` beside a get.

Then many calls at the same time, in threads and as tasks of an event loop.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import interleaved, latencies
from es_simhash import AsyncDocuments, Documents, SeenItems
from report import Table
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench
    from report import Values

CALLS = 300
"""The most calls of each kind in a round; fewer among few documents."""
LENGTH = 200
"""Characters of a text."""
CANDIDATES = 1_000
"""Items that ``unseen`` looks at."""
ADD, SIMILAR, INDEXED, EMPTY = "add", "similar", "bare index", "search that finds nothing"
RULES = ("fingerprint", "copy")
TASKS, THREADS = 200, (8, 32, 200)
"""Calls at the same time of an async program, and threads of sync ones."""


def add(bench: Bench) -> None:
    """Measure single calls by both rules, each in an index of its own."""
    server = bench.required_server()
    server.room(bench.count, 5_000)
    calls = min(CALLS, bench.count // 10)
    for rule in RULES:
        with (
            server.index("documents") as index,
            server.index("bare") as bare,
            Documents(f"{server.store}/{index}") as documents,
        ):
            new = new_texts(bench)
            stored = [next(new) for _ in range(bench.count)]
            documents.setup(rule=rule)
            documents.add_many({"id": f"old-{number}", "text": text} for number, text in enumerate(stored))
            server.client.indices.refresh(index=index)
            look_ups(bench, documents, index, rule, stored[:calls])
            for threads in (1, 10):
                milliseconds = by_turns(bench, documents, bare, threads, [next(new) for _ in range(calls)])
                beside(bench, f"{rule}, {threads} threads", milliseconds)
            at_once(bench, index, rule, stored[: 5 * calls])
    unseen(bench)


def new_texts(bench: Bench) -> Iterator[str]:
    """Yield texts without end: parts of news in an order that no other text has. Few are near each other."""
    rng = random.Random(bench.seed)
    parts = sorted({part for text in texts(bench.texts, 200, LENGTH, bench.seed) for part in re.split("[，。]", text)})
    while True:
        joined = "，".join(rng.sample(parts, 10))
        yield f"{joined}，{''.join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(6))}。"


def look_ups(bench: Bench, documents: Documents, index: str, rule: str, texts: list[str]) -> None:
    """Measure `similar` with the text of a stored document, beside a search that has nothing to find."""
    client, nothing = bench.required_server().client, {"query": {"match_none": {}}}
    searches: dict[str, Callable[[Sequence[str]], object]] = {
        SIMILAR: lambda batch: documents.similar(batch[0]),
        EMPTY: lambda _: client.search(index=index, body=nothing),
    }
    values = latencies(searches, texts, 1, bench.rounds)
    table = Table(f"{rule}: look-up of a text among {bench.count:,} documents, p50", "ms", values, EMPTY)
    bench.report.add(table)
    if rule == "copy":
        bench.report.aim("similar by copy, × a search that finds nothing", table.ratio(SIMILAR), at_most=2)


def by_turns(bench: Bench, documents: Documents, bare: str, threads: int, new: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each call. Each thread takes them by turns, so what slows one slows all of them."""
    client = bench.required_server().client
    milliseconds: defaultdict[str, list[float]] = defaultdict(list)

    def calls(text: str) -> None:
        turns: dict[str, Callable[[], Any]] = {
            SIMILAR: lambda: documents.similar(text),
            INDEXED: lambda: client.index(index=bare, body={"text": text}),
            ADD: lambda: documents.add({"id": text[-20:], "text": text}),
        }
        for name, call in turns.items():
            began = time.perf_counter()
            call()
            milliseconds[name].append(1000 * (time.perf_counter() - began))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(calls, new))
    return milliseconds


def beside(bench: Bench, who: str, milliseconds: dict[str, list[float]]) -> None:
    """Compare `add` with what it consists of."""
    values: Values = {name: [statistics.median(times)] for name, times in milliseconds.items()}
    bound = "similar + 1.5 × bare index"
    values[bound] = [values[SIMILAR][0] + 1.5 * values[INDEXED][0]]
    table = Table(f"{who}: latency of a call among {bench.count:,} documents, p50", "ms", values, INDEXED)
    bench.report.add(table)
    bench.report.aim(f"{who}: add, × ({bound})", table.ratio(ADD, bound), at_most=1.0)


def at_once(bench: Bench, index: str, rule: str, texts: list[str]) -> None:
    """Measure many calls of `similar` at the same time."""
    server = bench.required_server()
    store = f"{server.store}/{index}"
    option = "pool_maxsize" if server.is_opensearch else "connections_per_node"
    tasks: dict[str, Callable[[], float]] = {
        f"{threads} threads": partial(in_threads, store, texts, threads, {option: threads}) for threads in THREADS
    }
    tasks[f"{TASKS} async calls"] = lambda: asyncio.run(as_tasks(store, texts))
    values = interleaved(tasks, bench.rounds)
    title = f"{rule}: calls of similar at the same time"
    bench.report.add(Table(title, "ms a call", values, f"{THREADS[0]} threads"))


def in_threads(store: str, texts: list[str], threads: int, options: dict[str, Any]) -> float:
    with Documents(store, **options) as documents, ThreadPoolExecutor(threads) as pool:
        list(pool.map(documents.similar, texts[:threads]))  # connects
        began = time.perf_counter()
        list(pool.map(documents.similar, texts))
        return 1000 * (time.perf_counter() - began) / len(texts)


async def as_tasks(store: str, texts: list[str]) -> float:
    async with AsyncDocuments(store) as documents:
        slots = asyncio.Semaphore(TASKS)

        async def similar(text: str) -> object:
            async with slots:
                return await documents.similar(text)

        await asyncio.gather(*map(similar, texts[:TASKS]))  # connects
        began = time.perf_counter()
        await asyncio.gather(*map(similar, texts))
        return 1000 * (time.perf_counter() - began) / len(texts)


def unseen(bench: Bench) -> None:
    """Ask which of some candidates a user has not seen. Half of them are seen."""
    server, candidates = bench.required_server(), [f"item-{number}" for number in range(CANDIDATES)]
    with server.index("users") as index, SeenItems(f"{server.store}/{index}") as seen:
        seen.setup()
        seen.add("ann", candidates[::2])
        searches: dict[str, Callable[[Sequence[int]], object]] = {
            "unseen": lambda _: seen.unseen("ann", candidates),
            "bare get": lambda _: server.client.get(index=index, id="ann"),
        }
        values = latencies(searches, range(200), 1, bench.rounds)
    table = Table(f"unseen of {CANDIDATES:,} candidates", "ms", values, "bare get")
    bench.report.add(table)
    bench.report.aim(f"unseen of {CANDIDATES:,} candidates, × a bare get", table.ratio("unseen"), at_most=1.3)
