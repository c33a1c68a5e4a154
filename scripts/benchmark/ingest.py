"""Ingest into a server beside the client's parallel_bulk: rates, their fall, and where the time goes."""

from __future__ import annotations

import gc
import json
import os
import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import interleaved
from report import Table, draw
from texts import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from bench import Bench
    from servers import Server

WORDS = 20
BYTES = 2_000
"""Bytes on the disk for a document and its source, with what merges need."""
SETTINGS = {"index": {"refresh_interval": "-1", "merge.scheduler.auto_throttle": False}}
"""Usual for a bulk load. Merges are not throttled, because each look-up searches all Lucene segments."""
BATCH = 500
"""Documents that an ingest writes at once."""
POINTS = 100
"""Points of the curve of documents a second."""
OURS, BULK, BARE = "ingest", "parallel_bulk, with our fields", "parallel_bulk, bare documents"


class Timed:
    """A store that adds up how long its methods take, by their names."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.seconds: dict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method):
            return method

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds[name] += time.perf_counter() - began

        return timed


def ingest(bench: Bench) -> None:
    """Ingest synthetic short documents that come through a pipe, and write the same documents by parallel_bulk."""
    for server in bench.servers:
        server.room(bench.count, BYTES)
    facts: dict[str, dict[str, Any]] = {}
    bulk_of = {server.named(OURS): server.named(BULK) for server in bench.servers}
    tasks: dict[str, Any] = {}
    for server in bench.servers:
        ours = server.named(OURS)
        tasks[ours] = lambda s=server, n=ours: run(bench, s, n, facts)
    tasks |= {server.named(BULK): lambda s=server: bulk_ours(bench, s) for server in bench.servers}
    tasks |= {server.named(BARE): lambda s=server: bulk_bare(bench, s) for server in bench.servers}
    rates = interleaved(tasks, bench.rounds)
    first = next(iter(bulk_of.values()))
    title = f"{bench.count:,} documents of {WORDS} words, {bench.workers} worker processes"
    table = Table(title, "documents a second", rates, first, facts)
    bench.report.add(table)
    if bench.plot:
        curves = {name: facts[name]["curve, s"] for name in bulk_of}
        every = min(bench.count, max(BATCH, bench.count // POINTS))
        draw(bench.plot, {name: [every / (b - a) for a, b in pairwise(times)] for name, times in curves.items()}, every)
    share = max(table.ratio(name, bulk) for name, bulk in bulk_of.items())
    bench.report.aim("ingest, share of the rate of parallel_bulk with the same fields", share, at_least=0.25)
    kept = max(facts[name]["last by first"] for name in bulk_of)
    bench.report.aim("ingest, rate of the last tenth by that of the first", kept, at_least=0.8)
    if bench.count >= 10_000_000:
        seconds = bench.count / max(max(rates[name]) for name in bulk_of)
        bench.report.aim(f"ingest of {bench.count:,} documents, seconds", seconds, at_most=2_400)


def run(bench: Bench, server: Server, name: str, facts: dict[str, dict[str, Any]]) -> float:
    """Ingest all documents. Return the documents a second."""
    from es_simhash import Documents
    from es_simhash.lines import raw_lines

    counts: Counter[str] = Counter()
    times: list[float] = []
    every = min(bench.count, max(BATCH, bench.count // POINTS))
    main = workers = 0.0
    with server.index("ingest") as index, corpus(bench.count, WORDS) as pipe:
        store = Timed(Documents(f"{server.store}/{index}", deadline=600, request_timeout=120).store)
        with Documents(store) as documents:
            documents.setup(keys=False)
            server.change(index, SETTINGS)
            gc.freeze()
            gc.set_threshold(50_000, 20, 20)  # as the command es-simhash does
            used, own = server.seconds(), time.process_time()
            began = time.perf_counter()
            outcomes = documents.ingest(
                raw_lines(required(pipe.stdout), "pipe"), workers=bench.workers, rule="fingerprint"
            )
            for number, outcome in enumerate(outcomes, 1):
                counts[outcome.outcome] += 1
                if number == 1 or number % every == 0:
                    times.append(time.perf_counter() - began)
                    now = memory(pipe.pid)
                    main, workers = max(main, now[0]), max(workers, now[1])
            seconds = time.perf_counter() - began
            used, own = server.seconds() - used, time.process_time() - own
    tenth = len(times) // 10 + 1
    first, last = rate(times, slice(tenth), every), rate(times, slice(-tenth, None), every)
    facts[name] = {
        "first tenth": first,
        "last tenth": last,
        "last by first": last / first,
        "look-ups, s": store.seconds["candidates"],
        "writes, s": store.seconds["write"],
        "µs of the main process": 1e6 * own / bench.count,
        "µs of the server": 1e6 * used / bench.count,
        "main, MB": main,
        "workers, MB": workers,
        "outcomes": ", ".join(f"{outcome} {number:,}" for outcome, number in counts.items()),
        "curve, s": times,
    }
    return bench.count / seconds


def rate(times: list[float], some: slice, every: int) -> float:
    """Return documents a second; not a number for so few documents that a batch is a large part of them."""
    if len(times) < POINTS // 2:
        return float("nan")
    times = times[some]
    return every * (len(times) - 1) / (times[-1] - times[0])


def bulk_bare(bench: Bench, server: Server) -> float:
    def lines(stream: IO[bytes]) -> Iterator[tuple[str, str]]:
        for line in stream:
            yield f'{{"index":{{"_id":"{json.loads(line)["id"]}"}}}}', line.decode().rstrip()

    with corpus(bench.count, WORDS) as pipe:
        return bulk(bench, server, lines(required(pipe.stdout)), fields=False)


def bulk_ours(bench: Bench, server: Server) -> float:
    """Write documents with the fields of an ingest, which are made before the time is taken."""
    prepared = bench.folder / "bulk.jsonl"
    if not prepared.exists():
        prepare(bench, prepared)

    def lines(stream: IO[str]) -> Iterator[tuple[str, str]]:
        for action in stream:
            yield action.rstrip(), next(stream).rstrip()

    with prepared.open(encoding="utf-8") as stream:
        return bulk(bench, server, lines(stream), fields=True)


def prepare(bench: Bench, file: Path) -> None:
    """Write the lines of bulk requests: the documents with our fields, with random fingerprints and digests."""
    with corpus(bench.count, WORDS) as pipe, file.open("w", encoding="utf-8") as lines:
        for number, line in enumerate(required(pipe.stdout)):
            id, value = json.loads(line)["id"], bench.rng.getrandbits(64)
            ours: dict[str, Any] = {"digest": f"{bench.rng.getrandbits(128):032x}", "group": str(id)}
            ours |= {"written": number + 1, "fp": value - (value >> 63 << 64)}
            ours |= {f"s{segment}": f"{value:016x}"[4 * segment : 4 * segment + 4] for segment in range(4)}
            document = f'{{"simhash":{json.dumps(ours, separators=(",", ":"))},{line.decode().rstrip()[1:]}'
            lines.write(f'{{"index":{{"_id":"{id}"}}}}\n{document}\n')


def bulk(bench: Bench, server: Server, operations: Iterator[tuple[str, str]], *, fields: bool) -> float:
    """Write documents by parallel_bulk, into an index with or without our fields. Return the documents a second."""
    from es_simhash import Documents

    with server.index("bulk") as index:
        if fields:
            with Documents(server.client, index=index) as documents:
                documents.setup(keys=False)
        else:
            server.create(index)
        server.change(index, SETTINGS)
        began = time.perf_counter()
        server.parallel_bulk(index, operations, 4, 500)
        server.client.indices.refresh(index=index)
        return bench.count / (time.perf_counter() - began)


def required(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def memory(without: int) -> tuple[float, float]:
    """Return the resident megabytes of this process, and of its children without one of them."""
    own, children = 0.0, 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            values = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if values["Pid"] == str(os.getpid()):
            own = int(values["VmRSS"].split()[0]) / 1024
        elif values["PPid"] == str(os.getpid()) and values["Pid"] != str(without) and "VmRSS" in values:
            children += int(values["VmRSS"].split()[0]) / 1024
    return own, children
