"""The ids of a run. If an id occurs twice, the document at its first place counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from es_simhash.deciding.outcome import Document, Outcome
from es_simhash.ingest.reader import rejected
from es_simhash.temporary import temporary_database, temporary_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self


class FirstPlaces:
    """The place where each key occurred first.

    They are in a temporary file, which SQLite deletes on closing. So memory does not grow with their number.

    :raises StoreError: if the file cannot be written. The methods raise it too.
    """

    def __init__(self) -> None:
        with temporary_file("ids"):
            self._db = temporary_database()
            self._db.execute("CREATE TABLE keys (key TEXT PRIMARY KEY, place TEXT NOT NULL) WITHOUT ROWID")

    def claim(self, key: str, place: str) -> str | None:
        """Return None if the key is new; else the place where it occurred first."""
        with temporary_file("ids"):
            if self._db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (key, place)).rowcount:
                return None
            first: str = self._db.execute("SELECT place FROM keys WHERE key = ?", (key,)).fetchone()[0]
            return first

    def claim_all(self, claims: Sequence[tuple[str, str]]) -> list[str | None]:
        """:meth:`claim` pairs (key, place), in the order in which they occur. A batch takes a third of the time."""
        sql = "SELECT key, place FROM keys WHERE key IN (SELECT value FROM json_each(?))"
        with temporary_file("ids"):
            stored = dict(self._db.execute(sql, [json.dumps([key for key, _ in claims])]))
        new: dict[str, str] = {}
        found: list[str | None] = []
        for key, place in claims:
            first = stored[key] if key in stored else new.get(key)
            found.append(first)
            if first is None:
                new[key] = place
        self.fill(new.items())
        return found

    def fill(self, claims: Iterable[tuple[str, str]]) -> None:
        """Add many keys, each with its place."""
        with temporary_file("ids"), self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", claims)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._db.close()


def claim(items: Sequence[Document | Outcome], ids: FirstPlaces) -> list[Document | Outcome]:
    """Return the items. A document whose id occurred before in the run is rejected."""
    first = iter(ids.claim_all([(item.id, item.place) for item in items if isinstance(item, Document)]))
    return [_claimed(item, next(first)) if isinstance(item, Document) else item for item in items]


def _claimed(document: Document, first: str | None) -> Document | Outcome:
    if first is None:
        return document
    problem = f"the id {document.id!r} occurred before in this run, at {first}: the first one counts; use another id"
    return rejected(document.id, document.place, problem, json.loads(document.source))
