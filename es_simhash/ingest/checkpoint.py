"""The checkpoint of an ingest: a file that records how far it is, so that it can resume after any interruption.

The decisions of a batch are recorded before the batch is written to the store. They are crossed out when the caller has
taken the outcomes. A run that resumes skips the documents of the batches that are done. Of the batch that was not
crossed out it writes what is missing, as it was decided. With each decision the file has the text that was stored
then, so documents that were changed since are known, and decided again.

The file is an SQLite database with one row for each batch, which holds the ids that came first in that batch.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from es_simhash.deciding.ingest import Decision
from es_simhash.deciding.outcome import OUTCOMES, Counts, Outcome
from es_simhash.errors import InputError, one_line
from es_simhash.files import create_for_owner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    :param mark: a short digest of the last line.
    """

    documents: int
    mark: str
    decisions: dict[str, Decision]


class Checkpoint:
    """The checkpoint of one ingest. The file is made if it does not exist.

    :param path: of the file.
    :raises InputError: if the file is something else, or cannot be used.
    """

    skips_done = True
    """The input is the same in every run, so a run that resumes skips the documents that are done."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.note: Any = None
        """A value of the caller's, recorded with each batch that is done: for example, how far its output is."""
        self.counts = Counts()
        """The counts of all outcomes that were taken, in this run and in earlier ones."""
        self.last_stored: Sequence[str] = ()
        """The ids of the last documents that are done and in the store."""
        self._run: dict[str, Any] | None = None
        with self._reading():
            self._db = _opened(path)
        try:
            with self._reading():
                self._read_about()
        except BaseException:
            self.close()
            raise

    def _read_about(self) -> None:
        about = dict(self._db.execute("SELECT key, value FROM about"))
        if about.get("format") != str(FORMAT):
            raise InputError(
                f"the checkpoint {self.path!r} has format {about.get('format')}, this release reads {FORMAT}: "
                "name another file"
            )
        if "run" in about:
            self._run = checked(json.loads(about["run"]), dict)
        if "done" in about:
            done = json.loads(about["done"])
            counts = checked(done["counts"], dict)
            for count in counts.values():
                checked(count, int)
            self.counts, self.note = Counts(counts), done["note"]
            self.last_stored = [checked(id, str) for id in checked(done.get("last_stored", []), list)]

    def begin(self, run: Mapping[str, Any]) -> None:
        """Record what run this is: its store and its options.

        :raises InputError: if the checkpoint belongs to another run.
        """
        if self._run is None:
            self._run = dict(run)
        for key in {**run, **self._run}:
            began, now = self._run.get(key), run.get(key)
            if began != now:
                raise InputError(
                    f"the checkpoint {self.path!r} was created with {key} {began!r}, not {now!r}: run again with the "
                    "same options, or name another file"
                )
        with self._transaction():
            self._set("run", self._run)
            self._keep()

    @property
    def done(self) -> tuple[int, str]:
        """The number of documents that are done, and the mark of the last."""
        with self._reading():
            counted = self._db.execute("SELECT coalesce(sum(documents), 0) FROM batches WHERE decisions IS NULL")
            count = checked_count(counted.fetchone()[0])
            last = self._db.execute("SELECT mark FROM batches WHERE decisions IS NULL ORDER BY number DESC").fetchone()
            return count, checked(last[0], str) if last else ""

    @property
    def pending(self) -> Pending | None:
        """The batch that was decided and is not done; None if there is none."""
        with self._reading():
            sql = "SELECT documents, mark, decisions FROM batches WHERE decisions IS NOT NULL"
            row = self._db.execute(sql).fetchone()
            if row is None:
                return None
            decisions = {id: _decision(values) for id, values in json.loads(row[2]).items()}
            return Pending(checked_count(row[0]), checked(row[1], str), decisions)

    def claims(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of the batches that are done, each with its place."""
        with self._reading():
            for (claims,) in self._db.execute("SELECT claims FROM batches WHERE decisions IS NULL ORDER BY number"):
                for id, place in json.loads(claims):
                    yield checked(id, str), checked(place, str)

    def decided(
        self, documents: int, mark: str, claims: list[tuple[str, str]], decisions: Mapping[str, Decision]
    ) -> None:
        """Record the decisions of a batch that will be written now.

        :param documents: how many were read for it.
        :param mark: a short digest of the last line.
        :param claims: the ids of the batch, each with its place.
        """
        values = json.dumps({id: _values(decision) for id, decision in decisions.items()})
        with self._transaction():
            self._db.execute(
                "INSERT INTO batches (documents, mark, claims, decisions) VALUES (?, ?, ?, ?)",
                [documents, mark, json.dumps(claims), values],
            )

    def finished(self, stored: Sequence[str]) -> None:
        """Record that the caller has taken the outcomes of the last batch.

        :param stored: ids of its documents that are in the store.
        """
        self.last_stored = stored or self.last_stored
        with self._transaction():
            self._db.execute("UPDATE batches SET decisions = NULL WHERE decisions IS NOT NULL")
            self._keep()

    def _keep(self) -> None:
        self._set("done", {"counts": self.counts.to_dict(), "note": self.note, "last_stored": list(self.last_stored)})

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
            fix = "another ingest uses it" if "locked" in str(error) else "name another file that can be written"
            raise InputError(f"the checkpoint {self.path!r} cannot be used ({one_line(error)}): {fix}") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise an InputError in place of every error that the values of a damaged file can cause."""
        try:
            with self._errors():
                yield
        except InputError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise InputError(
                f"the checkpoint {self.path!r} is damaged ({one_line(error)}): name another file, and ingest "
                "everything again"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _opened(path: str) -> sqlite3.Connection:
    if not Path(path).parent.is_dir():
        raise InputError(f"there is no folder for the checkpoint {path!r}: create it first")
    create_for_owner(path)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
    try:
        with closing(db.execute("PRAGMA application_id")) as found:
            application = found.fetchone()[0]
        if application != _APPLICATION:
            if db.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise InputError(f"{path!r} is not the checkpoint of an ingest: name another file")
            begin = f"BEGIN; PRAGMA application_id = {_APPLICATION};"
            db.executescript(f"{begin} {_TABLES} INSERT INTO about VALUES ('format', '{FORMAT}'); COMMIT;")
        db.execute("PRAGMA journal_mode = WAL")
        # One program at a time. The lock is held until the program ends, even if it is killed.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _values(decision: Decision) -> dict[str, Any]:
    replaces = {} if decision.replaces is None else {"replaces": decision.replaces}
    return {
        "outcome": decision.outcome.to_dict(),
        "group": decision.group,
        "duplicate_of": decision.duplicate_of,
        "written": decision.write_order,
        **replaces,
    }


def _decision(values: dict[str, Any]) -> Decision:
    outcome = {name: checked(value, *_TYPES[name]) for name, value in values["outcome"].items()}
    if outcome["outcome"] not in OUTCOMES:
        raise ValueError(f"there is no outcome {outcome['outcome']!r}")
    replaces = None
    if "replaces" in values:
        digest, order = checked(values["replaces"], list)
        replaces = checked(digest, str), checked_count(order)
    return Decision(
        Outcome(**outcome),
        checked(values["group"], str, NoneType),
        checked(values["duplicate_of"], str, NoneType),
        checked_count(values["written"]),
        replaces,
    )


def checked(value: Any, *types: type) -> Any:
    """Return a value.

    :raises TypeError: if it has none of the types. True and False are no integers.
    :raises ValueError: if it is a text that UTF-8 cannot encode.
    """
    if type(value) not in types:
        raise TypeError(f"{str(value)[:50]!r} is not of type {types[0].__name__}")
    if isinstance(value, str):
        value.encode()
    return value


def checked_count(value: Any) -> int:
    """Return a number from 0 to 2**63.

    :raises TypeError: if it is no integer.
    :raises ValueError: if it is out of range.
    """
    if not 0 <= checked(value, int) < 1 << 63:
        raise ValueError(f"{value} is out of range")
    return int(value)


_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "outcome": (str,),
    "duplicate_of": (str, NoneType),
    "distance": (int, NoneType),
    "stored": (bool,),
    "fingerprinted": (bool,),
    "reason": (str, NoneType),
    "place": (str, NoneType),
    "similarity": (float, int, NoneType),
    "left_out": (int,),
}
"""The types of the values of an Outcome."""
