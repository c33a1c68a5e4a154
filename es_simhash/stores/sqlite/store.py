"""The SQLite store. One table of documents; the index that serves the ring query is on pairs of segments.

The ring query asks for values of two neighbouring segments. A pair of 16-bit segments is one 32-bit
number, cut out of the fingerprint: each of the four expression indexes holds one, and SQLite looks up the
pairs that are allowed (68 a fingerprint at a distance of 3).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from contextlib import contextmanager
from functools import singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.core.ring import pairs
from es_simhash.core.scheme import Scheme
from es_simhash.core.segments import from_signed, to_signed
from es_simhash.errors import InputError, NotSetUp, StoreError, StoreUnavailable
from es_simhash.ops import Candidates, Describe, Fetch, Op, Refresh, Remove, Row, SetUp, Write, Written
from es_simhash.stores.sqlite.clause import to_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

R = TypeVar("R")

FORMAT = "1"
_BUSY_SECONDS = 60

# Where segment i and its neighbour stand in the signed 64-bit fingerprint.
_PAIRS = (
    "(fp >> 32) & 4294967295",
    "(fp >> 16) & 4294967295",
    "fp & 4294967295",
    "((fp & 65535) << 16) | ((fp >> 48) & 65535)",
)
_TABLES = [
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE IF NOT EXISTS documents (
        written INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        fp INTEGER,
        digest TEXT NOT NULL,
        "group" TEXT NOT NULL,
        duplicate_of TEXT,
        source TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS digests ON documents (digest)",
    'CREATE INDEX IF NOT EXISTS groups ON documents ("group")',
    *(
        f"CREATE INDEX IF NOT EXISTS pairs_{i} ON documents ({pair}) WHERE fp IS NOT NULL"
        for i, pair in enumerate(_PAIRS)
    ),
]
_COLUMNS = 'id, fp, digest, "group", duplicate_of, written'


class SqliteStore:
    """Performs the requests on one SQLite file.

    Several processes may use the file at once: each write is one transaction, others wait for it.

    :param path: of the file; ``:memory:`` for none.
    :raises StoreError: if the file can't be opened, or is something else.
    """

    embedded = True

    def __init__(self, path: str) -> None:
        self.name = f"sqlite:///{path}"
        self._path = path
        self._db: sqlite3.Connection | None = None
        # One connection for all threads of the program, one at a time.
        self._lock = threading.RLock()

    def perform(self, op: Op[R]) -> R:
        with self._lock, self._errors():
            return self._perform(op)  # type: ignore[no-any-return]

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    @singledispatchmethod
    def _perform(self, op: Op[Any]) -> Any:
        raise NotImplementedError(type(op))

    @_perform.register(Describe)
    def _describe(self, op: Describe) -> Scheme | None:
        if self._path != ":memory:" and not Path(self._path).exists():
            return None
        db = self._connection()
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return None
        meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('format', 'scheme')"))
        if meta.get("format") != FORMAT:
            raise StoreError(
                f"{self.name} has format {meta.get('format')}, this release reads {FORMAT}: upgrade es_simhash"
            )
        return Scheme.from_dict(json.loads(meta["scheme"]))

    @_perform.register(SetUp)
    def _set_up(self, op: SetUp) -> str:
        with self._transaction() as db:
            before = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            for statement in _TABLES:
                db.execute(statement)
            meta = {"format": FORMAT, "scheme": json.dumps(op.scheme.to_dict())}
            db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", meta.items())
            after = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return "created" if not before else "added" if after > before else "unchanged"

    @_perform.register(Fetch)
    def _fetch(self, op: Fetch) -> dict[str, Row]:
        sql = f"SELECT {_COLUMNS} FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return {row[0]: _row(row) for row in self._connection().execute(sql, [json.dumps(op.ids)])}

    @_perform.register(Candidates)
    def _candidates(self, op: Candidates) -> list[Row]:
        wanted, parameters = _wanted(op)
        if not wanted:
            return []
        # A bare column beside min() takes its value from the row with the minimum.
        columns = _COLUMNS.replace("written", "min(written)") if op.one_per_digest else _COLUMNS
        sql = f"SELECT {columns} FROM documents WHERE written IN ({' UNION '.join(wanted)})"
        if op.without:
            sql += " AND id NOT IN (SELECT value FROM json_each(?))"
            parameters.append(json.dumps(op.without))
        if op.filter is not None:
            condition, more = to_sql(op.filter)
            sql += f" AND ({condition})"
            parameters += more
        if op.one_per_digest:
            sql += " GROUP BY digest"
        return [_row(row) for row in self._connection().execute(sql, parameters)]

    @_perform.register(Write)
    def _write(self, op: Write) -> Written:
        with self._transaction() as db:
            # A fresh row, not an update in place: `written` grows with every write.
            db.executemany("DELETE FROM documents WHERE id = ?", [(entry.id,) for entry in op.entries])
            db.executemany(
                'INSERT INTO documents (id, fp, digest, "group", duplicate_of, source) VALUES (?, ?, ?, ?, ?, ?)',
                [
                    (
                        e.id,
                        None if e.fingerprint is None else to_signed(e.fingerprint),
                        e.digest,
                        e.group,
                        e.duplicate_of,
                        e.source,
                    )
                    for e in op.entries
                ],
            )
        return Written(refused={}, searchable=True)

    @_perform.register(Remove)
    def _remove(self, op: Remove) -> set[str]:
        with self._transaction() as db:
            sql = "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?)) RETURNING id"
            return {row[0] for row in db.execute(sql, [json.dumps(op.ids)]).fetchall()}

    @_perform.register(Refresh)
    def _refresh(self, op: Refresh) -> None:
        return None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            folder = Path(self._path).parent
            if not folder.is_dir():
                raise InputError(f"there is no folder {str(folder)!r} for the store {self.name}: make it first")
            db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")  # readers go on while a batch is written
            except sqlite3.Error:
                db.close()
                raise
            self._db = db
        return self._db

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        db = self._connection()
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            what = str(error)
            if "locked" in what or "busy" in what:
                problem = f"another process has been writing to it for {_BUSY_SECONDS} s: try again later"
                raise StoreUnavailable(f"{self.name}: {problem}") from error
            if "no such table" in what:
                raise NotSetUp(f"{self.name} is not set up: run `es-simhash init --store {self.name}`") from error
            if "not a database" in what or "malformed" in what:
                raise StoreError(
                    f"{self.name}: the file is not an SQLite database, or is damaged: name another one"
                ) from error
            if "full" in what:
                raise StoreUnavailable(f"{self.name}: the disk is full: make room and try again") from error
            raise StoreError(f"{self.name}: {what}") from error


class AsyncSqliteStore:
    """:class:`SqliteStore` for async programs: each request runs in a thread."""

    embedded = True

    def __init__(self, path: str) -> None:
        self._store = SqliteStore(path)
        self.name = self._store.name

    async def perform(self, op: Op[R]) -> R:
        return await asyncio.to_thread(self._store.perform, op)

    async def close(self) -> None:
        await asyncio.to_thread(self._store.close)


def _wanted(op: Candidates) -> tuple[list[str], list[Any]]:
    """Subqueries for the rows that satisfy one of the Probes, and their parameters."""
    wanted: list[str] = []
    parameters: list[Any] = []
    if digests := {probe.digest for probe in op.probes if probe.digest is not None}:
        wanted.append("SELECT written FROM documents WHERE digest IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(digests)))
    if fingerprints := [probe.fingerprint for probe in op.probes if probe.fingerprint is not None]:
        for pair, values in zip(_PAIRS, pairs(fingerprints, op.max_distance, bits=64), strict=True):
            condition = f"fp IS NOT NULL AND {pair} IN (SELECT value FROM json_each(?))"
            wanted.append(f"SELECT written FROM documents WHERE {condition}")
            parameters.append(json.dumps(values.tolist()))
    return wanted, parameters


def _row(columns: tuple[Any, ...]) -> Row:
    id, fp, digest, group, duplicate_of, written = columns
    return Row(id, None if fp is None else from_signed(fp), digest, group, duplicate_of, written)
