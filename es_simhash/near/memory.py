"""The rows of documents in memory, found by id, by digest, and by what may be near."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.near.fingerprint_index import FingerprintIndex
from es_simhash.near.key_index import KeyIndex, Scored
from es_simhash.store.types import SAME, Hits, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_simhash.store.types import Probe

_NONE = Scored(np.zeros(0, dtype=np.int64))


class Memory:
    """Rows in the order in which they were entered. A row that is entered takes the place of one with its id.

    :param keys: rows are found by their keys.
    :param fingerprints: rows are found by their fingerprints.
    """

    def __init__(self, *, keys: bool, fingerprints: bool) -> None:
        self._rows: list[Row | None] = []
        self._positions: dict[str, int] = {}
        self._orders = np.zeros(1024, dtype=np.int64)
        self._is_head = np.zeros(1024, dtype=np.bool_)
        self._is_there = np.zeros(1024, dtype=np.bool_)
        self._by_digest: dict[str, list[tuple[int, int]]] = {}
        self._members: dict[str, set[str]] = {}
        self._by_keys, self._by_fingerprints = keys, fingerprints
        self._keys, self._fingerprints = KeyIndex(), FingerprintIndex()
        self._with_fingerprint = np.zeros(1024, dtype=np.int64)
        self._count_with_fingerprint = 0

    def __len__(self) -> int:
        return len(self._positions)

    def rows(self) -> Iterable[Row]:
        """Return all rows, in the order in which they were entered."""
        return (row for row in self._rows if row is not None)

    def row(self, id: str) -> Row | None:
        """Return the row with an id."""
        position = self._positions.get(id)
        return None if position is None else self._rows[position]

    def members(self, heads: Iterable[str]) -> list[Row]:
        """Return the rows that are copies of one of these heads."""
        ids = (id for head in heads for id in sorted(self._members.get(head, ())))
        return [row for id in ids if (row := self.row(id)) is not None]

    def enter(self, rows: Sequence[Row], keys: Sequence[Sequence[int]]) -> None:
        """Enter rows with different ids, each with the keys of its text."""
        for position, row in zip(self.add(rows, keys), rows, strict=True):
            self.admit(position, row)

    def add(self, rows: Sequence[Row], keys: Sequence[Sequence[int]]) -> range:
        """Add rows, and return their positions. ``search`` finds them as heads, but no id leads to them yet."""
        first = len(self._rows)
        self._grow(first + len(rows))
        for position, row in enumerate(rows, first):
            self._rows.append(row)
            self._orders[position], self._is_there[position], self._is_head[position] = row.order, True, True
            if row.digest:
                insort(self._by_digest.setdefault(row.digest, []), (row.order, position))
        if self._by_keys:
            self._keys.add(keys, [row.length for row in rows])
        if self._by_fingerprints:
            self._add_fingerprints(rows, first)
        return range(first, len(self._rows))

    def admit(self, position: int, row: Row) -> None:
        """Let the id of a row lead to a position, and take away the row that it led to."""
        self.drop(row.id)
        self._positions[row.id] = position
        self._set(position, row)

    def cancel(self, position: int) -> None:
        """Take a row away that was added and not admitted."""
        self._rows[position] = None
        self._is_there[position] = self._is_head[position] = False

    def replace(self, row: Row) -> None:
        """Replace a row by one of the same text."""
        position = self._positions[row.id]
        self._unlink(position)
        self._set(position, row)

    def set_version(self, id: str, version: Any) -> None:
        """Set the version of a row."""
        position = self._positions[id]
        row = self._rows[position]
        assert row is not None
        self._rows[position] = row._replace(version=version)

    def drop(self, id: str) -> None:
        """Take the row with an id away, if there is one."""
        if (position := self._positions.pop(id, None)) is not None:
            self._unlink(position)
            self.cancel(position)

    def search(
        self,
        probes: Sequence[Probe],
        *,
        heads: bool,
        matches: Callable[[Row], bool] | None = None,
        before: Sequence[int] | None = None,
    ) -> list[Hits]:
        """Return what may be near each Probe, as :meth:`es_simhash.store.protocol.Store.search` does.

        Rows that are not admitted come on top of the most that a Probe asks for: many may turn out to be copies.

        :param matches: only rows that it allows.
        :param before: for each Probe, only rows with a smaller order.
        """
        results = []
        for number, (probe, near) in enumerate(zip(probes, self._near(probes), strict=True)):
            limit = None if before is None else before[number]
            same = self._same(probe, heads, matches, limit)
            results.append(self._hits(probe, near, same, heads, matches, limit))
        return results

    def _near(self, probes: Sequence[Probe]) -> list[Scored]:
        """Return for each Probe the positions of all rows that may be near."""
        near = [_NONE] * len(probes)
        numbers = [number for number, probe in enumerate(probes) if probe.queries]
        found_by_keys = self._keys.near([probes[number].queries for number in numbers]) if numbers else []
        for number, scored in zip(numbers, found_by_keys, strict=True):
            near[number] = scored
        by_distance: dict[int, dict[int, int]] = {}
        for number, probe in enumerate(probes):
            if probe.fingerprint is not None:
                by_distance.setdefault(probe.distance, {})[number] = probe.fingerprint
        for distance, values in by_distance.items():
            found = self._fingerprints.near(list(values.values()), distance)
            for number, positions in zip(values, found, strict=True):
                near[number] = Scored(self._with_fingerprint[positions])
        return near

    def _same(self, probe: Probe, heads: bool, matches: Callable[[Row], bool] | None, before: int | None) -> list[Row]:
        """Return the first rows with the digest of a Probe."""
        entries = self._by_digest.get(probe.digest or "", [])
        while entries and not self._is_there[entries[0][1]]:
            del entries[0]
        same: list[Row] = []
        for _, position in entries:
            row = self._rows[position]
            if row is not None and _allows(row, probe, matches, before):
                same.append(row)
                if len(same) == (SAME if heads else probe.most):
                    break
        return same

    def _hits(
        self,
        probe: Probe,
        near: Scored,
        same: list[Row],
        heads: bool,
        matches: Callable[[Row], bool] | None,
        before: int | None,
    ) -> Hits:
        if not len(near.positions):
            return Hits(same, [], int(near.is_cut))
        kept = self._is_head[near.positions] if heads else self._is_there[near.positions]
        if before is not None:
            kept = kept & (self._orders[near.positions] < before)
        positions = near.positions[kept]
        orders = self._orders[positions]
        rank = np.argsort(orders) if near.scores is None else np.lexsort((orders, -near.scores[kept]))
        rows: list[Row] = []
        admitted = 0
        for position in positions[rank].tolist():
            row = self._rows[position]
            if row is None or not _allows(row, probe, matches, before):
                continue
            if self._positions.get(row.id) == position:
                admitted += 1
            if admitted > probe.most:
                return Hits(same, rows, 1)
            rows.append(row)
        return Hits(same, rows, int(near.is_cut))

    def _set(self, position: int, row: Row) -> None:
        self._rows[position] = row
        self._orders[position], self._is_head[position] = row.order, row.duplicate_of is None
        if row.duplicate_of is not None:
            self._members.setdefault(row.duplicate_of, set()).add(row.id)

    def _unlink(self, position: int) -> None:
        row = self._rows[position]
        if row is not None and row.duplicate_of is not None:
            self._members[row.duplicate_of].discard(row.id)

    def _add_fingerprints(self, rows: Sequence[Row], first: int) -> None:
        known = [(position, row.fingerprint) for position, row in enumerate(rows, first) if row.fingerprint is not None]
        self._fingerprints.add(np.array([value for _, value in known], dtype=np.uint64))
        end = self._count_with_fingerprint + len(known)
        self._with_fingerprint[self._count_with_fingerprint : end] = [position for position, _ in known]
        self._count_with_fingerprint = end

    def _grow(self, size: int) -> None:
        """Give the arrays room for so many rows."""
        room = len(self._orders)
        if size > room:
            more = max(size, 2 * room) - room
            self._orders = np.concatenate([self._orders, np.zeros(more, dtype=np.int64)])
            self._is_head = np.concatenate([self._is_head, np.zeros(more, dtype=np.bool_)])
            self._is_there = np.concatenate([self._is_there, np.zeros(more, dtype=np.bool_)])
            self._with_fingerprint = np.concatenate([self._with_fingerprint, np.zeros(more, dtype=np.int64)])


def _allows(row: Row, probe: Probe, matches: Callable[[Row], bool] | None, before: int | None) -> bool:
    """Return whether a row is in the times of a Probe, written early enough, and matches the filter."""
    if before is not None and row.order >= before:
        return False
    if probe.times is not None and (row.time is None or not probe.times[0] <= row.time <= probe.times[1]):
        return False
    return matches is None or matches(row)
