"""The SQLite file: its connections, its transactions, its errors."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from es_simhash.errors import SimhashError, StoreError, StoreUnavailable, one_line
from es_simhash.retries import end_after, held
from es_simhash.store.description import moved, not_set_up
from es_simhash.store.sqlite.schema import APPLICATION, add_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    Identity = tuple[int, int]
    """The device and the inode of a file."""
    State = tuple[int, int, int]
    """The same, and the number of the schema, which SQLite raises if a backup is restored into the file."""

_FOREIGN = f"SELECT 1 FROM sqlite_master, pragma_application_id WHERE application_id <> {APPLICATION}"
CACHE_KIB = 8_192
"""KiB of the file that a connection keeps in memory. With 64 MB a search takes as long: the system keeps the rest."""
LOG_PAGES = 16_000
"""SQLite copies the write-ahead log into the file once it has so many pages (64 MB). A batch changes thousands,
and the next batch changes many of the same pages."""
_LONGEST = 1_000_000.0
"""Seconds that SQLite waits at most."""


class Database:
    """One connection, which all threads of the program use, one at a time.

    Nothing but the connection is remembered of the file. If another file is at the path, that one is opened.

    :param path: path of the file. It is opened at the first use.
    :param busy: seconds for which a write waits for the write of another process.
    """

    def __init__(self, path: str, busy: float) -> None:
        self.path, self.name = path, f"sqlite:///{path}"
        self._busy = busy
        self._connection: sqlite3.Connection | None = None
        self._opened: Identity | None = None
        self.described: State | None = None
        """The file that was described. Another one raises."""
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self, *, write: bool, anew: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction. Other threads wait until the block ends.

        If the block raises, nothing is changed. Without ``write`` it sees one state of the file.

        :param anew: any file may be at the path.
        :raises StoreChanged: if it is another file than the one that was described.
        :raises NotSetUp: if there is no file.
        :raises StoreUnavailable: if other threads or processes write until the running call ends.
        :raises StoreError: for every error of SQLite.
        """
        end = end_after(self._busy)
        with held(self._lock, f"were writing to {self.name}", self._busy or inf), self._errors():
            connection = self._current()
            left = min(max(0.0, end - time.monotonic()), _LONGEST)
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * left)}")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            with connection:
                if not anew:
                    self._check_same(connection)
                yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection of its own that sees one state of the file. Others write meanwhile."""
        with self._errors(), closing(self._connect()) as connection:
            connection.execute("BEGIN")
            self._check_same(connection)
            yield connection

    def state(self, connection: sqlite3.Connection) -> State:
        """Return what tells the open file from another one, and from the same one before a backup was restored."""
        device, inode = identity(self.path) or (0, 0)
        return device, inode, connection.execute("PRAGMA schema_version").fetchone()[0]

    def _check_same(self, connection: sqlite3.Connection) -> None:
        if self.described not in (None, self.state(connection)):
            raise moved(self.name)

    def close(self) -> None:
        """Close the file. A second call does nothing. The next use opens the file again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _current(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: an open file may have been deleted or replaced."""
        if self._connection is not None and identity(self.path) != self._opened:
            self.close()
        if self._connection is None:
            self._connection = self._connect()
            self._opened = identity(self.path)
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if not Path(self.path).exists():
            raise not_set_up(self.name, "there is no such file")
        # SQLite opens a file with a write-ahead log only if it can make files beside it. In a folder that this program
        # may not write, a file that no other program writes is opened as one that never changes: then it can be read.
        immutable = not os.access(Path(self.path).parent, os.W_OK) and not os.path.exists(f"{self.path}-wal")
        address = f"file:{quote(self.path)}{'?immutable=1' if immutable else ''}"
        connection = sqlite3.connect(
            address, timeout=min(self._busy, _LONGEST), isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            if connection.execute(_FOREIGN).fetchone():
                raise StoreError(f"{self.name} is the database of another program: name another file")
            if not immutable:
                # Readers do not wait then while a batch is written. It fails while another process does the same.
                with suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            add_functions(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise a StoreError in place of an error of SQLite."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # a message of SQLite may quote damaged bytes
            reason = one_line(error)
            if "locked" in reason or "busy" in reason:
                raise StoreUnavailable(
                    f"{self.name}: another process has been writing to it (deadline {self._busy:g} s): try again "
                    "later, or wait longer (deadline)"
                ) from error
            if "no such table" in reason:
                raise not_set_up(self.name, "the file is empty") from error
            raise StoreError(
                f"{self.name} can't be read or written ({reason}): check the path, its permissions and the disk; if "
                "the file is damaged, restore it from a copy"
            ) from error
        except SimhashError:
            raise
        except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            raise StoreError(
                f"{self.name} holds what es_simhash did not write ({one_line(error)}): restore the file from a copy"
            ) from error


def identity(path: str) -> Identity | None:
    """Return what tells a file from another one at its path; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
