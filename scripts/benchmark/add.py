"""Single calls: `add` beside `similar` and a bare index request of Elasticsearch, and `similar` beside an empty search.

Then many calls at the same time, in threads and as tasks of an event loop.
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import interleaved, latencies
from report import Facts, Table
from servers import INDEX
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench import Bench
    from es_simhash import Documents
    from es_simhash.similarity.rule import Rule
    from report import Values

CALLS = 300
"""The most calls of each kind in a round, and requests of the service; fewer among few documents."""
LENGTH = 200
"""Characters of a text."""
BARE = f"{INDEX}-bare"
USERS = f"{INDEX}-users"
ADD, SIMILAR, INDEXED, EMPTY = "add", "similar", "bare index", "search that finds nothing"
RULES: tuple[Rule, ...] = ("fingerprint", "copy")
TASKS, THREADS = 200, (8, 32, 200)
"""Calls at the same time of an async program, and threads of sync ones."""


def add(bench: Bench) -> None:
    """Measure single calls by both rules, each in an index of its own, and a service."""
    bench.room(bench.count, 5_000)
    for rule in RULES:
        with bench.index("documents") as index, bench.index("bare"):
            calls_of(bench, index, rule)
    with bench.index("documents") as index, bench.index("users"):
        _, new = with_documents(bench, index, "fingerprint")
        calls = min(CALLS, bench.count // 10)
        rows = asyncio.run(service(bench, index, [next(new) for _ in range(calls // 2)]))
        bench.report.add(Facts("A service with both async classes, ten requests at once", rows))


def calls_of(bench: Bench, index: str, rule: Rule) -> None:
    """Measure `add`, from one thread and from ten threads, and `similar`, alone and many at the same time."""
    from es_simhash import Documents

    stored, new = with_documents(bench, index, rule)
    calls = min(CALLS, bench.count // 10)
    with Documents(bench.client, index=index) as documents:
        look_ups(bench, documents, index, rule, stored[:calls])
        for threads in (1, 10):
            beside(bench, documents, rule, threads, lambda: [next(new) for _ in range(calls)])
    at_once(bench, index, rule, stored[: 5 * calls])


def with_documents(bench: Bench, index: str, rule: Rule) -> tuple[list[str], Iterator[str]]:
    """Store documents, and return their texts, and other texts without end."""
    from es_simhash import Documents

    new = new_texts(bench)
    stored = [next(new) for _ in range(bench.count)]
    with Documents(bench.client, index=index) as documents:
        documents.setup(keys=rule == "copy")
        documents.add_many(({"id": f"old-{number}", "text": text} for number, text in enumerate(stored)), rule=rule)
    bench.client.indices.refresh(index=index)
    return stored, new


def look_ups(bench: Bench, documents: Documents, index: str, rule: Rule, texts: list[str]) -> None:
    """Measure `similar` with the text of a stored document, beside a search that has nothing to find."""
    nothing = {"term": {"simhash.digest": "none"}}
    searches: dict[str, Callable[[Sequence[int]], object]] = {
        SIMILAR: lambda some: documents.similar(texts[some[0]], rule=rule),
        EMPTY: lambda _: bench.client.search(index=index, query=nothing),
    }
    values = latencies(searches, range(len(texts)), 1, bench.rounds)
    table = Table(f"{rule}: look-up of a text among {bench.count:,} documents, p50", "ms", values, EMPTY)
    bench.report.add(table)
    if rule == "copy":
        bench.report.aim("similar by copy, × a search that finds nothing", table.ratio(SIMILAR), at_most=2)


def at_once(bench: Bench, index: str, rule: Rule, texts: list[str]) -> None:
    """Measure many calls of `similar` at the same time."""
    tasks: dict[str, Callable[[], float]] = {
        f"{threads} threads": partial(in_threads, bench, index, rule, texts, threads) for threads in THREADS
    }
    tasks |= {f"{TASKS} async calls": lambda: asyncio.run(as_tasks(bench, index, rule, texts))}
    values = interleaved(tasks, bench.rounds)
    table = Table(f"{rule}: calls of similar at the same time", "ms a call", values, f"{THREADS[0]} threads")
    bench.report.add(table)
    what = f"{rule}: {TASKS} async calls, × the time of {THREADS[0]} threads"
    bench.report.aim(what, table.ratio(f"{TASKS} async calls"), at_most=1)


def in_threads(bench: Bench, index: str, rule: Rule, texts: list[str], threads: int) -> float:
    from es_simhash import Documents

    store = f"{bench.store}/{index}"
    with Documents(store, connections_per_node=threads) as documents, ThreadPoolExecutor(threads) as pool:

        def similar(text: str) -> object:
            return documents.similar(text, rule=rule)

        list(pool.map(similar, texts[:threads]))  # connects
        began = time.perf_counter()
        list(pool.map(similar, texts))
        return 1000 * (time.perf_counter() - began) / len(texts)


async def as_tasks(bench: Bench, index: str, rule: Rule, texts: list[str]) -> float:
    from es_simhash import AsyncDocuments

    async with AsyncDocuments(f"{bench.store}/{index}", connections_per_node=TASKS) as documents:
        slots = asyncio.Semaphore(TASKS)

        async def similar(text: str) -> object:
            async with slots:
                return await documents.similar(text, rule=rule)

        await similar(texts[0])  # the first call loads a dictionary
        await asyncio.gather(*map(similar, texts[:TASKS]))  # connects
        began = time.perf_counter()
        await asyncio.gather(*map(similar, texts))
        return 1000 * (time.perf_counter() - began) / len(texts)


def new_texts(bench: Bench) -> Iterator[str]:
    """Yield texts without end: parts of news in an order that no other text has. Few are near each other."""
    rng = random.Random(bench.seed)
    parts = sorted({part for text in texts(bench.texts, 200, LENGTH, bench.seed) for part in re.split("[，。]", text)})
    while True:
        some = "，".join(rng.sample(parts, 10))
        yield f"{some}，{''.join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(6))}。"


def beside(bench: Bench, documents: Documents, rule: Rule, threads: int, some: Callable[[], list[str]]) -> None:
    """Measure the three calls. Each thread takes them by turns, so what slows the machine slows all of them.

    :param some: returns new texts.
    """
    values: Values = {ADD: [], SIMILAR: [], INDEXED: []}
    for number in range(-1, bench.rounds):
        milliseconds = one_round(bench, documents, rule, threads, some())
        if number >= 0:  # the first round warms up
            for name, each in milliseconds.items():
                values[name].append(statistics.median(each))
    bound = [similar + 1.5 * bare for similar, bare in zip(values[SIMILAR], values[INDEXED], strict=True)]
    values["similar + 1.5 × bare index"] = bound
    who = "one thread" if threads == 1 else f"{threads} threads"
    table = Table(f"{rule}: latency of a call among {bench.count:,} documents, {who}, p50", "ms", values, INDEXED)
    bench.report.add(table)
    what = f"{rule}: add from {who}, × (similar + 1.5 × bare index)"
    bench.report.aim(what, table.ratio(ADD, list(values)[-1]), at_most=1.0)


def one_round(bench: Bench, documents: Documents, rule: Rule, threads: int, some: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each call."""
    milliseconds: defaultdict[str, list[float]] = defaultdict(list)

    def calls(text: str) -> None:
        each: dict[str, Callable[[], Any]] = {
            SIMILAR: lambda: documents.similar(text, rule=rule),
            INDEXED: lambda: bench.client.index(index=BARE, document={"text": text}),
            ADD: lambda: documents.add({"id": text[-20:], "text": text}, rule=rule),
        }
        for name, call in each.items():
            began = time.perf_counter()
            call()
            milliseconds[name].append(1000 * (time.perf_counter() - began))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(calls, some))
    return milliseconds


async def service(bench: Bench, index: str, some: list[str]) -> list[list[Any]]:
    """Answer requests: add a document, ask whether a user has seen it, and remember that. Half of them are copies."""
    from elasticsearch import AsyncElasticsearch

    from es_simhash import AsyncDocuments, AsyncSeenItems

    assert bench.store is not None
    milliseconds: list[float] = []
    outcomes: Counter[str] = Counter()
    async with (
        AsyncElasticsearch(bench.store, request_timeout=60) as client,
        AsyncDocuments(client, index=index) as documents,
        AsyncSeenItems(client, index=USERS) as seen,
    ):
        await seen.setup()
        slots = asyncio.Semaphore(10)

        async def request(number: int) -> None:
            async with slots:
                began = time.perf_counter()
                outcome = await documents.add({"id": str(number), "text": some[number % len(some)]}, rule="fingerprint")
                item, user = outcome.duplicate_of or str(number), f"user-{number % 50}"
                if await seen.unseen(user, [item]):
                    await seen.add(user, [item])
                milliseconds.append(1000 * (time.perf_counter() - began))
                outcomes[outcome.outcome] += 1

        began = time.perf_counter()
        await asyncio.gather(*map(request, range(2 * len(some))))
        seconds = time.perf_counter() - began
    middle, *_, high = statistics.quantiles(milliseconds, n=100, method="inclusive")[49:]
    found = ", ".join(f"{count} {name}" for name, count in outcomes.items())
    heading = ["requests", "seconds", "p50, ms", "p99, ms", "outcomes"]
    return [heading, [len(milliseconds), seconds, middle, high, found]]
