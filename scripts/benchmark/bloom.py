"""Our Bloom filter beside other libraries: time, and false positives, also far beyond the capacity."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bench import by_turns, microseconds, ratio, shown
from es_simhash import BloomFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench import Bench

RATE, BEYOND = 0.01, 20
"""The error rate, and how many times its capacity a filter gets."""
OURS = "es_simhash"


class Contender(NamedTuple):
    """A library: how to make a filter of a capacity and an error rate, and its use with a batch of items."""

    make: Callable[[int, float], Any]
    add: Callable[[Any, Sequence[Any]], object]
    look_up: Callable[[Any, Sequence[Any]], Any]


def contenders(bench: Bench) -> dict[str, Contender]:
    """Return the libraries that are installed. rbloom gets MurmurHash3, a hash that can be saved, as the others do."""
    libraries = {OURS: Contender(BloomFilter, BloomFilter.update, BloomFilter.contains_many)}

    def look_up_each(seen: Any, items: Sequence[Any]) -> object:
        return [item in seen for item in items]

    if rbloom := bench.peer("rbloom"):  # it does not grow
        from mmh3 import hash128

        libraries["rbloom"] = Contender(
            lambda capacity, rate: rbloom.Bloom(capacity, rate, lambda item: hash128(str(item), 7, True, True)),
            lambda seen, items: seen.update(items),
            look_up_each,
        )
    if pybloom := bench.peer("pybloom_live", "pybloom-live"):
        libraries["pybloom-live"] = Contender(
            pybloom.ScalableBloomFilter, lambda seen, items: [seen.add(item) for item in items], look_up_each
        )
    return libraries


def bloom(bench: Bench) -> None:
    """Add items, look them up, in batches; and count false positives."""
    libraries, count = contenders(bench), bench.count
    rows: dict[str, dict[str, object]] = {name: {} for name in libraries}
    strings = [f"item {number}" for number in range(count)]
    kinds: dict[str, Sequence[Any]] = {"strings": strings, "integers": range(count)}
    for kind, items in kinds.items():
        full = {name: filled(library, count, items) for name, library in libraries.items()}
        adds = {name: partial(adding, library, items) for name, library in libraries.items()}
        look_ups = {name: partial(looking_up, library, full[name], items) for name, library in libraries.items()}
        for what, tasks in (("add", adds), ("look up", look_ups)):
            values = by_turns(tasks, bench.rounds)
            for name, spent in values.items():
                cell = f"{shown([1000 * each for each in spent])} ({shown(ratio(spent, values[OURS]))})"
                rows[name][f"{what} {kind}"] = cell
            if kind == "integers" and "pybloom-live" in values:
                faster = ratio(values["pybloom-live"], values[OURS])
                bench.page.aim(f"Bloom filter, {what} integers, × the rate of pybloom-live", faster, at_least=8)
    others = [f"other {number}" for number in range(10_000)]
    for name, library in libraries.items():
        for title, capacity in (("wrong at its capacity", count), (f"at {BEYOND} times", count // BEYOND)):
            wrong = sum(library.look_up(filled(library, capacity, strings), others)) / len(others)
            rows[name][title] = f"{wrong:.2%}"
    title = f"{count:,} items, error rate {RATE:.0%}: ns of the processor for an item (× {OURS}), and false positives"
    bench.page.table(title, rows)


def filled(library: Contender, capacity: int, items: Sequence[Any]) -> Any:
    seen = library.make(capacity, RATE)
    for start in range(0, len(items), capacity):
        library.add(seen, items[start : start + capacity])
    return seen


def adding(library: Contender, items: Sequence[Any], number: int) -> float:
    return microseconds(partial(library.add, library.make(len(items), RATE)), items, len(items))


def looking_up(library: Contender, seen: Any, items: Sequence[Any], number: int) -> float:
    return microseconds(partial(library.look_up, seen), items, len(items))
