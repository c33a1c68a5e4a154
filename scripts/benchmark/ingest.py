"""Ingest into each store, beside the client's parallel_bulk of the same documents, bare and with our fields.

Each contender works in a process of its own, which is forked, so that its memory and its time are its own. The rate is
taken by the wall, so it holds on a quiet machine alone.
"""

from __future__ import annotations

import gc
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

from bench import NONE, by_turns, median, megabytes, processor_seconds, ratio
from es_simhash import Documents, read_file
from es_simhash.decide.turn import Turn
from es_simhash.ingest.batches import BATCH
from servers import Server, bulk_lines
from texts import OF_TEMPLATE, corpus, kind_of, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench import Bench

Facts = dict[str, float]

LOADS = ((90, "copy"), (90, "fingerprint"), (1_500, "copy"), (1_500, "fingerprint"), (OF_TEMPLATE, "copy"))
"""The texts, and the rule."""
COLUMNS = RATE, FIFTHS, MAIN, OF_WORKERS, SERVER, MEMORY_OF, DISK, GROUP = (
    "documents a second",
    "last by first fifth",
    "µs main process",
    "µs workers",
    "µs server",
    "KB of memory",
    "bytes on the disk",
    "`group`, documents a second",
)
"""Processor time for a document; and by how much the memory of the main process grew at most."""
MEMORY, BARE, ROWS = "memory", "`parallel_bulk` of the documents", "`parallel_bulk` with our fields"


def ingest(bench: Bench) -> None:
    """Ingest documents of each kind by turns into all stores."""
    list(Documents("memory://").ingest(corpus(bench, 90)[:300]))  # loads what the forked processes need
    by_rule: dict[str, list[float]] = {}
    for kind, rule in LOADS:
        load = Load(bench, kind, rule)
        facts = by_turns(load.tasks(), bench.rounds)
        rates = {name: [each[RATE] for each in own] for name, own in facts.items()}
        floor = ROWS if ROWS in rates else MEMORY
        medians = {
            name: {fact: median(each[fact] for each in own) for fact in COLUMNS if fact in own[0]}
            for name, own in facts.items()
        }
        rows = {
            name: {RATE: known[RATE], f"× {floor}": ratio(rates[name], rates[floor]), **known}
            for name, known in medians.items()
        }
        bench.page.table(f"{load.count:,} {kind_of(kind)} by `{rule}`", rows)
        if bench.server:
            by_rule[rule] = rates[f"{bench.server.product}, 2 worker processes"]
            name = f"ingest by {rule}, {kind_of(kind)}"
            if rule == "fingerprint":
                two = f"{name}, 2 worker processes"
                bench.page.aim(f"{two}, × {ROWS}", ratio(by_rule[rule], rates[ROWS]), at_least=0.6)
                bench.page.aim(f"{two}, × {BARE}", ratio(by_rule[rule], rates[BARE]), at_least=0.33)
                bench.page.aim(f"{two}, by copy, × this", ratio(by_rule["copy"], by_rule[rule]), at_least=0.65)
            fifths = medians[bench.server.product][FIFTHS]
            bench.page.aim(f"{name}, rate of the last fifth by the first", fifths, at_least=0.85)


class Load:
    """The documents of a load in files, and what becomes of them."""

    def __init__(self, bench: Bench, kind: int | str, rule: str) -> None:
        self.folder, self.server, self.rule = bench.folder, bench.server, rule
        self.lines, self.bare, self.rows = (bench.folder / f"{name}.jsonl" for name in ("lines", "bare", "rows"))
        documents = corpus(bench, kind)
        self.count = len(documents)
        write(self.lines, documents)
        bulk_lines(self.bare, documents)

    def tasks(self) -> dict[str, Callable[[int], Facts]]:
        tasks: dict[str, Callable[[int], Facts]] = {}
        stores = {MEMORY: self.into_memory, "SQLite": self.into_file}
        if self.server:
            stores[self.server.product] = self.into_server
        for name, into in stores.items():
            tasks[name] = partial(into, 0)
            tasks[f"{name}, 2 worker processes"] = partial(into, 2)
        if self.server:
            tasks[f"{self.server.product}, not held in memory"] = partial(self.into_server, 0, held=False)
            tasks |= {ROWS: partial(self.bulk, self.rows), BARE: partial(self.bulk, self.bare)}
        return tasks

    def into_memory(self, workers: int, number: int) -> Facts:
        return apart(ingested, "memory://", self.lines, self.rule, workers)

    def into_file(self, workers: int, number: int) -> Facts:
        for file in self.folder.glob("store.db*"):
            file.unlink()
        facts = apart(ingested, f"sqlite:///{self.folder}/store.db", self.lines, self.rule, workers)
        return facts | {DISK: (self.folder / "store.db").stat().st_size / self.count}

    def into_server(self, workers: int, number: int, *, held: bool = True) -> Facts:
        with self.server.index("ingest") as index:
            self.set_up(index)
            address = f"{self.server.store}/{index}"
            facts = apart(ingested, address, self.lines, self.rule, workers, held, self.server.store)
            if held and not workers and not number:
                self.server.save(index, self.rows)
            return facts | self.on_the_disk(index, number)

    def bulk(self, file: Path, number: int) -> Facts:
        """Write the lines of bulk requests; ``rows`` are those that the first ingest made."""
        with self.server.index("bulk") as index:
            if file == self.rows:
                self.set_up(index)
            else:
                self.server.client.indices.create(index=index)
                self.server.for_bulk_load(index)
            return apart(bulked, self.server.store, index, file) | self.on_the_disk(index, number)

    def set_up(self, index: str) -> None:
        with Documents(f"{self.server.store}/{index}") as documents:
            documents.setup(rule=self.rule)
        self.server.for_bulk_load(index)

    def on_the_disk(self, index: str, number: int) -> Facts:
        return {DISK: NONE if number else self.server.bytes_of(index) / self.count}


# --- in a process of its own ----------------------------------------------------------------------------------------


def apart(function: Callable[..., Facts], *arguments: object) -> Facts:
    """Call a function in a process that is forked from this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as process:
        return process.submit(function, *arguments).result()


def ingested(
    address: str, file: Path, rule: str, workers: int, held: bool = True, on_server: str | None = None
) -> Facts:
    server = Server(on_server) if on_server else None
    if not held:  # as on a machine without free memory; this process alone
        Turn.room = property(lambda _: 0)  # type: ignore[method-assign, assignment]
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # as the command es-simhash does
    used = server.seconds() if server else NONE
    before, own = megabytes("VmRSS"), time.process_time()
    with Documents(address, deadline=600) as documents:
        documents.setup(rule=rule)
        times = [time.perf_counter()]
        times += [time.perf_counter() for _ in documents.ingest(read_file(file), workers=workers)]
        count = len(times) - 1
        # The outcomes of a batch come together. Worker processes are batches ahead, so the last ones come at once.
        fifth = 0 if workers else count // 5 // BATCH * BATCH
        facts = {
            RATE: count / (times[-1] - times[0]),
            FIFTHS: (times[fifth] - times[0]) / (times[-1] - times[-1 - fifth]) if fifth else NONE,
            MAIN: 1e6 * (time.process_time() - own) / count,
            MEMORY_OF: 1024 * (megabytes("VmHWM") - before) / count,
            SERVER: 1e6 * (server.seconds() - used) / count if server else NONE,
        }
        began = time.perf_counter()
        documents.group()
        facts[GROUP] = count / (time.perf_counter() - began)
    return facts | {OF_WORKERS: 1e6 * processor_seconds() / count}  # they have ended


def bulked(store: str, index: str, file: Path) -> Facts:
    with file.open(encoding="utf-8") as lines:
        pairs = [(action.rstrip("\n"), next(lines).rstrip("\n")) for action in lines]
    server = Server(store)
    used, own, began = server.seconds(), time.process_time(), time.perf_counter()
    server.parallel_bulk(index, pairs)
    facts = {RATE: len(pairs) / (time.perf_counter() - began), MAIN: 1e6 * (time.process_time() - own) / len(pairs)}
    return facts | {SERVER: 1e6 * (server.seconds() - used) / len(pairs)}
