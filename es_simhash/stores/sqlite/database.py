"""The SQLite file: its connection, its transactions, its errors."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from es_simhash.errors import InputError, StoreError, StoreUnavailable, not_set_up, one_line
from es_simhash.files import create_for_owner
from es_simhash.search.times import stored_time
from es_simhash.stores.sqlite.filters import add_function
from es_simhash.stores.sqlite.keys import PAGE, StoredKeys
from es_simhash.stores.sqlite.known import KnownFingerprints
from es_simhash.stores.sqlite.segments import StoredSegments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.contract import Place

BUSY_SECONDS = 60
"""Seconds for which a write waits for the write of another process."""
CACHE_KIB = 65_536
"""KiB of the file that a connection may keep in memory. An id, a digest and a fingerprint are each on another page."""
LOG_PAGES = 16_000
"""Pages of the write-ahead log (64 MB) from which on they are copied into the file. A batch changes thousands of pages,
and the next batch changes many of them again. With the 1,000 pages of SQLite's default each batch is copied at once: an
ingest of 300,000 documents took a quarter longer, and wrote 1.4 times as much."""
_RETRY_SECONDS = 0.01
"""Seconds between two attempts of a statement for which SQLite itself does not wait."""

APPLICATION = 0x53696D68
"""The application id in the file, "Simh". By this id, SQLite files of different programs are told apart."""

_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"


class SourceNotJson(StoreError):
    """A stored document is not JSON."""


class Database:
    """One connection, which all threads of the program use, one at a time.

    :param path: path of the file; ``:memory:`` for a database in memory. The file is opened at the first use.
    :param busy: seconds for which a write waits for the write of another process.
    :param key_page: entries in a page of keys that is written.
    """

    def __init__(self, path: str, busy: float = BUSY_SECONDS, key_page: int = PAGE) -> None:
        self.path = path
        self._key_page = key_page
        self._busy = busy
        self.name = f"sqlite:///{path}"
        self.bits: int | None = None
        """Fingerprint width of the file; None until it was read. It never changes."""
        self.trusted = True
        """Every stored document that was read is JSON. Filters are faster then."""
        self.clock_checked = False
        """The time of the newest document was compared with the clock of this machine."""
        self.keys = StoredKeys(self.name, key_page)
        self.segments = StoredSegments(self.name)
        self.known_fingerprints = KnownFingerprints()
        self._connection: sqlite3.Connection | None = None
        self._opened: Place = frozenset()
        """What was at the path when the connection was opened."""
        self._lock = threading.RLock()

    @property
    def exists(self) -> bool:
        """True if the file exists, or if the database is in memory."""
        return self.path == ":memory:" or Path(self.path).exists()

    def identify(self) -> Place:
        """Return the path, with what tells the file from another one at this path. Empty if there is none.

        If the open file is no longer at the path, it is closed: what is written to it would be lost.
        """
        place = _file_at(self.path)
        with self._lock:
            if self._connection is not None and place != self._opened:
                self.close()
        return place

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection. Other threads wait until the block ends.

        :raises StoreError: for every error of SQLite.
        """
        with self._lock, self._errors():
            if self._connection is None:
                self._connection = self._connect()
                self._opened = _file_at(self.path)
            yield self._connection

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction. If the block raises, nothing is changed.

        :param write: False for a transaction that only reads. It sees one state of the file.
        """
        with self.use() as connection:
            try:
                with _transaction(connection, write=write):
                    yield connection
            except BaseException:
                if write:  # the levels that it made are gone
                    self.keys.forget()
                    self.segments.forget()
                raise

    def close(self) -> None:
        """Close the file. A second call does nothing. The next use opens the file again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
                self.keys = StoredKeys(self.name, self._key_page)
                self.segments = StoredSegments(self.name)
                self.known_fingerprints = KnownFingerprints()

    def _connect(self) -> sqlite3.Connection:
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {str(folder)!r} for the store {self.name}: make it first")
        immutable = self.path != ":memory:" and _cannot_change(self.path)
        if immutable:
            file = f"file:{quote(self.path)}?immutable=1"
            connection = sqlite3.connect(file, uri=True, isolation_level=None, check_same_thread=False)
        else:
            if self.path != ":memory:":
                create_for_owner(self.path)
            file = "" if self.path == ":memory:" else self.path
            connection = sqlite3.connect(file, timeout=self._busy, isolation_level=None, check_same_thread=False)
        try:
            with _transaction(connection, write=False):  # a file of ours may be read-only
                ours = self._is_ours(connection)
            if not immutable:
                if not ours:
                    with _transaction(connection):
                        if not self._is_ours(connection):  # another process may have been faster
                            connection.execute(f"PRAGMA application_id = {APPLICATION}")
                _use_write_ahead_log(connection, self._busy)
            connection.create_function("time_of", 2, stored_time, deterministic=True)
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            add_function(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Return True if the file has our application id, False if the file is empty.

        Call it in a transaction, because another process may be making the file.

        :raises StoreError: if the file is the database of another program.
        """
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
            return True
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(f"{self.name} is the database of another program: name another file")
        return False

    def meta(self) -> dict[str, str]:
        """Return the table ``meta``; an empty dict if nothing was set up."""
        if not self.exists:
            return {}
        with self.use() as connection:
            return read_meta(connection)

    def make(self, statements: Sequence[str], meta: Callable[[Mapping[str, str]], Mapping[str, str]]) -> str:
        """Make missing tables, and describe them in the table ``meta``, in one transaction.

        :param statements: they make the tables and indexes that are missing.
        :param meta: is called with the table ``meta`` before anything is changed, and returns keys and values for it.
            Keys that the table already has keep their values. If it raises, nothing is changed.
        :returns: ``created`` (the file was empty), ``added`` (tables were missing) or ``unchanged``.
        """
        with self.transaction() as connection:
            ours = meta(read_meta(connection))
            before = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            for statement in (_META, *statements):
                connection.execute(statement)
            connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", ours.items())
            after = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return "created" if not before else "added" if after > before else "unchanged"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise a StoreError in place of an error of SQLite."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a message of SQLite may quote damaged bytes
            raise self._store_error(one_line(error)) from error

    def _store_error(self, reason: str) -> StoreError:
        if "locked" in reason or "busy" in reason:
            return StoreUnavailable(
                f"{self.name}: another process has been writing to it for {self._busy} s: try again later"
            )
        if "no such table" in reason:
            return not_set_up(self.name)
        if "malformed JSON" in reason:
            return SourceNotJson(f"{self.name}: a stored document is not JSON, or its keys are not: ingest it again")
        if "decode" in reason:
            return StoreError(f"{self.name} is damaged: a stored text is not UTF-8; restore the file from a copy")
        if "not a database" in reason or "malformed" in reason:
            return StoreError(f"{self.name}: the file is not an SQLite database, or is damaged: name another one")
        if "readonly" in reason or "unable to open" in reason:
            return StoreError(f"{self.name} can't be written or opened: check the path and its permissions")
        if "full" in reason:
            return StoreError(f"{self.name}: the disk is full: make room and try again")
        return StoreError(f"{self.name}: {reason}")


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the table ``meta``; an empty dict if nothing was set up."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
        return {}
    return dict(connection.execute("SELECT key, value FROM meta"))


def _file_at(path: str) -> Place:
    if path == ":memory:":
        return frozenset({(path, "")})
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return frozenset()
    return frozenset({(path, f"{found.st_dev}:{found.st_ino}")} if found.st_size else ())


def _cannot_change(path: str) -> bool:
    """Return whether a file is in a folder that this program may not write, and no other program has it open to write.

    SQLite opens a file with a write-ahead log only if it can make files beside it. Such a file is opened as one that
    never changes: then it can be read.
    """
    effective = os.access in os.supports_effective_ids
    may_write = os.access(Path(path).parent, os.W_OK, effective_ids=effective)
    return os.path.exists(path) and not may_write and not os.path.exists(f"{path}-wal")


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


def _use_write_ahead_log(connection: sqlite3.Connection, busy: float) -> None:
    """Turn on the write-ahead log, so that readers do not wait while a batch is written.

    SQLite does not wait for the lock that this needs, so the statement is repeated until it succeeds.

    :param busy: seconds for which it is repeated.
    """
    end = time.monotonic() + busy
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= end:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return
