"""Our Bloom filter beside other libraries: time, bytes, false positives; and other constants of growth."""

from __future__ import annotations

import io
import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from bench import interleaved
from es_simhash.bloom import BloomFilter, sizing
from report import Facts, Matrix, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench import Bench
    from report import Values

RATES = (0.01, 0.001)
TIMES = 1_000
STRANGERS = 10
"""Others that are looked up, for each item of the filter."""
PATIENCE = 10
"""Seconds to fill a filter beyond its capacity. A smaller size has fewer."""
KINDS = ("strings", "integers")
OTHERS = 10**9
"""The first number of the items that are not in a filter."""


@dataclass
class Contender:
    """A library: how to make a filter, and how to do with it what is measured.

    :param make: a filter that need not grow, from a capacity and an error rate.
    :param make_growing: a filter that grows, if the library has one.
    """

    make: Callable[[int, float], Any]
    make_growing: Callable[[int, float], Any]
    add: Callable[[Any], Callable[[Any], object]]
    look_up: Callable[[Any], Callable[[Any], object]]
    bytes_of: Callable[[Any], int]
    add_all: Callable[[Any, list[Any]], object] | None = None
    look_up_all: Callable[[Any, list[Any]], object] | None = None

    def add_batch(self, seen: Any, items: list[Any]) -> None:
        if self.add_all:
            self.add_all(seen, items)
        else:
            self.add_singly(seen, items)

    def look_up_batch(self, seen: Any, items: list[Any]) -> Any:
        return self.look_up_all(seen, items) if self.look_up_all else self.look_up_singly(seen, items)

    def add_singly(self, seen: Any, items: list[Any]) -> None:
        add = self.add(seen)
        for item in items:
            add(item)

    def look_up_singly(self, seen: Any, items: list[Any]) -> list[object]:
        look_up = self.look_up(seen)
        return [look_up(item) for item in items]


def contenders(bench: Bench) -> dict[str, Contender]:
    """Return the libraries that are installed. rbloom gets MurmurHash3, a hash that can be saved, as the others do."""
    found = {
        "es_simhash": Contender(
            BloomFilter,
            BloomFilter,
            lambda seen: seen.add,
            lambda seen: seen.__contains__,
            lambda seen: len(seen.to_bytes()),
            BloomFilter.update,
            BloomFilter.contains_many,
        )
    }
    if rbloom := bench.peer("rbloom"):
        from mmh3 import hash128

        def make(capacity: int, rate: float) -> Any:  # it does not grow
            return rbloom.Bloom(capacity, rate, lambda item: hash128(str(item), 7, True, True))

        found["rbloom"] = Contender(
            make,
            make,
            lambda seen: seen.add,
            lambda seen: seen.__contains__,
            lambda seen: len(seen.save_bytes()),
            lambda seen, items: seen.update(items),
        )
    if pybloom := bench.peer("pybloom_live", "pybloom-live"):
        found["pybloom-live"] = Contender(
            pybloom.BloomFilter,
            pybloom.ScalableBloomFilter,
            lambda seen: seen.add,
            lambda seen: seen.__contains__,
            pybloom_bytes,
        )
    if probables := bench.peer("probables", "pyprobables"):
        found["pyprobables"] = Contender(
            lambda capacity, rate: probables.BloomFilter(est_elements=capacity, false_positive_rate=rate),
            lambda capacity, rate: probables.ExpandingBloomFilter(est_elements=capacity, false_positive_rate=rate),
            lambda seen: of_text(seen.add),
            lambda seen: of_text(seen.check),
            lambda seen: len(bytes(seen)),
        )
    return found


def pybloom_bytes(seen: Any) -> int:
    file = io.BytesIO()
    seen.tofile(file)
    return len(file.getvalue())


def of_text(function: Callable[[str], object]) -> Callable[[Any], object]:
    """Return a function that passes items as text: pyprobables hashes text only."""
    return lambda item: function(item if isinstance(item, str) else str(item))


def items_of(kind: str, numbers: Iterable[int]) -> list[Any]:
    return list(numbers) if kind == "integers" else [f"item {number}" for number in numbers]


# --- times and bytes ------------------------------------------------------------------------------------------------


def speed(bench: Bench) -> None:
    """Time each library with batches in its fastest way, and with one item after the other."""
    libraries = contenders(bench)
    times: dict[str, Values] = {}
    for kind in KINDS:
        inside, others = (items_of(kind, range(start, start + bench.count)) for start in (10**6, 10**7))
        times |= times_of(libraries, inside, others, kind, bench.rounds)
    title = f"{bench.count:,} items, error rate 1 %: processor time"
    bench.report.add(Matrix(title, "ns an item", times))
    sizes = [library.bytes_of(library.make(bench.count, 0.01)) for library in libraries.values()]
    bench.report.add(Facts("Bytes of such a filter", [["", *libraries], ["bytes", *sizes]]))
    if "pybloom-live" in libraries:
        for task in ("add", "look up items in the filter", "look up others"):
            values = times[f"integers: batch, {task}"]
            times_as_fast = ratio(values["pybloom-live"], values["es_simhash"])
            bench.report.aim(f"Bloom filter, integers in bulk, {task}: × pybloom-live", times_as_fast, at_least=8)


def times_of(
    libraries: dict[str, Contender], inside: list[Any], others: list[Any], kind: str, rounds: int
) -> dict[str, Values]:
    full = {name: library.make(len(inside), 0.01) for name, library in libraries.items()}
    for name, library in libraries.items():
        library.add_batch(full[name], inside)
    found = {}
    for how, add, look_up in (
        ("batch", Contender.add_batch, Contender.look_up_batch),
        ("one by one", Contender.add_singly, Contender.look_up_singly),
    ):
        for task, function, items in (
            ("add", add, inside),
            ("look up items in the filter", look_up, inside),
            ("look up others", look_up, others),
        ):

            def turn(name: str, empty: bool = task == "add", call: Any = function, some: list[Any] = items) -> float:
                library = libraries[name]
                seen = library.make(len(some), 0.01) if empty else full[name]
                return 1e9 * processor_seconds(call, library, seen, some) / len(some)

            tasks = {name: lambda n=name, t=turn: t(n) for name in libraries}
            found[f"{kind}: {how}, {task}"] = interleaved(tasks, rounds)
    return found


def processor_seconds(task: Callable[..., object], *arguments: Any) -> float:
    """Return the processor time of a task. Other programs on the machine have little effect on it."""
    began = time.thread_time()
    task(*arguments)
    return time.thread_time() - began


# --- errors ---------------------------------------------------------------------------------------------------------


def errors(bench: Bench) -> None:
    """Count false positives at the capacity, and at a thousand times the capacity."""
    libraries = contenders(bench)
    capacity = max(10, bench.count // 100)
    patience = PATIENCE * min(1, bench.count / 10_000)
    at_capacity, beyond = [], []
    for rate in RATES:
        for kind in KINDS:
            name = f"{kind}, error_rate {rate:.1%}"
            at_capacity.append([name, *(measured(each, rate, bench.count, kind) for each in libraries.values())])
            far = [far_beyond(each, rate, capacity, kind, patience, bench.count) for each in libraries.values()]
            beyond.append([name, *far])
    others = bench.count * STRANGERS
    title = f"False positives among {others:,} others, at the capacity of {bench.count:,} items"
    bench.report.add(Facts(title, [["", *libraries], *at_capacity]))
    title = (
        f"The same at {TIMES:,} times the capacity of {capacity:,} items, with filters that grow if there are any. "
        f"If {patience:g} seconds are not enough, the multiple of the capacity that was reached is shown"
    )
    bench.report.add(Facts(title, [["", *libraries], *beyond]))


def false_positives(library: Contender, seen: Any, kind: str, others: int) -> float:
    return float(np.mean(library.look_up_batch(seen, items_of(kind, range(OTHERS, OTHERS + others)))))


def measured(library: Contender, rate: float, capacity: int, kind: str) -> str:
    seen = library.make(capacity, rate)
    library.add_batch(seen, items_of(kind, range(capacity)))
    return f"{false_positives(library, seen, kind, capacity * STRANGERS):.3%}"


def far_beyond(library: Contender, rate: float, capacity: int, kind: str, patience: float, count: int) -> str:
    seen = library.make_growing(capacity, rate)
    began, added = time.perf_counter(), 0
    while added < TIMES * capacity and time.perf_counter() - began < patience:
        library.add_batch(seen, items_of(kind, range(added, added + capacity)))
        added += capacity
    if added == TIMES * capacity:
        return f"{false_positives(library, seen, kind, count * STRANGERS):.3%}"
    return f"{false_positives(library, seen, kind, 2_000):.1%} at {added // capacity}x"


# --- growth ---------------------------------------------------------------------------------------------------------


def growth(bench: Bench) -> None:
    """Compare the constants of sizing.py with others: bytes, and times of a batch."""
    ways = [(g, f, t) for g in (2, 3, 4) for f, t in ((0.5, 0.5), (0.75, 0.25), (0.5, 0.7), (0.75, 0.7), (0.75, 0.85))]
    runs: dict[tuple[float, ...], list[tuple[float, ...]]] = {way: [] for way in ways}
    for _ in range(bench.rounds):
        for way in ways:
            with grown_by(*way):
                runs[way].append(look_ups(bench.count))
    headings = ["growth", "first", "tightening", "first layer", "to 10x", "to 1,000x", "worst", "layers"]
    rows: list[list[Any]] = [[*headings, "ns: inside", "ns: others", ""]]
    for way in ways:
        with grown_by(*way):
            first, layers = sizes(1.0)[0], len(sizes(1_000.0))
            some, all_of_them = ([overhead(10 ** (step / 50)) for step in range(50 * most + 1)] for most in (1, 3))
        inside, others = (statistics.median(times) for times in zip(*runs[way], strict=True))
        chosen = "chosen" if way == (sizing.GROWTH, sizing.FIRST, sizing.TIGHTENING) else ""
        spans = [statistics.mean(some), statistics.mean(all_of_them), max(all_of_them)]
        rows.append([*way, first.m / right_size(first.capacity), *spans, layers, inside, others, chosen])
    title = (
        "Ways to grow, at 1 %. Bytes, compared with a filter that cannot grow and has the right size: of the first "
        "layer; on average from 1 to 10, and from 1 to 1,000 times the capacity; the largest. Then the layers and the "
        "nanoseconds for each item of a batch, at 1,000 times the capacity"
    )
    bench.report.add(Facts(title, rows))


def grown_by(factor: int, first: float, tightening: float) -> Any:
    return mock.patch.multiple(sizing, GROWTH=factor, FIRST=first, TIGHTENING=tightening)


def sizes(times: float, capacity: int = 10_000) -> list[sizing.Size]:
    """Return the layers of a filter that holds ``times`` its capacity."""
    config = sizing.Config(capacity, 0.01)
    layers = [config.first()]
    while sum(layer.capacity for layer in layers) < times * capacity:
        layers.append(config.after(layers[-1].capacity, len(layers)))
    return layers


def right_size(items: float) -> float:
    return -items * math.log(0.01) / math.log(2) ** 2


def overhead(times: float) -> float:
    return sum(layer.m for layer in sizes(times)) / right_size(times * 10_000)


def look_ups(count: int) -> tuple[float, ...]:
    """Return the nanoseconds for each item of a batch: for items in the filter, and for others."""
    capacity = max(1, count // 50)
    seen = BloomFilter(capacity, 0.01)
    seen.update(range(capacity * TIMES))
    batches = (list(range(start, start + count * STRANGERS)) for start in (0, OTHERS))
    return tuple(1e9 * processor_seconds(seen.contains_many, batch) / len(batch) for batch in batches)
