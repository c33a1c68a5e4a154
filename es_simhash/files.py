"""Files on disk: made for their owner only, and told apart."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

OWNER_ONLY = 0o600
"""Permissions of the files that hold documents: their owner may read and write them, and nobody else."""


def create_for_owner(path: str) -> None:
    """Create an empty file that only its owner can read, unless the file exists.

    Errors are left to the program that opens the file. SQLite gives the files that it puts beside a database (``-wal``,
    ``-shm``) the permissions of the database.
    """
    if not os.path.exists(path):
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, OWNER_ONLY))


def open_for_owner(path: str, flags: int) -> int:
    """Open a file, as the ``opener`` of :func:`open`. If the file is created, only its owner can read it."""
    return os.open(path, flags, OWNER_ONLY)


def is_same_file(path: str, other: str) -> bool:
    """Return whether two paths name one regular file, which may not exist yet.

    :param other: a path, or ``-`` for standard input.
    """
    try:
        one, two = os.stat(path), os.fstat(0) if other == "-" else os.stat(other)
    except OSError:
        return other != "-" and os.path.realpath(path) == os.path.realpath(other)
    return stat.S_ISREG(one.st_mode) and os.path.samestat(one, two)
