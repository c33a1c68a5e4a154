"""The store on one SQLite file, which holds documents, seen items, or both."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreError
from es_simhash.machine import LinesFile
from es_simhash.retries import DEADLINE
from es_simhash.rows import Stored, UserState, Written
from es_simhash.store.description import check_alike, extended, from_json, to_json
from es_simhash.store.memory_store import chosen
from es_simhash.store.sqlite import keys
from es_simhash.store.sqlite.database import Database
from es_simhash.store.sqlite.schema import (
    COLUMNS,
    GROUP,
    IN_ANOTHER,
    IS_COPY,
    OF_IDS,
    TABLES,
    condition,
    json_list,
    new_version,
    row_values,
    to_row,
)
from es_simhash.store.sqlite.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from es_simhash.rows import Description, Entry, Hits, Row, Scan, SeenTime, StoreQuery
    from es_simhash.store.protocol import Filter

_PAGE = 1_000
"""Documents or users in a list."""
_OF_USERS = "user IN (SELECT value FROM json_each(?))"

_LARGE = 100
"""The keys of a batch of so many documents wait: more of them will probably come before a search."""
_WRITE = f"INSERT OR REPLACE INTO documents VALUES (NULL, {', '.join('?' * 14)})"
"""A document that is replaced gets a new position, so its keys wait with those of new documents."""


class SqliteStore:
    """Documents and seen items in an SQLite file: :class:`~es_simhash.store.protocol.Store`.

    Several threads and processes may use the file at once: each write is one transaction, and the others wait for it.

    :param path: path of the file.
    :param busy: seconds for which a write waits for the write of another process.
    """

    lags = False
    in_memory = False

    def __init__(self, path: str, busy: float = DEADLINE) -> None:
        self._database = Database(path, busy)
        self.name = self._database.name
        self._described: Description | None = None

    # --- the store itself -------------------------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return how the store was set up.

        ``instance`` changes if another file is at the path, and if a backup was restored into the file: SQLite then
        raises the number of the schema. ``VACUUM`` raises it, too.

        :raises StoreChanged: if it is another file than before, and was set up in another way.
        """
        with self._database.transaction(write=False, anew=True) as connection:
            kept = self._description(connection)
            _, inode, schema = state = self._database.state(connection)
            described = replace(kept, instance=f"{kept.instance}-{inode:x}-{schema}")
            check_alike(self._described, described, self.name)
            self._described, self._database.described = described, state
        return described

    def set_up(self, wanted: Description, *, change: bool = False) -> str:
        """Make what is missing."""
        if not os.path.exists(self._database.path):
            # SQLite gives the files that it puts beside it (``-wal``, ``-shm``) its permissions.
            LinesFile(self._database.path, "ab").close()
        with self._database.transaction(write=True, anew=True) as connection:
            self._described = self._database.described = None
            has_tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            former = self._description(connection) if has_tables else None
            description = extended(former, wanted, self.name, change=change)
            if former is None:
                for statement in TABLES:
                    connection.execute(statement)
            values = json.dumps(to_json(description), ensure_ascii=False)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('description', ?)", [values])
        return "created" if former is None else "unchanged" if former == description else "added"

    def _description(self, connection: Connection) -> Description:
        """Return what the file keeps of its set-up."""
        found = connection.execute("SELECT value FROM meta WHERE key = 'description'").fetchone()
        if found is None:
            raise StoreError(f"{self.name} has lost what it keeps of its set-up: restore the file from a copy")
        return from_json(json.loads(found[0]), self.name)

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._database.close()

    # --- read documents ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        source = "source" if fields is None or fields else "NULL"
        sql = f"SELECT {COLUMNS}, {source} FROM documents WHERE {OF_IDS}"
        with self._database.transaction(write=False) as connection:
            found = connection.execute(sql, [json_list(ids)])
            return {values[0]: Stored(to_row(values[:-1]), (), chosen(values[-1], fields)) for values in found}

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds."""
        if any(query.keys for query in queries):
            self.refresh()  # keys may wait
        with self._database.transaction(write=False) as connection:
            return search(connection, queries, filter, originals=originals)

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""
        names = "IN (SELECT value FROM json_each(?))"
        of_others = f"SELECT {COLUMNS} FROM documents WHERE {IN_ANOTHER} AND {GROUP} {names}"
        own = f"SELECT {COLUMNS} FROM documents WHERE {OF_IDS} AND NOT {IN_ANOTHER}"
        with self._database.transaction(write=False) as connection:
            found = connection.execute(f"{of_others} UNION ALL {own} ORDER BY [order]", [json_list(groups)] * 2)
            return [to_row(values) for values in found]

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists, as they were when the scan began."""
        where, parameters = condition(scan)
        order = "[order], position" if scan.by_order else "position"
        if scan.by_field is not None:
            order = f"sort_value(source, ?) IS NULL, sort_value(source, ?), {order}"
            parameters += [scan.by_field, scan.by_field]
        source = "source" if scan.fields is None or scan.fields else "NULL"
        columns = f"{COLUMNS}, {'keys' if scan.keys else 'zeroblob(0)'}, {source}"
        with self._database.snapshot() as connection:
            found = connection.execute(f"SELECT {columns} FROM documents WHERE {where} ORDER BY {order}", parameters)
            while page := found.fetchmany(_PAGE):
                yield [
                    Stored(to_row(row), keys.from_bytes(of_text), chosen(source, scan.fields))
                    for *row, of_text, source in page
                ]

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan reads."""
        where, parameters = condition(scan)
        with self._database.transaction(write=False) as connection:
            sql = f"SELECT count(*) FROM documents WHERE {where}"
            return int(connection.execute(sql, parameters).fetchone()[0])

    def refresh(self) -> None:
        """Enter the keys that wait, so that a search by keys need not."""
        with self._database.transaction(write=False) as connection:
            are_waiting = keys.count_waiting(connection) > 0
        if are_waiting:
            with self._database.transaction(write=True) as connection:
                keys.enter_waiting(connection)

    # --- write documents --------------------------------------------------------------------------------------------

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        with self._database.transaction(write=True) as connection:
            stored = _read_written(connection, [entry.row.id for entry in entries])
            accepted = [entry for entry in entries if entry.may_replace(stored.get(entry.row.id, (None,))[0])]
            version = new_version()
            removed, values = [], []
            for entry in accepted:
                source, of_text = entry.source, None if entry.keys is None else keys.to_bytes(entry.keys)
                if entry.row.id in stored:
                    _, former, former_source = stored[entry.row.id]
                    source = former_source if source is None else source
                    of_text = former.keys if of_text is None else of_text
                    removed.append(former)
                values.append((*row_values(entry.row, version), of_text, source))
            keys.remove(removed, connection)
            connection.executemany(_WRITE, values)
            if len(values) < _LARGE or keys.count_waiting(connection) >= keys.MOST_WAITING:
                keys.enter_waiting(connection)
            versions = dict.fromkeys((entry.row.id for entry in accepted), version)
            return Written({}, frozenset(entry.row.id for entry in entries) - versions.keys(), versions)

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        with self._database.transaction(write=True) as connection:
            stored = _read_written(connection, list(versions))
            conflicts = {id for id, (version, *_) in stored.items() if versions[id] not in (None, version)}
            removed = [former for id, (_, former, _) in stored.items() if id not in conflicts]
            keys.remove(removed, connection)
            connection.executemany("DELETE FROM documents WHERE position = ?", [(one.document,) for one in removed])
            return Written({}, frozenset(conflicts), {})

    # --- the items that users have seen -----------------------------------------------------------------------------

    def read_users(self, users: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        sql = f"SELECT user, seen, version FROM users WHERE {_OF_USERS}"
        with self._database.transaction(write=False) as connection:
            found = connection.execute(sql, [json_list(users)])
            return {user: UserState(json.loads(seen), version) for user, seen, version in found}

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version."""
        version = new_version()
        with self._database.transaction(write=True) as connection:
            sql = f"SELECT user, version FROM users WHERE {_OF_USERS}"
            stored = dict(connection.execute(sql, [json_list(states)]))
            accepted = {user: state for user, state in states.items() if stored.get(user) == state.version}
            connection.execute(f"DELETE FROM users WHERE {_OF_USERS}", [json_list(accepted)])
            connection.executemany(
                "INSERT INTO users VALUES (?, ?, ?, ?, ?)",
                [
                    (user, version, one.seen["newest"], one.seen["added"], json.dumps(one.seen))
                    for user, one in accepted.items()
                    if one.seen
                ],
            )
        return Written({}, frozenset(states.keys() - accepted.keys()), dict.fromkeys(accepted, version))

    def list_users(self, time: SeenTime, before: int) -> Iterator[list[str]]:
        """Yield the users of whom one of the two times is before another one."""
        with self._database.snapshot() as connection:
            found = connection.execute(f"SELECT user FROM users WHERE {time} > 0 AND {time} < ?", [before])
            while page := found.fetchmany(_PAGE):
                yield [user for (user,) in page]


def _read_written(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[int, keys.KeysOf, str]]:
    """Return what a write needs of stored documents: the version, the keys and the document, by id."""
    sql = f"SELECT id, version, source, position, keys, length, {IS_COPY} FROM documents WHERE {OF_IDS}"
    return {
        id: (version, keys.KeysOf(*values), source)
        for id, version, source, *values in connection.execute(sql, [json_list(ids)])
    }
