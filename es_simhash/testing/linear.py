"""The slow twin of every store: it holds everything in memory and looks at all of it each time."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.contract import (
    Annotate,
    Candidates,
    Changed,
    ChangeUsers,
    Count,
    Dependents,
    Describe,
    DescribeSeen,
    Fetch,
    FetchFields,
    FetchUsers,
    ListUsers,
    Probe,
    Refresh,
    Relink,
    Remove,
    RemoveUsers,
    Request,
    Row,
    Scan,
    ScanPage,
    SetUp,
    SetUpSeen,
    UserState,
    Write,
    Written,
)
from es_simhash.search.filters import matches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract import Link
    from es_simhash.fingerprinting.scheme import Scheme

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

    def perform(self, op: Request[R]) -> R:
        reply: Any = self._perform(op)
        if not self._lagging:
            self._searchable = dict(self._rows)
        return reply  # type: ignore[no-any-return]

    def close(self) -> None:
        pass

    def _perform(self, op: Request[Any]) -> Any:
        match op:
            case Describe():
                return self._scheme
            case SetUp(scheme):
                created, self._scheme = self._scheme is None, scheme
                return "created" if created else "unchanged"
            case Fetch(ids):
                return {id: self._rows[id][0] for id in ids if id in self._rows}
            case FetchFields(ids, fields):
                return {id: _some(json.loads(self._rows[id][1]), fields) for id in ids if id in self._rows}
            case Candidates():
                return self._candidates(op)
            case Dependents(originals, heads):
                return {
                    row.id
                    for row, _ in self._searchable.values()
                    if row.duplicate_of in originals or (row.group in heads and row.group != row.id)
                }
            case Write(entries):
                for entry in entries:
                    self._write(entry.row, entry.source)
                return Written({}, searchable=not self._lagging)
            case Annotate(rows):
                conflicts = frozenset(row.id for row in rows if not self._annotate(row))
                return Written({}, searchable=not self._lagging, conflicts=conflicts)
            case Remove(ids, versions):
                there = {id for id in ids if id in self._rows}
                removed = {id for id in there if id not in versions or self._rows[id][0].version == versions[id]}
                for id in removed:
                    del self._rows[id]
                return removed
            case Scan():
                return self._scan(op)
            case Count(scan):
                return len(self._scan(scan).rows)
            case Relink(links):
                return {id for id, link in links.items() if not self._relink(id, link)}
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

    def _write(self, row: Row, source: str) -> None:
        self._written += 1
        self._rows[row.id] = replace(row, version=self._written), source

    def _annotate(self, row: Row) -> bool:
        stored, source = self._rows.get(row.id, (None, ""))
        if stored is None or stored.version != row.version:
            return False
        self._write(row, source)
        return True

    def _relink(self, id: str, link: Link) -> bool:
        if id not in self._rows or self._rows[id][0].version != link.version:
            return False
        row, source = self._rows[id]
        self._written += 1
        row = replace(row, group=link.group, duplicate_of=link.duplicate_of, version=self._written)
        self._rows[id] = row, source
        return True

    def _scan(self, op: Scan) -> ScanPage:
        found = [
            (row, json.loads(source))
            for row, source in self._searchable.values()
            if _wanted(row, source, op.filter)
            and not (op.missing and row.digest)
            and (row.digest or op.fields is not None)
            and (op.slice is None or zlib.crc32(row.id.encode()) % op.slice[1] == op.slice[0])
        ]
        fields = op.fields or ()
        sources = [_some(source, fields) for _, source in found]
        return ScanPage([row for row, _ in found], None, [] if op.fields is None else sources)

    def _candidates(self, op: Candidates) -> list[Row]:
        found = [
            row
            for row, source in self._searchable.values()
            if row.id not in op.without
            and any(is_near(row, probe, op.max_distance) for probe in op.probes)
            and _wanted(row, source, op.filter)
        ]
        if not op.one_per_digest:
            return found
        return list({row.digest: row for row in sorted(found, key=_age, reverse=True)}.values())


def _some(source: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    names = {field.split(".")[0] for field in fields} | set(fields)
    return {name: value for name, value in source.items() if name in names}


def _age(row: Row) -> tuple[int, str]:
    return row.written, row.id


def is_near(row: Row, probe: Probe, max_distance: int) -> bool:
    if row.digest == probe.digest:
        return True
    if row.fingerprint is None or probe.fingerprint is None:
        return False
    return bin(row.fingerprint ^ probe.fingerprint).count("1") <= max_distance


def _wanted(row: Row, source: str, clause: Mapping[str, Any] | None) -> bool:
    return clause is None or matches(json.loads(source), row.id, clause)
