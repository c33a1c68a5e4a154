"""The reference implementation of a store: it keeps everything in memory, and looks at every document each time."""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from dataclasses import asdict, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from es_simhash.contract import (
    Changed,
    FingerprintPage,
    Found,
    KeysState,
    Location,
    Place,
    Row,
    ScanPage,
    StoredRule,
    Written,
    scheme_mismatch,
    seen_mismatch,
)
from es_simhash.contract.store import NO_VERSIONS
from es_simhash.errors import InputError, NotSetUp
from es_simhash.search.filters import matches, parse_filter
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.keys import KeyIndex
from es_simhash.search.times import time_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.contract import Candidates, Entry, Link, Probe, Scan, UserState
    from es_simhash.fingerprinting.scheme import Scheme

P = ParamSpec("P")
R = TypeVar("R")


def _locked(method: Callable[Concatenate[LinearStore, P], R]) -> Callable[Concatenate[LinearStore, P], R]:
    """Let one thread at a time call a method. Unless the store lags, searches see at once what was written."""

    @wraps(method)
    def locked(self: LinearStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            result = method(self, *args, **kwargs)
            if not self.lagging:
                self.searchable = dict(self.rows)
            return result

    return locked


class LinearStore:
    """A store in memory that looks at every document for every search.

    :param lagging: True for a store like Elasticsearch: searches see what was written after the next ``refresh``.
    """

    embedded = True
    name = "memory"

    def __init__(self, *, lagging: bool = False) -> None:
        self.lagging = lagging
        self.lock = threading.RLock()
        self._scheme: Scheme | None = None
        self._keys = KeysState.NONE
        self._rule = StoredRule()
        self._last_version = 0
        self.rows: dict[str, tuple[Row, str]] = {}
        self.searchable: dict[str, tuple[Row, str]] = {}
        self._config: SeenConfig | None = None
        self._users: dict[str, UserState] = {}

    def close(self) -> None:
        """Do nothing."""

    # --- set-up ----------------------------------------------------------------------------------------------------

    def identify(self) -> Place:
        return frozenset({(self.name, "")})

    @_locked
    def describe(self) -> Scheme | None:
        return self._scheme

    @_locked
    def set_up(self, scheme: Scheme, keys: bool = False, template: bool = False) -> str:
        if template:
            raise InputError(f"{self.name} does not roll over: leave the template out")
        if self._scheme is None:
            self._scheme = scheme
            self._keys = KeysState.COMPLETE if keys else KeysState.NONE
            return "created"
        if self._scheme != scheme:
            raise scheme_mismatch(self._scheme, scheme, self.name)
        return "unchanged"

    @_locked
    def describe_keys(self) -> KeysState:
        return self._keys

    @_locked
    def set_up_keys(self) -> str:
        self._check_set_up()
        if self._keys is not KeysState.NONE:
            return "unchanged"
        has_documents = any(row.digest for row, _ in self.rows.values())
        self._keys = KeysState.INCOMPLETE if has_documents else KeysState.COMPLETE
        return "added"

    @_locked
    def complete_keys(self) -> None:
        self._check_set_up()
        if self._keys is KeysState.INCOMPLETE:
            self._keys = KeysState.COMPLETE

    @_locked
    def describe_rule(self) -> StoredRule:
        return self._rule

    @_locked
    def keep_rule(self, rule: StoredRule, replace: bool = False) -> None:
        self._check_set_up()
        self._rule = self._rule.updated(rule) if replace else rule.updated(self._rule)

    def _check_set_up(self) -> None:
        if self._scheme is None:
            raise NotSetUp(f"{self.name} is not set up: call set_up first")

    @_locked
    def describe_seen(self) -> SeenConfig | None:
        return self._config

    @_locked
    def set_up_seen(self, config: SeenConfig) -> str:
        if self._config is None:
            self._config = config
            return "created"
        if self._config != config:
            raise seen_mismatch(self._config, config.to_dict(), self.name)
        return "unchanged"

    # --- documents by id -------------------------------------------------------------------------------------------

    @_locked
    def check_time_field(self, field: str) -> None:
        """Do nothing: the time of a document is read from the document itself."""

    @_locked
    def fetch(self, ids: tuple[str, ...], time_field: str | None = None) -> dict[str, Row]:
        found = {id: self.rows[id] for id in ids if id in self.rows}
        return {id: _with_time(row, source, time_field) for id, (row, source) in found.items()}

    @_locked
    def fetch_fields(self, ids: tuple[str, ...], fields: tuple[str, ...] | None) -> dict[str, dict[str, Any]]:
        found = {id: self.rows[id][1] for id in ids if id in self.rows}
        return {id: _select_fields(source, fields) for id, source in found.items()}

    def clock_difference(self) -> int:
        return 0

    @_locked
    def write(self, entries: tuple[Entry, ...], bits: int, pipeline: str | None = None) -> Written:
        conflicts = set()
        for entry in entries:
            if self._version(entry.row.id) == entry.row.version:
                self._put(entry.row, entry.source)
            else:
                conflicts.add(entry.row.id)
        return Written({}, searchable=not self.lagging, conflicts=frozenset(conflicts))

    @_locked
    def fetch_whole(self, ids: tuple[str, ...]) -> dict[str, str]:
        found = {id: self.rows[id] for id in ids if id in self.rows}
        return {
            id: json.dumps(asdict(row) | {"version": None, "source": source}) for id, (row, source) in found.items()
        }

    @_locked
    def restore(self, whole: Mapping[str, str]) -> Written:
        conflicts = frozenset(whole.keys() & self.rows.keys())
        for id in whole.keys() - conflicts:
            values = json.loads(whole[id])
            source = values.pop("source")
            self._put(Row(**values | {"keys": tuple(values["keys"])}), source)
        return Written({}, searchable=not self.lagging, conflicts=conflicts)

    @_locked
    def annotate(self, rows: tuple[Row, ...], bits: int) -> Written:
        conflicts = set()
        for row in rows:
            if self._has_version(row.id, row.version):
                stored, source = self.rows[row.id]
                self._put(replace(row, content=stored.content), source)
            else:
                conflicts.add(row.id)
        return Written({}, searchable=not self.lagging, conflicts=frozenset(conflicts))

    @_locked
    def remove(self, ids: tuple[str, ...], versions: Mapping[str, Any] = NO_VERSIONS) -> set[str]:
        removed = {id for id in ids if id in self.rows and (id not in versions or self._has_version(id, versions[id]))}
        for id in removed:
            del self.rows[id]
        return removed

    @_locked
    def relink(self, links: Mapping[str, Link]) -> set[str]:
        return {id for id, link in links.items() if not self._put_link(id, link)}

    @_locked
    def refresh(self) -> None:
        self.searchable = dict(self.rows)

    def _version(self, id: str) -> Any:
        return self.rows[id][0].version if id in self.rows else None

    def _has_version(self, id: str, version: Any) -> bool:
        return id in self.rows and self._version(id) == version

    def _put(self, row: Row, source: str) -> None:
        self.rows[row.id] = replace(row, version=self._next_version(), time=None), source

    def _put_link(self, id: str, link: Link) -> bool:
        """Change the links of a document, and return whether it still had the version."""
        if not self._has_version(id, link.version):
            return False
        row, source = self.rows[id]
        self._put(replace(row, group=link.group, duplicate_of=link.duplicate_of), source)
        return True

    def _next_version(self) -> int:
        self._last_version += 1
        return self._last_version

    # --- search ----------------------------------------------------------------------------------------------------

    @_locked
    def read_fingerprints(
        self, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
    ) -> FingerprintPage | None:
        if most is not None and len(self.searchable) > most:
            return None
        before = after or 0
        rows = [row for row, _ in self.searchable.values() if row.version > before]
        last = max((row.version for row in rows), default=before)
        others = 0 if after is None or own is None else last - before - own
        if own is not None and not others:
            rows = []
        if keys:
            of_texts = [(row.keys, row.length) for row in rows if row.length is not None]
            return FingerprintPage((), last, more=False, others=others, keys=of_texts)
        values = [row.fingerprint for row in rows if row.fingerprint is not None]
        return FingerprintPage(values, last, more=False, others=others)

    @_locked
    def candidates(self, query: Candidates) -> Found:
        found: dict[str, Row] = {}
        left_out: dict[int, int] = {}
        for times in dict.fromkeys(probe.times for probe in query.probes):
            numbers = [number for number, probe in enumerate(query.probes) if probe.times == times]
            probes = tuple(query.probes[number] for number in numbers)
            reply = self._candidates_in_times(replace(query, probes=probes), times)
            found |= {row.id: row if query.with_keys else _without_keys(row) for row in reply.rows}
            left_out |= {numbers[number]: count for number, count in reply.left_out.items()}
        return Found(list(found.values()), left_out, frozenset(self.searchable.keys() & set(query.ids)))

    def _candidates_in_times(self, query: Candidates, times: tuple[int, int] | None) -> Found:
        """Return the reply to a query whose Probes all have the same times."""
        searchable = [_with_time(row, source, query.time_field) for row, source in self.searchable.values()]
        every = sorted(searchable, key=_write_order)
        allowed = {row.id for row, _ in self._matching(query.filter)}.difference(query.without)
        allowed &= {row.id for row in every if _in_times(row, times)}
        rows = [row for row in every if row.id in allowed]
        found, left_out = self._near(rows, query)
        queries = [probe.queries for probe in query.probes]
        keys = KeyIndex([row.keys for row in every], [row.length for row in every], queries)
        for number, some in enumerate(queries):
            indices, scores = keys.sharing(some)
            ranked = [every[index] for index in indices[np.argsort(-scores, kind="stable")]]
            ranked = [row for row in ranked if row.id in allowed]
            if query.one_per_digest:
                ranked = _one_per_digest(ranked)
            most = query.probes[number].most or query.most
            found |= {row.id: row for row in ranked[:most]}
            if len(ranked) > most:
                left_out[number] = left_out.get(number, 0) + len(ranked) - most
        reply = sorted(found.values(), key=_write_order)
        return Found(_one_per_digest(reply) if query.one_per_digest else reply, left_out)

    def _near(self, rows: list[Row], query: Candidates) -> tuple[dict[str, Row], dict[int, int]]:
        """Return the Rows that digests and fingerprints find, and how many were left out by the index of the Probe."""
        if query.one_per_digest:
            rows = _one_per_digest(rows)
        digests = {probe.digest for probe in query.probes}
        found = {row.id: row for row in rows if row.digest in digests}
        crowds: Counter[int | None] = Counter()
        for row in rows:
            distances = [hamming_distance(row.fingerprint, probe.fingerprint) for probe in query.probes]
            if any(bits is not None and bits <= query.max_distance for bits in distances):
                crowds[row.fingerprint] += 1
                if query.per_fingerprint is None or crowds[row.fingerprint] <= query.per_fingerprint:
                    found[row.id] = row
        most = query.per_fingerprint
        if most is None or most == 1:
            return found, {}
        return found, query.left_out_of(
            {v: count - most for v, count in crowds.items() if count > most and v is not None}, {}
        )

    @_locked
    def dependents(self, originals: tuple[str, ...], heads: tuple[str, ...]) -> set[str]:
        return {
            row.id
            for row, _ in self.searchable.values()
            if row.duplicate_of in originals or (row.group in heads and row.group != row.id)
        }

    @_locked
    def scan(self, scan: Scan) -> ScanPage:
        found = [
            (row, source)
            for row, source in self._matching(scan.filter)
            if not (scan.missing and row.digest)
            and (row.digest or scan.fields is not None)
            and (scan.slice is None or zlib.crc32(row.id.encode()) % scan.slice[1] == scan.slice[0])
        ]
        rows = [_with_time(_without_keys(row), source, scan.time_field) for row, source in found]
        if scan.fields is None:
            return ScanPage(rows, None, [])
        return ScanPage(rows, None, [_select_fields(source, scan.fields) for _, source in found])

    @_locked
    def count(self, scan: Scan) -> int:
        return len(self.scan(scan).rows)

    def _matching(self, filter: Mapping[str, Any] | None) -> list[tuple[Row, str]]:
        """Return the Rows and sources of searchable documents that match a filter."""
        searchable = list(self.searchable.values())
        if filter is None:
            return searchable
        parse_filter(filter)  # raises for an invalid filter, even if there is no document
        return [(row, source) for row, source in searchable if matches(json.loads(source), row.id, filter)]

    # --- seen items ------------------------------------------------------------------------------------------------

    @_locked
    def fetch_users(self, users: tuple[str, ...]) -> dict[str, UserState]:
        return {user: self._users[user] for user in users if user in self._users}

    @_locked
    def change_users(self, states: Mapping[str, UserState]) -> Changed:
        conflicts = set()
        for user, state in states.items():
            stored = self._users.get(user)
            if (stored.version if stored else None) == state.version:
                self._users[user] = replace(state, version=self._next_version())
            else:
                conflicts.add(user)
        return Changed(frozenset(conflicts), {})

    @_locked
    def remove_users(self, users: tuple[str, ...]) -> set[str]:
        return {user for user in users if self._users.pop(user, None)}

    @_locked
    def list_users(self, before: int, without: tuple[str, ...] = ()) -> list[str]:
        return [user for user, state in self._users.items() if 0 < state.newest < before and user not in without]

    # --- the store itself ------------------------------------------------------------------------------------------

    @_locked
    def locate(self) -> Location:
        return Location(self._scheme is not None or self._config is not None, len(self.rows))


def is_near(row: Row, probe: Probe, max_distance: int) -> bool:
    """Return whether a document is what a Probe looks for: it has the digest, or it is within max_distance."""
    if row.digest == probe.digest:
        return True
    if row.fingerprint is None or probe.fingerprint is None:
        return False
    return (row.fingerprint ^ probe.fingerprint).bit_count() <= max_distance


def _select_fields(source: str, fields: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the fields of a document, None for all; of a field with a dot, the object that it leads into."""
    if fields is None:
        return dict(json.loads(source))
    names = {field.split(".")[0] for field in fields} | set(fields)
    return {name: value for name, value in json.loads(source).items() if name in names}


def _with_time(row: Row, source: str, field: str | None) -> Row:
    return row if field is None else replace(row, time=time_or_none(json.loads(source), field))


def _in_times(row: Row, times: tuple[int, int] | None) -> bool:
    return times is None or (row.time is not None and times[0] <= row.time <= times[1])


def _without_keys(row: Row) -> Row:
    return replace(row, keys=(), length=None)


def _one_per_digest(rows: list[Row]) -> list[Row]:
    """Return the first of the Rows with each digest."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.digest, row)
    return list(first.values())


def _write_order(row: Row) -> tuple[int, str]:
    return row.written, row.id
