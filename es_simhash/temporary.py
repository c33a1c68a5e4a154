"""A database for what is too large for memory. The system removes its file, however the program ends."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator


def temporary_database() -> sqlite3.Connection:
    """Open an empty database in a temporary file. It is not protected against a crash, because nobody reads it later.

    Any thread may use it, one at a time: an async program may use a thread for each part of a stream.
    """
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    return db


@contextmanager
def temporary_file(what: str) -> Iterator[None]:
    """Raise StoreError in place of an error of SQLite, with what to do.

    :param what: what the file holds, for the message.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot write the temporary file of {what} in {_folder()} ({error}): make room there, or name "
            "another folder in the variable TMPDIR"
        ) from error


def _folder() -> str:
    """Return the folder where SQLite puts temporary files. Its order of preference is not that of Python."""
    if os.name != "posix":
        return tempfile.gettempdir()
    named = [os.environ[name] for name in ("SQLITE_TMPDIR", "TMPDIR") if name in os.environ]
    folders = [*named, "/var/tmp", "/usr/tmp", "/tmp", "."]
    return next((each for each in folders if os.path.isdir(each) and os.access(each, os.W_OK | os.X_OK)), ".")
