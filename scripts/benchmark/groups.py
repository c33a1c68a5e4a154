"""The verb group on a whole store: its time, its peak of memory, beside an export of the same documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench import fingerprints_near, in_own_process, peak_megabytes, seconds_of
from embedded import fill
from es_simhash import Documents
from report import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench import Bench

BYTES = 1_000
LIMIT_SECONDS, LIMIT_MEGABYTES, LIMIT_BYTES = 600, 4_096, 300
TASKS = ("group", "group again", "export")


def groups(bench: Bench) -> None:
    """Group random fingerprints; one in ten is near another one. Each task has a process of its own."""
    if not bench.store:
        address = f"sqlite:///{bench.folder}/groups.db"
        fill(Documents(address).store, list(values_of(bench)))
        measure(bench, address, "SQLite")
        return
    bench.room(bench.count, BYTES)
    with bench.index("groups") as index:
        address = f"{bench.store}/{index}"
        fill(Documents(address, request_timeout=600).store, list(values_of(bench)))
        measure(bench, address, bench.where)


def measure(bench: Bench, address: str, where: str) -> None:
    seconds: dict[str, list[float]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for name in TASKS:  # the first one writes the links, the second one finds nothing to write
        taken, facts[name] = in_own_process(task, name, address)
        facts[name]["bytes a document"] = facts[name]["more than at the start, MB"] * 2**20 / bench.count
        seconds[name] = [taken]
    bench.report.add(
        Table(f"{where}: {bench.count:,} documents, one in ten near another", "s", seconds, "export", facts)
    )
    if bench.count >= 1_000_000:
        bench.report.aim("group, bytes a document", facts["group"]["bytes a document"], at_most=LIMIT_BYTES)
    if bench.count >= 10_000_000:
        bench.report.aim("group, seconds", seconds["group"][0], at_most=LIMIT_SECONDS)
        bench.report.aim("group, peak MB", float(facts["group"]["peak MB"]), at_most=LIMIT_MEGABYTES)


def task(name: str, address: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds of one task, and its facts."""
    facts: dict[str, Any] = {"peak MB": 0.0, "groups": "", "written": ""}
    with Documents(address) as documents:
        documents.setup(keys=False)
        before = peak_megabytes()

        def run() -> None:
            if name == "export":
                for _ in documents.export():
                    pass
                return
            report = documents.group(rule="fingerprint")
            facts.update(groups=report.groups, written=report.changed)

        seconds = seconds_of(run)
    facts["peak MB"] = peak_megabytes()
    facts["more than at the start, MB"] = peak_megabytes() - before
    return seconds, facts


def values_of(bench: Bench) -> Iterator[int]:
    value = 0
    for number in range(bench.count):
        value = fingerprints_near(value, [2], bench.rng)[0] if number % 10 == 9 else bench.rng.getrandbits(64)
        yield value
