"""Our Bloom filter beside other libraries: time, bytes, false positives."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import interleaved
from es_simhash import BloomFilter
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
"""Seconds to fill a filter beyond its capacity."""
KINDS = ("strings", "integers")
OTHERS = 10**9
"""The first number of the items that are not in a filter."""


@dataclass
class Contender:
    """A library: how to make a filter, and how to do with it what is measured, with a batch of items.

    :param make: a filter that need not grow, from a capacity and an error rate.
    :param make_growing: a filter that grows, if the library has one.
    """

    make: Callable[[int, float], Any]
    make_growing: Callable[[int, float], Any]
    add: Callable[[Any, list[Any]], object]
    look_up: Callable[[Any, list[Any]], Any]
    bytes_of: Callable[[Any], int]


def contenders(bench: Bench) -> dict[str, Contender]:
    """Return the libraries that are installed. rbloom gets MurmurHash3, a hash that can be saved, as the others do."""
    libraries = {
        "es_simhash": Contender(
            BloomFilter, BloomFilter, BloomFilter.update, BloomFilter.contains_many, lambda seen: len(seen.to_bytes())
        )
    }
    if rbloom := bench.peer("rbloom"):
        from mmh3 import hash128

        def make(capacity: int, rate: float) -> Any:  # it does not grow
            return rbloom.Bloom(capacity, rate, lambda item: hash128(str(item), 7, True, True))

        libraries["rbloom"] = Contender(
            make,
            make,
            lambda seen, items: seen.update(items),
            lambda seen, items: [item in seen for item in items],
            lambda seen: len(seen.save_bytes()),
        )
    if pybloom := bench.peer("pybloom_live", "pybloom-live"):
        libraries["pybloom-live"] = Contender(
            pybloom.BloomFilter,
            pybloom.ScalableBloomFilter,
            lambda seen, items: [seen.add(item) for item in items],
            lambda seen, items: [item in seen for item in items],
            pybloom_bytes,
        )
    if probables := bench.peer("probables", "pyprobables"):  # it hashes text only
        libraries["pyprobables"] = Contender(
            lambda capacity, rate: probables.BloomFilter(est_elements=capacity, false_positive_rate=rate),
            lambda capacity, rate: probables.ExpandingBloomFilter(est_elements=capacity, false_positive_rate=rate),
            lambda seen, items: [seen.add(str(item)) for item in items],
            lambda seen, items: [seen.check(str(item)) for item in items],
            lambda seen: len(bytes(seen)),
        )
    return libraries


def pybloom_bytes(seen: Any) -> int:
    file = io.BytesIO()
    seen.tofile(file)
    return len(file.getvalue())


def items_of(kind: str, numbers: Iterable[int]) -> list[Any]:
    return list(numbers) if kind == "integers" else [f"item {number}" for number in numbers]


# --- times and bytes ------------------------------------------------------------------------------------------------


def speed(bench: Bench) -> None:
    """Time each library with batches, in its fastest way."""
    libraries = contenders(bench)
    times: dict[str, Values] = {}
    for kind in KINDS:
        inside, others = (items_of(kind, range(start, start + bench.count)) for start in (10**6, 10**7))
        full = {name: library.make(len(inside), 0.01) for name, library in libraries.items()}
        for name, library in libraries.items():
            library.add(full[name], inside)
        adds = {
            name: lambda library=library, items=inside: nanoseconds(library.add, library.make(len(items), 0.01), items)
            for name, library in libraries.items()
        }
        times[f"{kind}: add"] = interleaved(adds, bench.rounds)
        for task, items in (("look up items in the filter", inside), ("look up others", others)):
            look_ups = {
                name: lambda library=library, seen=full[name], items=items: nanoseconds(library.look_up, seen, items)
                for name, library in libraries.items()
            }
            times[f"{kind}: {task}"] = interleaved(look_ups, bench.rounds)
    bench.report.add(Matrix(f"{bench.count:,} items, error rate 1 %: processor time", "ns an item", times))
    sizes = [library.bytes_of(library.make(bench.count, 0.01)) for library in libraries.values()]
    bench.report.add(Facts("Bytes of such a filter", [["", *libraries], ["bytes", *sizes]]))
    if "pybloom-live" in libraries:
        for task in ("add", "look up items in the filter", "look up others"):
            values = times[f"integers: {task}"]
            faster = ratio(values["pybloom-live"], values["es_simhash"])
            bench.report.aim(f"Bloom filter, integers in bulk, {task}: × pybloom-live", faster, at_least=8)


def nanoseconds(task: Callable[[Any, list[Any]], object], seen: Any, items: list[Any]) -> float:
    """Return the processor time for an item. Other programs on the machine have little effect on it."""
    began = time.thread_time()
    task(seen, items)
    return 1e9 * (time.thread_time() - began) / len(items)


# --- errors ---------------------------------------------------------------------------------------------------------


def errors(bench: Bench) -> None:
    """Count false positives at the capacity, and at a thousand times the capacity."""
    libraries = contenders(bench)
    capacity = max(10, bench.count // 100)
    at_capacity, beyond = [["", *libraries]], [["", *libraries]]
    for rate in RATES:
        for kind in KINDS:
            name = f"{kind}, error_rate {rate:.1%}"
            at_capacity.append([name, *(at_its_capacity(each, rate, bench.count, kind) for each in libraries.values())])
            beyond.append([name, *(far_beyond(each, rate, capacity, kind) for each in libraries.values())])
    title = f"False positives among {bench.count * STRANGERS:,} others, at the capacity of {bench.count:,} items"
    bench.report.add(Facts(title, at_capacity))
    title = (
        f"The same at {TIMES:,} times the capacity of {capacity:,} items, with filters that grow if there are any. If "
        f"{PATIENCE} seconds are not enough, the multiple of the capacity that was reached is shown"
    )
    bench.report.add(Facts(title, beyond))


def at_its_capacity(library: Contender, rate: float, capacity: int, kind: str) -> str:
    seen = library.make(capacity, rate)
    library.add(seen, items_of(kind, range(capacity)))
    return f"{false_positives(library, seen, kind, capacity * STRANGERS):.3%}"


def far_beyond(library: Contender, rate: float, capacity: int, kind: str) -> str:
    seen = library.make_growing(capacity, rate)
    began, added = time.perf_counter(), 0
    while added < TIMES * capacity and time.perf_counter() - began < PATIENCE:
        library.add(seen, items_of(kind, range(added, added + capacity)))
        added += capacity
    return f"{false_positives(library, seen, kind, 2_000):.2%} at {added // capacity:,} times"


def false_positives(library: Contender, seen: Any, kind: str, others: int) -> float:
    return float(np.mean(library.look_up(seen, items_of(kind, range(OTHERS, OTHERS + others)))))
