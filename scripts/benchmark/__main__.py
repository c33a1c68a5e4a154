"""Measure es_simhash beside other libraries, and beside other searches of the same server: one command.

    python scripts/benchmark --size tiny                                      every part that needs no server
    python scripts/benchmark --part bloom --part fingerprints                 some parts
    python scripts/benchmark --store http://localhost:9200 --size full --json full.json > full.md
    python scripts/benchmark --part ingest --count 10000000 --store http://localhost:9200
    python scripts/benchmark --part search --store opensearch+http://localhost:9201

The other libraries are in the dependency group `bench`. Install them into an environment of their own:

    python3 -m venv bench-env && bench-env/bin/pip install --upgrade pip
    bench-env/bin/pip install '.[async,opensearch]' --group bench

A library that is not installed, or cannot be loaded, is named and left out. In each round the contenders take turns, so
a busy machine slows all of them. Tables begin with the ratios: these should hold on other machines. Then come the
median of the rounds, the smallest and the largest value. At the end, aims are compared with their figures.

Indices on the server have names that begin with es-simhash-benchmark. They are deleted before and after. Before a load
it is checked whether the server has room.

parts, with the documents (or texts, or items) of each size:
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bench import Bench
from header import cores, header
from report import Report
from servers import Server, TooSmall

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ("tiny", "small", "full")
ROUNDS = {"tiny": 1, "small": 3, "full": 5}


@dataclass(frozen=True)
class Part:
    """A part of the benchmark.

    :param function: its module and name; a module is imported when its part runs.
    :param counts: the documents of each size.
    :param server: it needs a server.
    :param once: it has one round, unless --rounds says otherwise.
    """

    what: str
    function: str
    counts: tuple[int, int, int]
    server: bool = False
    once: bool = False

    def run(self, bench: Bench) -> None:
        module, name = self.function.split(":")
        function: Callable[[Bench], None] = getattr(import_module(module), name)
        function(bench)


PARTS = {
    "fingerprints": Part("text to fingerprint", "fingerprints:fingerprints", (20, 200, 1_000)),
    "dedupe": Part("dedupe beside others, in processor time", "dedupe:dedupe", (50, 2_000, 20_000)),
    "rules": Part("ingest by each rule, in processor time", "rules:rules", (200, 2_000, 20_000)),
    "bloom": Part("Bloom filters: times", "bloom:speed", (1_000, 10_000, 10_000)),
    "bloom-errors": Part("Bloom filters: false positives", "bloom:errors", (500, 10_000, 10_000), once=True),
    "search": Part("search in a server", "search:search", (2_000, 100_000, 1_000_000), server=True),
    "ingest": Part("ingest beside parallel_bulk", "ingest:ingest", (1_000, 20_000, 1_000_000), server=True, once=True),
    "add": Part("single calls: add, similar, unseen", "add:add", (500, 20_000, 20_000), server=True),
}


def main() -> None:
    arguments = parsed()
    server = Server(arguments.store.rstrip("/")) if arguments.store else None
    report = Report(header(server), arguments.json)
    too_small = False
    for name in arguments.part or PARTS:
        part = PARTS[name]
        if part.server and server is None:
            report.left_out(f"the part {name}", "it needs a server: --store http://localhost:9200")
            continue
        report.heading(name, part.what)
        count = arguments.count or part.counts[SIZES.index(arguments.size)]
        rounds = arguments.rounds or (1 if part.once else ROUNDS[arguments.size])
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(count, rounds, Path(folder), report, server)
            bench.texts, bench.seed, bench.workers = arguments.texts, arguments.seed, arguments.workers
            try:
                part.run(bench)
            except TooSmall as error:
                report.left_out(f"the part {name}", str(error))
                too_small = True
    report.end()
    sys.exit("the server is too small for some parts: see above" if too_small else 0)


def parsed() -> argparse.Namespace:
    lines = [
        f"  {name:<14}{part.what:<42}{', '.join(f'{count:,}' for count in part.counts)}"
        f"{' (needs --store)' if part.server else ''}"
        for name, part in PARTS.items()
    ]
    parser = argparse.ArgumentParser(
        prog="python scripts/benchmark",
        description=__doc__ + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="run this part; may be repeated; default: all")
    parser.add_argument("--size", choices=SIZES, default="small", help="default: %(default)s")
    parser.add_argument("--count", type=positive, metavar="N", help="documents, in place of those of --size")
    parser.add_argument("--rounds", type=positive, metavar="N", help="default: 1, 3 or 5, by --size")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="address of an Elasticsearch, or opensearch+http://… of an OpenSearch, without an index",
    )
    parser.add_argument(
        "--texts", type=Path, metavar="FILE", help="texts of the parts fingerprints, dedupe, rules and add"
    )
    parser.add_argument("--workers", type=int, default=cores(), help="processes of an ingest; default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured to this file")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def positive(value: str) -> int:
    number = int(value.replace(",", ""))
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


if __name__ == "__main__":
    main()
