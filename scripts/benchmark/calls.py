"""Single calls beside what they consist of: searches, index requests, a get. The median of each, in milliseconds."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import ratio
from es_simhash import Documents, DuplicateRule, SeenItems, fingerprint, near_query, plain_clause
from texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench import Bench, Values

CALLS = 300
"""The most calls of each kind in a round; fewer among few documents."""
LENGTH = 90
CANDIDATES = 1_000
"""Items that ``unseen`` looks at."""
ADD, SIMILAR, INDEXED, EMPTY = "`add`", "`similar`", "bare index request", "search that finds nothing"
PLAN, PLAN_OF_7, PLAIN = "`near_query`", "`near_query`, 7 bits", "`plain_clause`"
UNSEEN, GET = f"`unseen` of {CANDIDATES:,}", "bare get"
FLOORS = {ADD: INDEXED, SIMILAR: EMPTY, PLAN: EMPTY, PLAN_OF_7: EMPTY, PLAIN: EMPTY, UNSEEN: GET}
RULES = ("fingerprint", "copy")

Call = dict[str, Any]
"""By the name of a call, a function of a document."""


def calls(bench: Bench) -> None:
    """Take all calls by turns, in a file and in a server, by both rules."""
    columns: dict[str, Values] = {}
    made = texts(bench, bench.count + 4 * CALLS * bench.rounds, LENGTH)
    for rule in RULES if bench.server else ():
        with bench.server.index("calls") as index, bench.server.index("bare") as bare:
            address, name = f"{bench.server.store}/{index}", f"{bench.server.product}, {rule}"
            beside = beside_of(bench.server.client, rule, index, bare)
            columns[name] = taken(bench, address, rule, made, beside, 1)
            columns[f"{name}, 10 threads"] = taken(bench, address, rule, made, {INDEXED: beside[INDEXED]}, 10)
    for rule in RULES:
        columns[f"SQLite, {rule}"] = taken(bench, f"sqlite:///{bench.folder}/{rule}.db", rule, made, {}, 1)
    if bench.server:
        columns["seen items"] = unseen(bench)
    title = f"ms of a call among {bench.count:,} texts of {LENGTH} characters, p50 (× its floor)"
    bench.page.beside(title, columns, FLOORS)
    aims(bench, columns)


def aims(bench: Bench, columns: dict[str, Values]) -> None:
    for name, values in columns.items():
        if SIMILAR in values and INDEXED in values and "threads" not in name:
            bound = [similar + 1.5 * index for similar, index in zip(values[SIMILAR], values[INDEXED], strict=True)]
            bench.page.aim(f"{name}: add, × (similar + 1.5 × {INDEXED})", ratio(values[ADD], bound), at_most=1)
            limit = 2 if name.endswith("copy") else 1.5
            bench.page.aim(f"{name}: similar, × a {EMPTY}", ratio(values[SIMILAR], values[EMPTY]), at_most=limit)
        if UNSEEN in values:
            bench.page.aim(f"unseen of {CANDIDATES:,}, × a {GET}", ratio(values[UNSEEN], values[GET]), at_most=1.3)


def taken(bench: Bench, address: str, rule: str, made: list[str], beside: Call, threads: int) -> Values:
    """Return the median of each call in each round. The store is filled first, if it is empty."""
    stored, new = made[: bench.count], iter(made[bench.count :][:: 1 if threads == 1 else -1])
    with Documents(address) as documents:
        if documents.setup(rule=rule) == "created":
            documents.add_many(({"id": f"{number}", "text": text} for number, text in enumerate(stored)), refresh=True)
        turns = {
            **beside,
            SIMILAR: lambda document: documents.similar(document["text"]),
            ADD: documents.add,
        }
        number = min(CALLS, bench.count // 10)
        rounds = [
            by_calls(
                turns, ({"id": text[-40:], "text": text} for _, text in zip(range(number), new, strict=False)), threads
            )
            for _ in range(bench.rounds)
        ]
    return {name: [each[name] for each in rounds] for name in turns}


def by_calls(turns: Call, documents: Iterable[dict[str, str]], threads: int) -> dict[str, float]:
    """Return the median of each. They take turns at each document, so what slows one slows all of them."""
    milliseconds: defaultdict[str, list[float]] = defaultdict(list)

    def take(document: dict[str, str]) -> None:
        for name, call in turns.items():
            began = time.perf_counter()
            call(document)
            milliseconds[name].append(1000 * (time.perf_counter() - began))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(take, documents))
    return {name: statistics.median(times) for name, times in milliseconds.items()}


def beside_of(client: Any, rule: str, index: str, bare: str) -> Call:
    """Return requests of the client for a document: into another index, and searches for what is near its text."""
    clauses: Call = {PLAN: lambda text: near_query(text, rule=rule).clause}
    if rule == "fingerprint":
        seven = DuplicateRule("fingerprint", max_distance=7)
        clauses[PLAN_OF_7] = lambda text: near_query(text, rule=seven).clause
        clauses[PLAIN] = lambda text: plain_clause(fingerprint(text).value or 0)

    def search(query: Callable[[str], dict[str, Any]], document: dict[str, str]) -> object:
        return client.search(index=index, body={"query": {"bool": {"filter": [query(document["text"])]}}})

    return {
        INDEXED: lambda document: client.index(index=bare, body=document),
        EMPTY: partial(search, lambda _: {"match_none": {}}),
        **{name: partial(search, clause) for name, clause in clauses.items()},
    }


def unseen(bench: Bench) -> Values:
    """Ask which of some candidates a user has not seen. Half of them are seen."""
    client, candidates = bench.server.client, [f"item-{number}" for number in range(CANDIDATES)]
    with bench.server.index("users") as index, SeenItems(f"{bench.server.store}/{index}") as seen:
        seen.setup()
        seen.add("ann", candidates[::2])
        turns = {UNSEEN: lambda _: seen.unseen("ann", candidates), GET: lambda _: client.get(index=index, id="ann")}
        rounds = [by_calls(turns, [{}] * 200, 1) for _ in range(bench.rounds)]
    return {name: [each[name] for each in rounds] for name in turns}
