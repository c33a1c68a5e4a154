"""The ids of a run: each counts once, at its first place."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.errors import StoreError
from es_simhash.ingest.reader import rejected
from es_simhash.verbs.outcome import Document, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Self


class FirstPlaces:
    """Where each key came first, in a temporary file that SQLite deletes on closing: memory does not grow.

    :raises StoreError: if there is no room for it; so do the methods.
    """

    def __init__(self) -> None:
        with _errors():
            self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = OFF")
            self._db.execute("PRAGMA synchronous = OFF")
            self._db.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, place TEXT NOT NULL) WITHOUT ROWID")

    def claim(self, key: str, place: str) -> str | None:
        """None the first time; afterwards the place of the first time."""
        with _errors():
            if self._db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, place)).rowcount:
                return None
            first: str = self._db.execute("SELECT place FROM keys WHERE key = ?", (key,)).fetchone()[0]
            return first

    def fill(self, claims: Iterable[tuple[str, str]]) -> None:
        """Claim many keys, each with its place."""
        with _errors():
            self._db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", claims)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(
            f"the temporary file of the ids can't be written in {_folder()} ({error}): make room there, or name "
            "another folder by the variable TMPDIR"
        ) from error


def _folder() -> str:
    """Where SQLite puts temporary files: its own order, which is not that of Python."""
    if os.name != "posix":
        return tempfile.gettempdir()
    named = [os.environ[name] for name in ("SQLITE_TMPDIR", "TMPDIR") if name in os.environ]
    folders = [*named, "/var/tmp", "/usr/tmp", "/tmp", "."]
    return next((each for each in folders if os.path.isdir(each) and os.access(each, os.W_OK | os.X_OK)), ".")


def claim(items: Sequence[Document | Outcome], ids: FirstPlaces) -> list[Document | Outcome]:
    """The items, of which those whose id came before in the run are rejected."""
    return [_claimed(item, ids) if isinstance(item, Document) else item for item in items]


def _claimed(document: Document, ids: FirstPlaces) -> Document | Outcome:
    first = ids.claim(document.id, document.place)
    if first is None:
        return document
    problem = f"the id {document.id!r} came before in this run, at {first}: that one counts; one id, one document"
    return rejected(document.id, document.place, problem, json.loads(document.source))
