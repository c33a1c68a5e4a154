"""How much memory this program can still take."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_CONTAINER = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the free memory in bytes: that of the machine, or that of its container if it is less.

    :returns: None if it is not known. Only Linux has it in files.
    """
    found: list[int] = []
    with suppress(OSError, KeyError, ValueError):
        found.append(1024 * _numbers(Path("/proc/meminfo"))["MemAvailable:"])
    with suppress(OSError, KeyError, ValueError):  # without a limit the file holds "max"
        limit = int((_CONTAINER / "memory.max").read_text())
        found.append(limit - _numbers(_CONTAINER / "memory.stat")["anon"])  # the rest is cache, which makes room
    return min(found, default=None)


def _numbers(path: Path) -> dict[str, int]:
    """Return the numbers of a file with a name and a number in each line."""
    return {name: int(number) for name, number, *_ in map(str.split, path.read_text().splitlines())}
