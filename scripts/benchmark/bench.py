"""What every part gets: its size, the server, the other libraries, and rounds that take turns."""

from __future__ import annotations

import gc
import random
import resource
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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
    :param server: None if there is none.
    :param texts: a file of JSON lines with texts; None for texts that are made.
    :param workers: worker processes of ingests.
    """

    count: int
    rounds: int
    folder: Path
    report: Report
    server: Server | None = None
    texts: Path | None = None
    seed: int = 1
    workers: int = 0

    @cached_property
    def rng(self) -> random.Random:
        return random.Random(self.seed)

    def required_server(self) -> Server:
        """Return the server of a part that needs one."""
        assert self.server is not None
        return self.server

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


def processor_seconds() -> float:
    """Return the processor time of this process and of the worker processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def latencies(
    searches: Mapping[str, Callable[[Sequence[T]], object]], queries: Sequence[T], size: int, rounds: int
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
            for name, milliseconds in taken.items():
                medians[name].append(statistics.median(milliseconds))
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
