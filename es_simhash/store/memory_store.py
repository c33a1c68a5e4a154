"""The store in memory: for one program, until it ends. ``dedupe``, ``distinct`` and ``pairs`` ingest into it."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from es_simhash.errors import NotSetUp
from es_simhash.filters import parse_filter
from es_simhash.near.columns import Columns
from es_simhash.parts import in_parts
from es_simhash.rows import Description, Hits, Row, Scan, Stored, UserState, Written
from es_simhash.similarity.text_fields import field_value
from es_simhash.store.description import extended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.near.columns import Matching
    from es_simhash.rows import Entry, SeenTime, StoreQuery
    from es_simhash.store.protocol import Filter

_PAGE = 1_000


class MemoryStore:
    """Documents and seen items in memory: :class:`~es_simhash.store.protocol.Store`."""

    name = "memory"
    lags = False
    in_memory = True

    def __init__(self) -> None:
        self._description: Description | None = None
        self._columns = Columns(keys=True, fingerprints=True)
        self._sources: dict[str, str] = {}
        self._users: dict[str, UserState] = {}
        self._versions = count(1)
        self._lock = threading.RLock()

    def describe(self) -> Description:
        """Return how the store was set up."""
        if self._description is None:
            raise NotSetUp("the store in memory is not set up: call setup()")
        return self._description

    def set_up(self, wanted: Description, *, change: bool = False) -> str:
        """Make what is missing."""
        former = self._description
        self._description = extended(former, wanted, self.name, change=change)
        return "created" if former is None else "unchanged" if former == self._description else "added"

    def close(self) -> None:
        """Do nothing: the documents go with the object."""

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id."""
        with self._lock:
            rows = ((id, self._columns.row(id)) for id in ids)
            return {id: Stored(row, (), chosen(self._sources[id], fields)) for id, row in rows if row is not None}

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds."""
        with self._lock:
            matching, every = self._matching(filter), len(self._columns)
            return self._columns.search(queries, originals=originals, matching=matching, most=every)

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""
        with self._lock:
            return self._columns.members(groups)

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists."""
        with self._lock:
            matching = self._matching(scan.filter)
            ids = self._sources.keys() if matching is None else matching(list(self._sources))
            rows = [
                row
                for row in self._columns.rows()
                if (scan.missing is None or scan.missing != bool(row.digest))
                and (scan.since is None or row.written >= scan.since)
                and (row.pinned or not scan.pinned)
                and row.id in ids
            ]
            if scan.by_order:
                rows.sort(key=lambda row: row.order)
            if scan.by_field is not None:
                values = {row.id: field_value(document_of(self._sources[row.id]), scan.by_field) for row in rows}
                rows.sort(key=lambda row: (values[row.id] is None, values[row.id]))
            keys = self._columns.keys_of(rows) if scan.keys else [()] * len(rows)
            documents = [
                Stored(row, own, chosen(self._sources[row.id], scan.fields))
                for row, own in zip(rows, keys, strict=True)
            ]
        yield from map(list, in_parts(documents, _PAGE))

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan reads."""
        return sum(map(len, self.scan(scan)))

    def refresh(self) -> None:
        """Do nothing: a write is found at once."""

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        with self._lock:
            stored = {entry.row.id: self._columns.row(entry.row.id) for entry in entries}
            versions = {id: row.version for id, row in stored.items() if row is not None}
            accepted = [entry for entry in entries if entry.may_replace(versions.get(entry.row.id))]
            rows = [entry.row._replace(version=next(self._versions)) for entry in accepted]
            for entry in accepted:
                if entry.source is not None:
                    self._sources[entry.row.id] = entry.source
            self._columns.enter(rows, [entry.keys for entry in accepted])
            versions = {row.id: row.version for row in rows}
            return Written({}, frozenset(entry.row.id for entry in entries) - versions.keys(), versions)

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        with self._lock:
            stored = {id: row for id in versions if (row := self._columns.row(id)) is not None}
            conflicts = {id for id, row in stored.items() if versions[id] not in (None, row.version)}
            for id in versions.keys() - conflicts:
                self._columns.drop(id)
                self._sources.pop(id, None)
            return Written({}, frozenset(conflicts), {})

    def read_users(self, users: Sequence[str]) -> dict[str, UserState]:
        """Return the states of users."""
        return {user: self._users[user] for user in users if user in self._users}

    def write_users(self, states: Mapping[str, UserState]) -> Written:
        """Write the state of each user, on its version."""
        with self._lock:
            versions = {}
            for user, state in states.items():
                if self._users.get(user, UserState()).version == state.version:
                    versions[user] = next(self._versions)
                    self._users[user] = replace(state, version=versions[user])
                    if state.seen is None:
                        del self._users[user]
            return Written({}, frozenset(states.keys() - versions.keys()), versions)

    def list_users(self, time: SeenTime, before: int) -> Iterator[list[str]]:
        """Yield the users of whom one of the two times is before another one."""
        yield [user for user, state in sorted(self._users.items()) if 0 < state.seen[time] < before]

    def _matching(self, filter: Filter | None) -> Matching | None:
        """Return what says which documents match a filter; None without one."""
        if filter is None:
            return None
        matches = parse_filter(filter)
        return lambda ids: {id for id in ids if matches(document_of(self._sources[id]), id)}


def chosen(source: str | None, fields: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the fields of a stored document that were asked for; None if none were."""
    if source is None or (fields is not None and not fields):
        return None
    document = document_of(source)
    return document if fields is None else _chosen_fields(document, fields)


def document_of(source: str) -> dict[str, Any]:
    """Return a stored document; an empty one if another program wrote something else."""
    try:
        document = json.loads(source)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _chosen_fields(document: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Return some fields of a document. A dot leads into an object, and into each object of an array."""
    chosen: dict[str, Any] = {}
    for name, value in document.items():
        inside = [field.removeprefix(f"{name}.") for field in fields if field.startswith(f"{name}.")]
        if name in fields:
            chosen[name] = value
        elif inside and (part := _chosen_inside(value, inside)):
            chosen[name] = part
    return chosen


def _chosen_inside(value: Any, fields: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [part for each in value if (part := _chosen_inside(each, fields))]
    return _chosen_fields(value, fields) if isinstance(value, dict) else None
