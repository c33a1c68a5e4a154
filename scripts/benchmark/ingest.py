"""Ingest into a server beside the client's parallel_bulk: rates, their fall, and processor time."""

from __future__ import annotations

import gc
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench import interleaved
from es_simhash import Documents, read_file
from report import Table
from servers import with_our_fields
from texts import write_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench import Bench

WORDS = 20
BYTES = 2_000
"""Bytes on the disk for a document and its source, with what merges need."""
SETTINGS = {"index": {"refresh_interval": "-1", "merge.scheduler.auto_throttle": False}}
"""Usual for a bulk load. Merges are not throttled, because each look-up searches all Lucene segments."""
POINTS = 100
"""So often the time is taken."""
FEWEST = 20_000
"""With fewer documents a batch is a large part of a quarter, so the rates of the quarters say nothing."""
OURS, BULK = "ingest", "parallel_bulk, with our fields"


def ingest(bench: Bench) -> None:
    """Ingest synthetic short documents of a file, and write the same documents by parallel_bulk."""
    bench.required_server().room(bench.count, BYTES)
    lines, prepared = bench.folder / "lines.jsonl", bench.folder / "bulk.jsonl"
    write_corpus(lines, bench.count, WORDS)
    prepare(bench, lines, prepared)
    facts: dict[str, dict[str, Any]] = {}
    tasks = {OURS: lambda: run(bench, lines, facts), BULK: lambda: bulk(bench, prepared)}
    title = f"{bench.count:,} documents of {WORDS} words, {bench.workers} worker processes"
    table = Table(title, "documents a second", interleaved(tasks, bench.rounds), BULK, facts)
    bench.report.add(table)
    share, kept = table.ratio(OURS), facts[OURS]["last by second quarter"]
    bench.report.aim("ingest, share of the rate of parallel_bulk with the same fields", share, at_least=0.25)
    bench.report.aim("ingest, rate of the last quarter by that of the second", kept, at_least=0.85)


def run(bench: Bench, lines: Path, facts: dict[str, dict[str, Any]]) -> float:
    """Ingest all documents. Return the documents a second."""
    server = bench.required_server()
    counts: Counter[str] = Counter()
    times = [0.0]
    every = max(1, bench.count // POINTS)
    with server.index("ingest") as index, Documents(f"{server.store}/{index}", deadline=600) as documents:
        documents.setup(rule="fingerprint")
        server.change(index, SETTINGS)
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)  # as the command es-simhash does
        used, own, began = server.seconds(), time.process_time(), time.perf_counter()
        for number, outcome in enumerate(documents.ingest(read_file(lines), workers=bench.workers), 1):
            counts[outcome.outcome] += 1
            if number % every == 0:
                times.append(time.perf_counter() - began)
        seconds = time.perf_counter() - began
        used, own = server.seconds() - used, time.process_time() - own
    quarter = len(times) // 4
    second, last = (times[end] - times[end - quarter] for end in (2 * quarter, -1))
    facts[OURS] = {
        "last by second quarter": second / last if bench.count >= FEWEST else float("nan"),
        "µs of the main process": 1e6 * own / bench.count,
        "µs of the server": 1e6 * used / bench.count,
        "outcomes": ", ".join(f"{outcome} {number:,}" for outcome, number in counts.items()),
    }
    return bench.count / seconds


def prepare(bench: Bench, lines: Path, prepared: Path) -> None:
    """Write the lines of bulk requests: the documents with our fields, with random fingerprints and digests."""
    with lines.open(encoding="utf-8") as given, prepared.open("w", encoding="utf-8") as output:
        for number, line in enumerate(given, 1):
            rest = "," + line.rstrip()[1:]
            pair = with_our_fields(json.loads(line)["id"], bench.rng.getrandbits(64), number, bench.rng, rest)
            output.write("\n".join(pair) + "\n")


def bulk(bench: Bench, prepared: Path) -> float:
    """Write documents by parallel_bulk, into an index with our fields. Return the documents a second."""
    server = bench.required_server()

    def operations() -> Iterator[tuple[str, str]]:
        with prepared.open(encoding="utf-8") as lines:
            for action in lines:
                yield action.rstrip(), next(lines).rstrip()

    with server.index("bulk") as index:
        with Documents(f"{server.store}/{index}") as documents:
            documents.setup("fingerprint")
        server.change(index, SETTINGS)
        began = time.perf_counter()
        server.parallel_bulk(index, operations())
        return bench.count / (time.perf_counter() - began)
