"""The slow twin of every store: it holds everything in memory and looks at all of it each time."""

from __future__ import annotations

import json
import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.ops import (
    Candidates,
    Changed,
    ChangeUsers,
    Describe,
    DescribeSeen,
    Entry,
    Fetch,
    FetchUsers,
    ListUsers,
    Op,
    Probe,
    Refresh,
    Regroup,
    Remove,
    RemoveUsers,
    Row,
    Scan,
    Scanned,
    ScanPage,
    SetUp,
    SetUpSeen,
    UserState,
    Write,
    Written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.core.scheme import Scheme
    from es_simhash.core.seen import SeenConfig

R = TypeVar("R")


class LinearStore:
    """A store in memory that looks at every document each time.

    :param lagging: what is written can be found by Candidates only after the next Refresh, as in Elasticsearch.
    """

    embedded = True
    name = "memory"

    def __init__(self, *, lagging: bool = False) -> None:
        self._lagging = lagging
        self._scheme: Scheme | None = None
        self._written = 0
        self._rows: dict[str, tuple[Row, str]] = {}
        self._searchable: dict[str, tuple[Row, str]] = {}
        self._config: SeenConfig | None = None
        self._users: dict[str, UserState] = {}

    def perform(self, op: Op[R]) -> R:
        reply: Any = self._perform(op)
        if not self._lagging:
            self._searchable = dict(self._rows)
        return reply  # type: ignore[no-any-return]

    def close(self) -> None:
        pass

    def _perform(self, op: Op[Any]) -> Any:
        match op:
            case Describe():
                return self._scheme
            case SetUp(scheme):
                created, self._scheme = self._scheme is None, scheme
                return "created" if created else "unchanged"
            case Fetch(ids):
                return {id: self._rows[id][0] for id in ids if id in self._rows}
            case Candidates():
                return self._candidates(op)
            case Write(entries):
                for entry in entries:
                    self._write(entry)
                return Written({}, searchable=not self._lagging)
            case Remove(ids):
                return {id for id in ids if self._rows.pop(id, None)}
            case Scan():
                rows = [r for r, source in self._searchable.values() if _wanted(source, op.filter)]
                return ScanPage([Scanned(row, row.written) for row in rows], None)
            case Regroup(groups):
                return {id for id, (group, version) in groups.items() if not self._regroup(id, group, version)}
            case DescribeSeen():
                return self._config
            case SetUpSeen(config):
                created, self._config = self._config is None, config
                return "created" if created else "unchanged"
            case FetchUsers(users):
                return {user: self._users[user] for user in users if user in self._users}
            case ChangeUsers(states):
                return Changed(frozenset(user for user, state in states.items() if not self._change(user, state)), {})
            case RemoveUsers(users):
                return {user for user in users if self._users.pop(user, None)}
            case ListUsers(before, without):
                return [u for u, state in self._users.items() if 0 < state.newest < before and u not in without]
            case Refresh():
                self._searchable = dict(self._rows)
        return None

    def _change(self, user: str, state: UserState) -> bool:
        current = self._users.get(user)
        if (current.version if current else None) != state.version:
            return False
        self._written += 1
        self._users[user] = replace(state, version=self._written)
        return True

    def _write(self, entry: Entry) -> None:
        self._written += 1
        row = Row(entry.id, entry.fingerprint, entry.digest, entry.group, entry.duplicate_of, self._written)
        self._rows[entry.id] = (row, entry.source)

    def _regroup(self, id: str, group: str, version: int) -> bool:
        if id not in self._rows or self._rows[id][0].written != version:
            return False
        row, source = self._rows[id]
        self._rows[id] = replace(row, group=group), source
        return True

    def _candidates(self, op: Candidates) -> list[Row]:
        found = [
            row
            for row, source in sorted(self._searchable.values(), key=lambda stored: stored[0].written)
            if row.id not in op.without
            and any(is_near(row, probe, op.max_distance) for probe in op.probes)
            and _wanted(source, op.filter)
        ]
        if not op.one_per_digest:
            return found
        return list({row.digest: row for row in reversed(found)}.values())


def is_near(row: Row, probe: Probe, max_distance: int) -> bool:
    if row.digest == probe.digest:
        return True
    if row.fingerprint is None or probe.fingerprint is None:
        return False
    return bin(row.fingerprint ^ probe.fingerprint).count("1") <= max_distance


def _wanted(source: str, clause: Mapping[str, Any] | None) -> bool:
    return clause is None or satisfies(json.loads(source), clause)


_LIMITS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def satisfies(document: Mapping[str, Any], clause: Mapping[str, Any]) -> bool:
    """Whether a document satisfies a filter clause, of those that every store knows."""
    ((kind, body),) = clause.items()
    match kind:
        case "match_all":
            return True
        case "ids":
            return document["id"] in body["values"]
        case "exists":
            return bool(_values(document, body["field"]))
        case "term":
            return any(value in _values(document, field) for field, value in body.items())
        case "terms":
            return any(value in _values(document, field) for field, values in body.items() for value in values)
        case "range":
            ((field, limits),) = body.items()
            return any(
                all(_LIMITS[k](value, limit) for k, limit in limits.items()) for value in _values(document, field)
            )
        case "bool":
            each = {k: [satisfies(document, c) for c in _list(clauses)] for k, clauses in body.items()}
            required = all(each.get("must", []) + each.get("filter", []))
            return required and not any(each.get("must_not", [])) and any(each.get("should") or [True])
    raise NotImplementedError(kind)


def _list(clauses: Any) -> list[Any]:
    return clauses if isinstance(clauses, list) else [clauses]


def _values(document: Mapping[str, Any], field: str) -> list[Any]:
    value = document.get(field)
    return value if isinstance(value, list) else [] if value is None else [value]
