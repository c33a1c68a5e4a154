"""Seen items in the file: a row for each user, and one for each of the user's filters."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from es_simhash.store.sqlite.schema import json_list, new_version
from es_simhash.store.types import UserState, Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from sqlite3 import Connection

_PAGE = 1_000
"""Users in a list of :func:`list_users`."""
_OF_USERS = "user IN (SELECT value FROM json_each(?))"


def read_users(connection: Connection, users: Sequence[str]) -> dict[str, UserState]:
    """Return the states of users."""
    filters: defaultdict[str, list[Any]] = defaultdict(list)
    parameters = [json_list(users)]
    for user, value in connection.execute(
        f"SELECT user, value FROM filters WHERE {_OF_USERS} ORDER BY position", parameters
    ):
        filters[user].append(value)
    found = connection.execute(f"SELECT user, newest, forgotten, version FROM users WHERE {_OF_USERS}", parameters)
    return {user: _state(filters[user], *values) for user, *values in found}


def _state(filters: list[Any], newest: Any, forgotten: Any, version: int) -> UserState:
    try:
        if not all(isinstance(value, bytes) for value in filters):
            raise TypeError("a filter is not a BLOB")
        generations = {item: int(generation) for item, generation in json.loads(forgotten).items()}
        return UserState(tuple(filters), int(newest), generations, version)
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        return UserState(version=version, damaged=f"the row is not what this library writes ({error})")


def write_users(connection: Connection, states: Mapping[str, UserState]) -> Written:
    """Write the state of each user, on its version."""
    stored = dict(connection.execute(f"SELECT user, version FROM users WHERE {_OF_USERS}", [json_list(states)]))
    accepted = {user: state for user, state in states.items() if stored.get(user) == state.version}
    version = new_version()
    connection.executemany(
        "INSERT OR REPLACE INTO users VALUES (?, ?, ?, ?)",
        [(user, version, state.newest, json.dumps(dict(state.forgotten))) for user, state in accepted.items()],
    )
    connection.execute(f"DELETE FROM filters WHERE {_OF_USERS}", [json_list(accepted)])
    connection.executemany(
        "INSERT INTO filters VALUES (?, ?, ?)",
        [(user, *numbered) for user, state in accepted.items() for numbered in enumerate(state.filters)],
    )
    return Written({}, frozenset(states.keys() - accepted.keys()), dict.fromkeys(accepted, version))


def remove_users(connection: Connection, users: Sequence[str]) -> frozenset[str]:
    """Remove users. Returns those that were there."""
    parameters = [json_list(users)]
    there = connection.execute(f"SELECT user FROM users WHERE {_OF_USERS}", parameters).fetchall()
    for table in ("users", "filters"):
        connection.execute(f"DELETE FROM {table} WHERE {_OF_USERS}", parameters)
    return frozenset(user for (user,) in there)


def list_users(connection: Connection, before: int, after: str | None) -> list[str]:
    """Return users whose newest generation started before a time, in the order of their ids."""
    sql = f"SELECT user FROM users WHERE newest > 0 AND newest < ? AND user > ? ORDER BY user LIMIT {_PAGE}"
    return [user for (user,) in connection.execute(sql, [before, after or ""])]
