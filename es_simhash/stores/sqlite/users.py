"""Seen items in the file.

Each user has a row with a version in the table ``users``, and a row for each filter in the table ``filters``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import Changed, UserState, seen_mismatch
from es_simhash.errors import StoreError
from es_simhash.stores.sqlite.schema import id_list, read_config

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from es_simhash.stores.sqlite.database import Database

FORMAT = "1"
"""The format of the tables of users, in the table ``meta``."""
_PAGE = 1_000
"""Users in one reply to ListUsers."""
_TABLES = [
    """CREATE TABLE IF NOT EXISTS users (
        user TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        newest INTEGER NOT NULL,
        forgotten TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS users_newest ON users (newest)",
    """CREATE TABLE IF NOT EXISTS filters (
        user TEXT,
        position INTEGER,
        value BLOB NOT NULL,
        PRIMARY KEY (user, position)
    )""",
]
_IN_USERS = "user IN (SELECT value FROM json_each(?))"


def describe_seen(database: Database) -> SeenConfig | None:
    return _config(database.meta(), database.name)


def set_up_seen(database: Database, config: SeenConfig) -> str:
    values = config.to_dict()

    def meta(stored: Mapping[str, str]) -> dict[str, str]:
        existing = _config(stored, database.name)
        if existing is not None and existing != config:
            raise seen_mismatch(existing, values, database.name)
        return {"users": FORMAT, "seen": json.dumps(values)}

    return database.make(_TABLES, meta)


def _config(meta: Mapping[str, str], name: str) -> SeenConfig | None:
    if "seen" not in meta:
        return None
    if (format := meta.get("users")) != FORMAT:
        raise StoreError(f"{name} has seen items of format {format}, this release reads {FORMAT}: upgrade es_simhash")
    return SeenConfig.from_dict(read_config(meta, "seen", name))


def fetch_users(database: Database, users: tuple[str, ...]) -> dict[str, UserState]:
    wanted = [id_list(users)]
    filters: defaultdict[str, list[Any]] = defaultdict(list)
    with database.transaction(write=False) as connection:
        sql = f"SELECT user, value FROM filters WHERE {_IN_USERS} ORDER BY position"
        for user, value in connection.execute(sql, wanted):
            filters[user].append(value)
        sql = f"SELECT user, newest, forgotten, version FROM users WHERE {_IN_USERS}"
        return {user: _state(filters[user], *values) for user, *values in connection.execute(sql, wanted)}


def _state(filters: list[Any], newest: Any, forgotten: Any, version: int) -> UserState:
    try:
        if not all(isinstance(value, bytes) for value in filters):
            raise TypeError("a filter is not a BLOB")
        generations = {item: int(generation) for item, generation in json.loads(forgotten).items()}
        return UserState(tuple(filters), int(newest), generations, version)
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        return UserState(version=version, damaged=f"the row is not what this library writes ({error})")


def change_users(database: Database, states: Mapping[str, UserState]) -> Changed:
    conflicts = set()
    with database.transaction() as connection:
        for user, state in states.items():
            if not _write_user(connection, user, state):
                conflicts.add(user)
                continue
            connection.execute("DELETE FROM filters WHERE user = ?", [user])
            filters = [(user, position, value) for position, value in enumerate(state.filters)]
            connection.executemany("INSERT INTO filters VALUES (?, ?, ?)", filters)
    return Changed(frozenset(conflicts), {})


def _write_user(connection: sqlite3.Connection, user: str, state: UserState) -> bool:
    """Write the user's row if it still has the state's version, and return whether it had."""
    values = (state.newest, json.dumps(dict(state.forgotten)))
    if state.version is None:
        # The first version is random. So a user who was removed and written again does not get a former version.
        sql = "INSERT OR IGNORE INTO users (newest, forgotten, user, version) VALUES (?, ?, ?, random() / 2)"
        return connection.execute(sql, [*values, user]).rowcount == 1
    sql = "UPDATE users SET newest = ?, forgotten = ?, version = version + 1 WHERE user = ? AND version = ?"
    return connection.execute(sql, [*values, user, state.version]).rowcount == 1


def remove_users(database: Database, users: tuple[str, ...]) -> set[str]:
    wanted = [id_list(users)]
    with database.transaction() as connection:
        connection.execute(f"DELETE FROM filters WHERE {_IN_USERS}", wanted)
        removed = connection.execute(f"DELETE FROM users WHERE {_IN_USERS} RETURNING user", wanted).fetchall()
    return {user for (user,) in removed}


def list_users(database: Database, before: int, without: tuple[str, ...] = ()) -> list[str]:
    sql = f"""
        SELECT user FROM users WHERE newest > 0 AND newest < ? AND NOT {_IN_USERS}
        AND typeof(user) = 'text' AND instr(user, char(0)) = 0 LIMIT {_PAGE}
    """
    with database.use() as connection:
        return [user for (user,) in connection.execute(sql, [before, id_list(without)])]
