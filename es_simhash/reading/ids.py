"""The ids of a run: each counts once, at its first place."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from es_simhash.flows.outcome import Document, Outcome
from es_simhash.reading.documents import rejected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self


class FirstPlaces:
    """Where each key came first, in a temporary file that SQLite deletes on closing: memory does not grow."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, place TEXT NOT NULL) WITHOUT ROWID")

    def claim(self, key: str, place: str) -> str | None:
        """None the first time; afterwards the place of the first time."""
        if self._db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, place)).rowcount:
            return None
        first: str = self._db.execute("SELECT place FROM keys WHERE key = ?", (key,)).fetchone()[0]
        return first

    def fill(self, claims: Iterable[tuple[str, str]]) -> None:
        """Claim many keys, each with its place."""
        self._db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", claims)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()


def claim(items: Sequence[Document | Outcome], ids: FirstPlaces) -> list[Document | Outcome]:
    """The items, of which those whose id came before in the run are rejected."""
    return [_claimed(item, ids) if isinstance(item, Document) else item for item in items]


def _claimed(document: Document, ids: FirstPlaces) -> Document | Outcome:
    first = ids.claim(document.id, document.place)
    if first is None:
        return document
    problem = f"the id {document.id!r} came before in this run, at {first}: that one counts; one id, one document"
    return rejected(document.id, document.place, problem, json.loads(document.source))
