"""How far an ingest has come, in a file, so that it can go on after whatever stopped it: nothing lost, nothing twice.

What was decided for a batch is written down before the batch is written to the store, and crossed out when its outcomes
have been taken. A run that goes on passes over the documents of the batches that are done, and writes the one that was
not crossed out once more as it was decided: a decision is made once, and to write it again changes nothing.

The file is an SQLite database: one row a batch, with the ids that the batch claimed.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.verbs.ingest import Decision
from es_simhash.verbs.outcome import Counts, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import Self

FORMAT = 1
_APPLICATION = 0x53696D69  # "Simi": not a store
_TABLES = """
    CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE batches (
        number INTEGER PRIMARY KEY,
        documents INTEGER NOT NULL,
        mark TEXT NOT NULL,
        claims TEXT NOT NULL,
        decisions TEXT
    );
"""


@dataclass(frozen=True)
class Pending:
    """A batch that was decided, and perhaps written.

    :param documents: how many were read for it.
    :param mark: of the last of them.
    """

    documents: int
    mark: str
    decisions: dict[str, Decision]


class IngestState:
    """The state of one ingest, in a file that is made where there is none.

    :param path: of the file.
    :raises InputError: if the file is something else, or can't be used.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.note: Any = None
        """The caller's own, kept with each batch that is done: how far its output had come, say."""
        self.counts = Counts()
        """Of all outcomes that were taken, in this run and in those before it."""
        with self._errors():
            self._db = _opened(path)
        try:
            with self._errors():
                about = dict(self._db.execute("SELECT key, value FROM about"))
            if about.get("format") != str(FORMAT):
                raise InputError(f"the state {path!r} has format {about.get('format')}, this release reads {FORMAT}")
        except BaseException:
            self.close()
            raise
        self._run = json.loads(about["run"]) if "run" in about else None
        if "done" in about:
            done = json.loads(about["done"])
            self.counts, self.note = Counts(done["counts"]), done["note"]

    def begin(self, run: Mapping[str, Any]) -> None:
        """Say which run this is: into which store, and how.

        :raises InputError: if the state is of another.
        """
        if self._run is None:
            self._run = dict(run)
        for key in {**run, **self._run}:
            began, now = self._run.get(key), run.get(key)
            if began != now:
                raise InputError(
                    f"the state {self.path!r} is of an ingest with {key} {began!r}, not {now!r}: go on as it began, or "
                    "name another file"
                )
        with self._transaction():
            self._set("run", self._run)
            self._keep()

    @property
    def done(self) -> tuple[int, str]:
        """How many documents are done, and the mark of the last."""
        with self._errors():
            counted = self._db.execute("SELECT coalesce(sum(documents), 0) FROM batches WHERE decisions IS NULL")
            count = counted.fetchone()[0]
            last = self._db.execute("SELECT mark FROM batches WHERE decisions IS NULL ORDER BY number DESC").fetchone()
        return count, last[0] if last else ""

    @property
    def pending(self) -> Pending | None:
        """The batch that was decided and is not done."""
        with self._errors():
            sql = "SELECT documents, mark, decisions FROM batches WHERE decisions IS NOT NULL"
            row = self._db.execute(sql).fetchone()
        if row is None:
            return None
        decisions = {id: _decision(values) for id, values in json.loads(row[2]).items()}
        return Pending(row[0], row[1], decisions)

    def claims(self) -> Iterator[tuple[str, str]]:
        """The ids of the batches that are done, each with its place."""
        with self._errors():
            for (claims,) in self._db.execute("SELECT claims FROM batches WHERE decisions IS NULL ORDER BY number"):
                yield from json.loads(claims)

    def decided(
        self, documents: int, mark: str, claims: list[tuple[str, str]], decisions: Mapping[str, Decision]
    ) -> None:
        """A batch will be written now."""
        values = json.dumps({id: _values(decision) for id, decision in decisions.items()})
        with self._transaction():
            self._db.execute("DELETE FROM batches WHERE decisions IS NOT NULL")  # the same batch, once more
            self._db.execute(
                "INSERT INTO batches (documents, mark, claims, decisions) VALUES (?, ?, ?, ?)",
                [documents, mark, json.dumps(claims), values],
            )

    def finished(self) -> None:
        """The outcomes of the batch that was decided last have been taken."""
        with self._transaction():
            self._db.execute("UPDATE batches SET decisions = NULL WHERE decisions IS NOT NULL")
            self._keep()

    def _keep(self) -> None:
        self._set("done", {"counts": self.counts.to_dict(), "note": self.note})

    def _set(self, key: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", [key, json.dumps(value)])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors(), self._db:
            self._db.execute("BEGIN")
            yield

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            fix = "another ingest is using it" if "locked" in str(error) else "name a file that can be written"
            raise InputError(f"the state {self.path!r} can't be used ({error}): {fix}") from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _opened(path: str) -> sqlite3.Connection:
    if not Path(path).parent.is_dir():
        raise InputError(f"there is no folder for the state {path!r}: make it first")
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
    try:
        with closing(db.execute("PRAGMA application_id")) as found:
            application = found.fetchone()[0]
        if application != _APPLICATION:
            if db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise InputError(f"{path!r} is not the state of an ingest: name another file")
            begin = f"BEGIN; PRAGMA application_id = {_APPLICATION};"
            db.executescript(f"{begin} {_TABLES} INSERT INTO about VALUES ('format', '{FORMAT}'); COMMIT;")
        db.execute("PRAGMA journal_mode = WAL")
        # One program at a time: held until it ends, however it ends.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _values(decision: Decision) -> dict[str, Any]:
    return {**asdict(decision), "outcome": decision.outcome.to_dict()}


def _decision(values: dict[str, Any]) -> Decision:
    return Decision(**{**values, "outcome": Outcome(**values["outcome"])})
