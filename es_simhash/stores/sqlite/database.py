"""The SQLite file: its connection, its transactions, its errors in our words."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, NotSetUp, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BUSY_SECONDS = 60
"""How long a write waits for another process's."""
_PAUSE = 0.01
"""Seconds between two attempts, where SQLite does not wait by itself."""

APPLICATION = 0x53696D68
"""The file's application id, "Simh": SQLite's own way to tell one program's files from another's."""


_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


class Database:
    """One connection for all threads of the program, used by one at a time.

    :param path: of the file; ``:memory:`` for none. It is opened when first needed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"sqlite:///{path}"
        self.bits: int | None = None
        """Length of the fingerprints in the file, once that is known."""
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    @property
    def exists(self) -> bool:
        """There is something to be opened."""
        return self.path == ":memory:" or Path(self.path).exists()

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone.

        :raises StoreError: for whatever SQLite raises.
        """
        with self._lock, self._errors():
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """:meth:`use`, with all or nothing of it done, on one state of the file."""
        with self.use() as connection, _transaction(connection, write=write):
            yield connection

    def close(self) -> None:
        """Close the file; closing twice is fine, and it is opened again when needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> sqlite3.Connection:
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {str(folder)!r} for the store {self.name}: make it first")
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            with _transaction(connection, write=False):  # ours may be read-only
                ours = self._is_ours(connection)
            if not ours:
                with _transaction(connection):
                    if not self._is_ours(connection):  # nobody else was faster
                        connection.execute(f"PRAGMA application_id = {APPLICATION}")
            _write_ahead(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """The file is ours already; else it is empty. In a transaction: another process may be making it."""
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
            return True
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(f"{self.name} is the database of another program: name another file")
        return False

    def meta(self) -> dict[str, str]:
        """What the file says of itself; empty before anything was set up."""
        if not self.exists:
            return {}
        with self.use() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                return {}
            return dict(connection.execute("SELECT key, value FROM meta"))

    def make(self, statements: Sequence[str], meta: Mapping[str, str]) -> str:
        """Make tables that are missing and say in ``meta`` what they are.

        :returns: ``created`` (the file was empty), ``added`` (these tables were missing) or ``unchanged``.
        """
        with self.transaction() as connection:
            before = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            for statement in (_META, *statements):
                connection.execute(statement)
            connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", meta.items())
            after = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return "created" if not before else "added" if after > before else "unchanged"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            what = str(error)
            if "locked" in what or "busy" in what:
                problem = f"another process has been writing to it for {BUSY_SECONDS} s: try again later"
                raise StoreUnavailable(f"{self.name}: {problem}") from error
            if "no such table" in what:
                raise NotSetUp(f"{self.name} is not set up: run `es-simhash init --store {self.name}`") from error
            if "not a database" in what or "malformed" in what:
                raise StoreError(
                    f"{self.name}: the file is not an SQLite database, or is damaged: name another one"
                ) from error
            if "readonly" in what or "unable to open" in what:
                raise StoreError(
                    f"{self.name} can't be written or opened: check the path and its permissions"
                ) from error
            if "full" in what:
                raise StoreError(f"{self.name}: the disk is full: make room and try again") from error
            raise StoreError(f"{self.name}: {what}") from error


@contextmanager
def _transaction(connection: sqlite3.Connection, *, write: bool = True) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers go on while a batch is written.

    For the change of journal SQLite asks for a lock once, without waiting: so it is asked again.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE)
        else:
            return
