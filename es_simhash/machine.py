"""What this program asks of its machine: files that are for their owner only, and the free memory."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, SimhashError, StoreError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER_ONLY = 0o600
"""Permissions of the files that hold documents: their owner may read and write them, and nobody else."""


def file_path(path: object) -> str:
    """Return the path of a file that a caller names.

    :raises InputError: if it is no path, or has a character that no path has.
    """
    try:
        is_path = isinstance(path, str | os.PathLike) and b"\0" not in os.fsencode(path)
    except (TypeError, ValueError):  # of a lone surrogate
        is_path = False
    if not is_path:
        raise InputError(f"{shown(path)} is no path of a file: use a string or a Path")
    return str(path)


def open_for_owner(path: str, flags: int) -> int:
    """Open a file, as the ``opener`` of :func:`open`. If the file is created, only its owner can read it."""
    return os.open(path, flags, OWNER_ONLY)


@contextmanager
def writing(path: str, kind: type[SimhashError]) -> Iterator[None]:
    """Raise an OSError of the block, which writes a file, as an error of this library."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        advice = "name another file, in a folder that exists and has room"
        raise kind(f"cannot write {path} ({reason}): {advice}") from error


class LinesFile:
    """A file for its owner only, to which lines are appended.

    :param mode: as for :func:`open`: ``ab``, ``wb``, or ``xb`` for a new file.
    :raises InputError: if it cannot be opened.
    """

    def __init__(self, path: str, mode: str) -> None:
        self.path = file_path(path)
        with writing(path, InputError):
            # No buffer: a write that failed is not repeated when the file is closed.
            self.file = FileIO(path, mode, opener=open_for_owner)

    def write(self, lines: bytes) -> None:
        """Append lines.

        :raises StoreError: if not all of them can be written, for example because the disk is full.
        """
        left = memoryview(lines)
        with writing(self.path, StoreError):
            while left:
                left = left[self.file.write(left) :]

    def close(self) -> None:
        """Close the file."""
        with writing(self.path, StoreError):
            self.file.close()


def is_same_file(path: str, other: str) -> bool:
    """Return whether two paths name one regular file, which may not exist yet.

    :param other: a path, or ``-`` for standard input.
    """
    try:
        one, two = os.stat(path), os.fstat(0) if other == "-" else os.stat(other)
    except OSError:
        return other != "-" and os.path.realpath(path) == os.path.realpath(other)
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, two)


_CONTAINER = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the free memory in bytes: that of the machine, or that of its container if it is less."""
    from psutil import virtual_memory  # imported late: who holds nothing in memory starts faster

    free = int(virtual_memory().available)
    with suppress(OSError, KeyError, ValueError):  # without a limit the file holds "max"
        limit = int((_CONTAINER / "memory.max").read_text())
        used = dict(map(str.split, (_CONTAINER / "memory.stat").read_text().splitlines()))
        free = min(free, limit - int(used["anon"]))  # the rest is cache, which makes room
    return free
