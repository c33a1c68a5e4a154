"""The header of a report: the machine, and the versions of everything that takes part."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from servers import Server

OURS = ("es-simhash", "elasticsearch", "opensearch-py", "numpy", "mmh3", "jieba", "rjieba", "rapidfuzz")
PEERS = ("datasketch", "gaoya", "pybloom-live", "pyprobables", "rbloom", "rensa", "simhash")


def header(server: Server | None) -> dict[str, Any]:
    """Return the lines of the header by their names."""
    return {
        "time": time.strftime("%Y-%m-%d %H:%M %z"),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}, {cores()} cores, {memory()}",
        "load at the start": " ".join(f"{each:.1f}" for each in os.getloadavg()),
        "Python": f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        "libraries": versions(OURS),
        "other libraries": versions(PEERS) or "none",
        "server": server.description() if server else "none",
    }


def versions(packages: tuple[str, ...]) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            if package == "es-simhash":  # it is imported from the repository
                import es_simhash

                found.append(f"es-simhash {es_simhash.__version__}")
    return ", ".join(found)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (ValueError, OSError):
        return "memory unknown"
