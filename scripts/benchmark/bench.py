"""What every part gets: its size, the server, the other libraries, and rounds that take turns."""

from __future__ import annotations

import gc
import random
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import ModuleType

    from report import Report, Values
    from servers import Server

T = TypeVar("T")


@dataclass
class Bench:
    """What a part gets.

    :param count: documents, items or texts.
    :param rounds: how often each contender has its turn.
    :param folder: an empty folder for files, which is removed at the end.
    :param servers: those that are measured. Most parts need the first one only.
    :param texts: a file of JSON lines with texts; None for texts that are made.
    :param workers: worker processes of ingests.
    :param plot: a file for the picture of the part ``ingest`` or ``near-equal``.
    :param existing: the name of an index that the part model measures; None for a new one.
    """

    count: int
    rounds: int
    folder: Path
    report: Report
    servers: list[Server] = field(default_factory=list)
    texts: Path | None = None
    seed: int = 1
    workers: int = 0
    plot: Path | None = None

    @cached_property
    def rng(self) -> random.Random:
        return random.Random(self.seed)

    @property
    def store(self) -> str | None:
        """The address of the first server; None if there is none."""
        return self.servers[0].store if self.servers else None

    @property
    def where(self) -> str:
        """What keeps the documents, for titles."""
        return self.servers[0].kind if self.servers else "SQLite"

    @property
    def client(self) -> Any:
        """The official client of the first server."""
        return self.servers[0].client

    def peer(self, module: str, package: str | None = None) -> ModuleType | None:
        """Return another library, or None with a line in the report: it is not installed, or cannot be loaded."""
        package = package or module
        try:
            return import_module(module)
        except ModuleNotFoundError:
            self.report.left_out(package, "it is not installed: pip install --group bench")
        except Exception as error:
            self.report.left_out(package, f"it cannot be loaded: {error}")
        return None

    def index(self, name: str) -> AbstractContextManager[str]:
        """:meth:`Server.index` of the first server."""
        return self.servers[0].index(name)

    def room(self, documents: int, bytes_each: int) -> None:
        """:meth:`Server.room` of the first server."""
        self.servers[0].room(documents, bytes_each)


def interleaved(tasks: Mapping[str, Callable[[], float]], rounds: int) -> Values:
    """Call each task once in each round, and return the values. Every second round is in reverse order.

    What slows the machine for a while slows all tasks, so the ratios stay.
    """
    values: Values = {name: [] for name in tasks}
    for _, turns in zip(range(rounds), orders(tasks), strict=False):
        for name, task in turns:
            values[name].append(task())
    return values


def seconds_of(task: Callable[[], object]) -> float:
    """Return the wall time of a task."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def latencies(
    searches: Mapping[str, Callable[[Sequence[int]], object]], queries: Sequence[int], size: int, rounds: int
) -> Values:
    """Return the milliseconds for one query: the median of each round. The searches take turns at each batch.

    :param searches: functions of a batch of queries.
    :param size: the queries in a batch.
    """
    batches = [queries[start : start + size] for start in range(0, len(queries), size)]
    for search in searches.values():
        search(batches[0])
    medians: Values = {name: [] for name in searches}
    with quiet():
        for _ in range(rounds):
            taken: Values = {name: [] for name in searches}
            for batch, turns in zip(batches, orders(searches), strict=False):
                for name, search in turns:
                    began = time.perf_counter()
                    search(batch)
                    taken[name].append(1000 * (time.perf_counter() - began) / len(batch))
            for name, each in taken.items():
                medians[name].append(statistics.median(each))
    return medians


def orders(contenders: Mapping[str, T]) -> Iterator[list[tuple[str, T]]]:
    """Yield the contenders forwards, then backwards, and so on."""
    return cycle([list(contenders.items()), list(contenders.items())[::-1]])


@contextmanager
def quiet() -> Iterator[None]:
    """Collect no garbage meanwhile: an index of another library may have millions of objects."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def peak_megabytes() -> float:
    """Return the most memory that this process ever had.

    The operating system's own figure (ru_maxrss) counts the memory of the process that started this one too.
    """
    return memory_line("VmHWM")


def resident_megabytes() -> float:
    """Return the memory of this process now."""
    return memory_line("VmRSS")


def memory_line(name: str) -> float:
    """Return a line of /proc/self/status; not a number where there is none."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))
    except OSError:
        return float("nan")


def fingerprints_near(centre: int, distances: Sequence[int], rng: random.Random, bits: int = 64) -> list[int]:
    """Return a fingerprint at each of these distances from a centre."""
    return [centre ^ sum(1 << bit for bit in rng.sample(range(bits), distance)) for distance in distances]


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function in a new process, for its own peak of memory."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
