"""Documents that are added one at a time, beside `similar` and a bare index request of Elasticsearch."""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from report import Facts, Table
from servers import INDEX
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench import Bench
    from es_simhash import Documents
    from report import Values

CALLS = 300
"""The most calls of each kind in a round, and requests of the service; fewer among few documents."""
LENGTH = 200
"""Characters of a text."""
BARE = f"{INDEX}-bare"
USERS = f"{INDEX}-users"
ADD, SIMILAR, INDEXED = "add", "similar", "bare index"


def add(bench: Bench) -> None:
    """Add single documents to an index, from one thread, from ten threads, and from ten tasks of a service."""
    from es_simhash import Documents

    bench.room(bench.count, 5_000)
    with bench.index("documents") as index, bench.index("bare"), bench.index("users"):
        new, calls = new_texts(bench), min(CALLS, bench.count // 10)
        with Documents(bench.client, index=index) as documents:
            documents.setup(keys=False)
            documents.add_many(
                ({"id": f"old-{number}", "text": next(new)} for number in range(bench.count)), rule="fingerprint"
            )
            for threads in (1, 10):
                beside(bench, documents, threads, lambda: [next(new) for _ in range(calls)])
        rows = asyncio.run(service(bench, index, [next(new) for _ in range(calls // 2)]))
        bench.report.add(Facts("A service with both async classes, ten requests at once", rows))


def new_texts(bench: Bench) -> Iterator[str]:
    """Yield texts without end: parts of news in an order that no other text has. Few are near each other."""
    rng = random.Random(bench.seed)
    parts = sorted({part for text in texts(bench.texts, 200, LENGTH, bench.seed) for part in re.split("[，。]", text)})
    while True:
        some = "，".join(rng.sample(parts, 10))
        yield f"{some}，{''.join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(6))}。"


def beside(bench: Bench, documents: Documents, threads: int, some: Callable[[], list[str]]) -> None:
    """Measure the three calls. Each thread takes them by turns, so what slows the machine slows all of them.

    :param some: returns new texts.
    """
    values: Values = {ADD: [], SIMILAR: [], INDEXED: []}
    for number in range(-1, bench.rounds):
        milliseconds = one_round(bench, documents, threads, some())
        if number >= 0:  # the first round warms up
            for name, each in milliseconds.items():
                values[name].append(statistics.median(each))
    bound = [similar + 1.5 * bare for similar, bare in zip(values[SIMILAR], values[INDEXED], strict=True)]
    values["similar + 1.5 × bare index"] = bound
    who = "one thread" if threads == 1 else f"{threads} threads"
    table = Table(f"Latency of a call among {bench.count:,} documents, {who}, p50", "ms", values, INDEXED)
    bench.report.add(table)
    bench.report.aim(f"add from {who}, × (similar + 1.5 × bare index)", table.ratio(ADD, list(values)[-1]), at_most=1.0)


def one_round(bench: Bench, documents: Documents, threads: int, some: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each call."""
    milliseconds: defaultdict[str, list[float]] = defaultdict(list)

    def calls(text: str) -> None:
        each: dict[str, Callable[[], Any]] = {
            SIMILAR: lambda: documents.similar(text, rule="fingerprint"),
            INDEXED: lambda: bench.client.index(index=BARE, document={"text": text}),
            ADD: lambda: documents.add({"id": text[-20:], "text": text}, rule="fingerprint"),
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
