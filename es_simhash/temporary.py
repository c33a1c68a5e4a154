"""What is too large for memory, in files without a name. The system removes them, however the program ends."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from es_simhash.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

IN_MEMORY = 64 << 20
"""Bytes of an array, or of texts, that are held in memory. What is larger is in a file."""


def temporary_database() -> sqlite3.Connection:
    """Open an empty database in a temporary file. It is not protected against a crash, because nobody reads it later.

    Any thread may use it, one at a time: an async program may use a thread for each part of a stream.
    """
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    return db


def large_array(size: int, dtype: DTypeLike, in_memory: int = IN_MEMORY) -> NDArray[Any]:
    """Return an array with any values. A large one is in a file, so the system can take its memory for others.

    :param in_memory: the most bytes of an array in memory.
    :raises StoreError: if there is no room for the file.
    """
    dtype = np.dtype(dtype)
    if size * dtype.itemsize <= in_memory:
        return np.empty(size, dtype)
    with temporary_file("keys", OSError), tempfile.TemporaryFile() as file:
        if hasattr(os, "posix_fallocate"):  # without it, a full disk would end the program by a signal
            os.posix_fallocate(file.fileno(), 0, size * dtype.itemsize)
        return np.memmap(file, dtype, "r+" if hasattr(os, "posix_fallocate") else "w+", shape=(size,))


def temporary_bytes() -> IO[bytes]:
    """Open an empty file, which is in memory as long as it is small."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


@contextmanager
def temporary_file(what: str, errors: type[Exception] = sqlite3.Error) -> Iterator[None]:
    """Raise StoreError in place of an error of SQLite, with what to do.

    :param what: what the file holds, for the message.
    :param errors: raised by what writes the file: OSError, if that is not SQLite.
    """
    try:
        yield
    except errors as error:
        folder = _folder() if errors is sqlite3.Error else tempfile.gettempdir()
        raise StoreError(
            f"cannot write the temporary file of {what} in {folder} ({error}): make room there, or name "
            "another folder in the variable TMPDIR"
        ) from error


def _folder() -> str:
    """Return the folder where SQLite puts temporary files. Its order of preference is not that of Python."""
    if os.name != "posix":
        return tempfile.gettempdir()
    named = [os.environ[name] for name in ("SQLITE_TMPDIR", "TMPDIR") if name in os.environ]
    folders = [*named, "/var/tmp", "/usr/tmp", "/tmp", "."]
    return next((each for each in folders if os.path.isdir(each) and os.access(each, os.W_OK | os.X_OK)), ".")
