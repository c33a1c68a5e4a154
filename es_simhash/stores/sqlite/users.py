"""Requests on seen items: a row a user with a version, and a row for each of the user's filters."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import (
    Changed,
    ChangeUsers,
    DescribeSeen,
    FetchUsers,
    ListUsers,
    RemoveUsers,
    SetUpSeen,
    UserState,
)
from es_simhash.errors import StoreError
from es_simhash.stores.sqlite.answer import answer

if TYPE_CHECKING:
    import sqlite3

    from es_simhash.stores.sqlite.database import Database

FORMAT = "1"
_PAGE = 1_000
_TABLES = [
    """CREATE TABLE IF NOT EXISTS users (
        user TEXT PRIMARY KEY,
        version INTEGER NOT NULL,
        newest INTEGER NOT NULL,
        forgotten TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS users_newest ON users (newest)",
    "CREATE TABLE IF NOT EXISTS filters (user TEXT, place INTEGER, value BLOB NOT NULL, PRIMARY KEY (user, place))",
]
_USERS = "user IN (SELECT value FROM json_each(?))"


@answer.register(DescribeSeen)
def _describe_seen(op: DescribeSeen, database: Database) -> SeenConfig | None:
    meta = database.meta()
    if "seen" not in meta:
        return None
    if meta["users"] != FORMAT:
        found = meta["users"]
        raise StoreError(f"{database.name} has seen items of format {found}, this release reads {FORMAT}: upgrade")
    return SeenConfig.from_dict(json.loads(meta["seen"]))


@answer.register(SetUpSeen)
def _set_up_seen(op: SetUpSeen, database: Database) -> str:
    return database.make(_TABLES, {"users": FORMAT, "seen": json.dumps(op.config.to_dict())})


@answer.register(FetchUsers)
def _fetch_users(op: FetchUsers, database: Database) -> dict[str, UserState]:
    users = json.dumps(op.users)
    filters: defaultdict[str, list[bytes]] = defaultdict(list)
    with database.transaction(write=False) as connection:
        for user, value in connection.execute(
            f"SELECT user, value FROM filters WHERE {_USERS} ORDER BY place", [users]
        ):
            filters[user].append(value)
        sql = f"SELECT user, newest, forgotten, version FROM users WHERE {_USERS}"
        return {user: _state(filters[user], *row) for user, *row in connection.execute(sql, [users])}


def _state(filters: list[Any], newest: Any, forgotten: Any, version: int) -> UserState:
    try:
        if not all(isinstance(value, bytes) for value in filters):
            raise TypeError("a filter that is no BLOB")
        places = {item: int(generation) for item, generation in json.loads(forgotten).items()}
        return UserState(tuple(filters), int(newest), places, version)
    except (TypeError, ValueError, AttributeError) as error:
        return UserState(version=version, damaged=f"the row is not what this library writes ({error})")


@answer.register(ChangeUsers)
def _change_users(op: ChangeUsers, database: Database) -> Changed:
    conflicts = set()
    with database.transaction() as connection:
        for user, state in op.states.items():
            if not _claim(connection, user, state):
                conflicts.add(user)
                continue
            connection.execute("DELETE FROM filters WHERE user = ?", [user])
            rows = [(user, place, value) for place, value in enumerate(state.filters)]
            connection.executemany("INSERT INTO filters VALUES (?, ?, ?)", rows)
    return Changed(frozenset(conflicts), {})


def _claim(connection: sqlite3.Connection, user: str, state: UserState) -> bool:
    """Write the user's row if its version is still the one that was read."""
    values = (state.newest, json.dumps(dict(state.forgotten)))
    if state.version is None:
        # Versions begin at random: those of a row that was removed and made anew since are not to be taken for its own.
        sql = "INSERT OR IGNORE INTO users (newest, forgotten, user, version) VALUES (?, ?, ?, random() / 2)"
        return connection.execute(sql, [*values, user]).rowcount == 1
    sql = "UPDATE users SET newest = ?, forgotten = ?, version = version + 1 WHERE user = ? AND version = ?"
    return connection.execute(sql, [*values, user, state.version]).rowcount == 1


@answer.register(RemoveUsers)
def _remove_users(op: RemoveUsers, database: Database) -> set[str]:
    users = [json.dumps(op.users)]
    with database.transaction() as connection:
        connection.execute(f"DELETE FROM filters WHERE {_USERS}", users)
        return {
            row[0] for row in connection.execute(f"DELETE FROM users WHERE {_USERS} RETURNING user", users).fetchall()
        }


@answer.register(ListUsers)
def _list_users(op: ListUsers, database: Database) -> list[str]:
    sql = f"SELECT user FROM users WHERE newest > 0 AND newest < ? AND NOT {_USERS} LIMIT {_PAGE}"
    with database.use() as connection:
        return [row[0] for row in connection.execute(sql, [op.before, json.dumps(op.without)])]
