"""The store on one SQLite file, which holds documents, seen items, or both."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.store.description import extended, from_json, not_set_up, to_json
from es_simhash.store.sqlite import documents, keys
from es_simhash.store.sqlite import users as seen
from es_simhash.store.sqlite.database import Database, identity
from es_simhash.store.sqlite.schema import TABLES
from es_simhash.store.sqlite.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.store.protocol import Filter
    from es_simhash.store.types import Description, Entry, Hits, Link, Probe, Row, Scan, Stored, UserState, Written

BUSY_SECONDS = 60
"""Seconds for which a write waits for the write of another process."""


class SqliteStore:
    """Documents and seen items in an SQLite file: :class:`~es_simhash.store.protocol.Store`.

    Several threads and processes may use the file at once: each write is one transaction, and the others wait for it.

    :param path: path of the file.
    :param busy: seconds for which a write waits for the write of another process.
    """

    lags = False
    in_memory = False

    def __init__(self, path: str, busy: float = BUSY_SECONDS) -> None:
        self._database = Database(path, busy)
        self.name = self._database.name

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the store was set up.

        ``instance`` changes if another file is at the path, and if a backup was restored into the file: SQLite then
        raises the number of the schema. ``VACUUM`` raises it, too.
        """
        with self._database.transaction(write=False) as connection:
            description = self._description(connection)
            schema = connection.execute("PRAGMA schema_version").fetchone()[0]
            _, inode = identity(self._database.path) or (0, 0)
        if description is None:
            raise not_set_up(self.name, "the file is empty")
        return replace(description, instance=f"{description.instance}-{inode:x}-{schema}")

    def set_up(self, wanted: Description) -> str:
        """Make what is missing."""
        with self._database.transaction(write=True, create=True) as connection:
            former = self._description(connection)
            description = extended(former, wanted, self.name)
            if former is None:
                for statement in TABLES:
                    connection.execute(statement)
            _keep(description, connection)
        return "created" if former is None else "unchanged" if former == description else "added"

    def change(self, description: Description) -> None:
        """Keep another rule, id field and ``stale``."""
        with self._database.transaction(write=True) as connection:
            former = self._description(connection)
            if former is None:
                raise not_set_up(self.name, "the file is empty")
            changed = replace(former, rule=description.rule, id_field=description.id_field, stale=description.stale)
            _keep(changed, connection)

    def _description(self, connection: Connection) -> Description | None:
        """Return what the file keeps of its set-up; None if there are no tables."""
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return None
        values = connection.execute("SELECT value FROM meta WHERE key = 'description'").fetchone()
        return None if values is None else from_json(json.loads(values[0]), self.name)

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._database.close()

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        with self._database.transaction(write=False) as connection:
            return documents.read(connection, ids, fields)

    def search(self, probes: Sequence[Probe], filter: Filter | None, *, heads: bool) -> list[Hits]:
        """Return what may be near each Probe. A search by keys enters those that wait before."""
        by_keys = any(probe.queries for probe in probes)
        with self._database.transaction(write=False) as connection:
            if not (by_keys and keys.are_waiting(connection)):
                return search(connection, probes, filter, heads=heads)
        with self._database.transaction(write=True) as connection:
            keys.enter_waiting(connection)
            return search(connection, probes, filter, heads=heads)

    def members(self, heads: Sequence[str]) -> list[Row]:
        """Return the documents that are copies of one of these heads."""
        with self._database.transaction(write=False) as connection:
            return documents.members(connection, heads)

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists, as they were when the scan began."""
        with self._database.snapshot() as connection:
            yield from documents.scan(connection, scan)

    def count(self, filter: Filter | None, *, missing: bool | None = None) -> int:
        """Return how many documents match a filter."""
        with self._database.transaction(write=False) as connection:
            return documents.count(connection, filter, missing)

    def refresh(self) -> None:
        """Enter the keys that wait, so that a search by keys need not."""
        with self._database.transaction(write=False) as connection:
            are_waiting = keys.are_waiting(connection)
        if are_waiting:
            with self._database.transaction(write=True) as connection:
                keys.enter_waiting(connection)

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        with self._database.transaction(write=True) as connection:
            return documents.write(connection, entries)

    def write_links(self, links: Mapping[str, Link]) -> Written:
        """Change what documents are copies of, each on its version."""
        with self._database.transaction(write=True) as connection:
            return documents.write_links(connection, links)

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        with self._database.transaction(write=True) as connection:
            return documents.remove(connection, versions)

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, users: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        with self._database.transaction(write=False) as connection:
            return seen.read_users(connection, users)

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version."""
        with self._database.transaction(write=True) as connection:
            return seen.write_users(connection, states)

    def remove_users(self, users: Sequence[str]) -> frozenset[str]:
        """Remove the seen items of users."""
        with self._database.transaction(write=True) as connection:
            return seen.remove_users(connection, users)

    def list_users(self, before: int) -> Iterator[list[str]]:
        """Yield the users whose newest generation started before a time."""
        users: list[str] = []
        while True:
            with self._database.transaction(write=False) as connection:
                users = seen.list_users(connection, before, users[-1] if users else None)
            if not users:
                return
            yield users


def _keep(description: Description, connection: Connection) -> None:
    values = json.dumps(to_json(description), ensure_ascii=False)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('description', ?)", [values])
