"""The rows of documents in memory, found by id, by digest, and by what may be near."""

from __future__ import annotations

from array import array
from bisect import insort
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.near.fingerprint_index import FingerprintIndex
from es_simhash.near.key_index import KeyIndex, Near
from es_simhash.rows import MOST_HITS, SAME, Hits, Probe, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Memory:
    """Rows in the order in which they were entered. A row that is entered takes the place of one with its id.

    :param keys: rows are found by their keys.
    :param fingerprints: rows are found by their fingerprints.
    """

    def __init__(self, *, keys: bool, fingerprints: bool) -> None:
        self._rows: list[Row | None] = []
        self._orders, self._is_head = array("q"), bytearray()
        self._positions: dict[str, int] = {}
        # Almost every digest has one row. A list for each would be work for Python's garbage collection.
        self._by_digest: dict[str, int] = {}
        self._several: dict[str, list[tuple[int, int]]] = {}
        self._members: dict[str, set[str]] = {}
        self._keys = KeyIndex() if keys else None
        self._fingerprints = FingerprintIndex() if fingerprints else None

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
        self._rows += rows
        self._orders.extend(row.order for row in rows)
        for position, row in enumerate(rows, first):
            if row.digest and (other := self._by_digest.setdefault(row.digest, position)) != position:
                several = self._several.setdefault(row.digest, [(self._orders[other], other)])
                insort(several, (row.order, position))
        self._is_head += b"\1" * len(rows)
        if self._keys is not None:
            self._keys.add(keys, [row.length for row in rows])
        if self._fingerprints is not None:
            self._fingerprints.add([row.fingerprint or 0 for row in rows])
        return range(first, len(self._rows))

    def admit(self, position: int, row: Row) -> None:
        """Let the id of a row lead to a position, and take away the row that it led to."""
        self.drop(row.id)
        self._positions[row.id] = position
        self._put(position, row)

    def cancel(self, position: int) -> None:
        """Take a row away that was added and not admitted."""
        self._put(position, None)

    def replace(self, row: Row) -> None:
        """Replace a row by one of the same text."""
        self._put(self._positions[row.id], row)

    def drop(self, id: str) -> None:
        """Take the row with an id away, if there is one."""
        if (position := self._positions.pop(id, None)) is not None:
            self._put(position, None)

    def search(
        self,
        probes: Sequence[Probe],
        *,
        heads: bool,
        matches: Callable[[Row], bool] | None = None,
        before: Sequence[int] | None = None,
        asking: frozenset[str] | None = None,
    ) -> list[Hits]:
        """Return what may be near each Probe, as :meth:`es_simhash.store.protocol.Store.search` does.

        Rows that are not admitted come on top of the most that a Probe asks for: many may turn out to be copies.

        :param matches: only rows that it allows.
        :param before: for each Probe, only rows with no larger order.
        :param asking: ids of the documents that are looked for. If a row has the digest of a Probe, and is a head or a
            copy of one, nothing else is looked for. Rows and heads with these ids do not count: their texts change.
        """
        limits = [None] * len(probes) if before is None else before
        allowed = [partial(_allows, probe, matches, limit) for probe, limit in zip(probes, limits, strict=True)]
        # The head of a copy may be outside of the times, so one document may not be enough.
        most = [probe.most if not heads else SAME if probe.times is None else MOST_HITS for probe in probes]
        same = [
            self._same(probe.digest or "", limit, allows)
            for probe, limit, allows in zip(probes, most, allowed, strict=True)
        ]
        if asking is not None:
            parts = zip(probes, same, allowed, strict=True)
            probes = [Probe() if self._has_head(rows, asking, allows) else probe for probe, rows, allows in parts]
        near = self._near(probes)
        ranked, ends = self._ranked(near, len(probes), heads=heads)
        results = []
        for number, (probe, allows, copies) in enumerate(zip(probes, allowed, same, strict=True)):
            rows, left_out = self._first(ranked[ends[number] : ends[number + 1]], probe, allows)
            results.append(Hits(copies, rows, left_out or int(number in near.cut)))
        return results

    def _has_head(self, rows: Sequence[Row], asking: frozenset[str], allows: Callable[[Row], bool]) -> bool:
        """Return whether one of these rows is an admitted head, or a copy of one that is allowed.

        Those that are asking do not count.
        """
        admitted = [row for row in rows if self.row(row.id) is row and asking.isdisjoint((row.id, row.group))]
        heads = [self.row(row.group) for row in admitted]
        return any(head is not None and head.duplicate_of is None and allows(head) for head in heads)

    def _near(self, probes: Sequence[Probe]) -> Near:
        """Return the positions of all rows that may be near each Probe."""
        near = [Near(*np.zeros((3, 0), dtype=np.int64))]
        if self._keys is not None and any(probe.queries for probe in probes):
            near.append(self._keys.near([probe.queries for probe in probes]))
        if self._fingerprints is not None:
            values = [probe.fingerprint for probe in probes]
            near.append(self._fingerprints.near(values, [probe.distance for probe in probes]))
        askers, positions, scores, _ = zip(*near, strict=True)
        cut = frozenset(chain.from_iterable(one.cut for one in near))
        return Near(np.concatenate(askers), np.concatenate(positions), np.concatenate(scores), cut)

    def _ranked(self, near: Near, count: int, *, heads: bool) -> tuple[list[int], list[int]]:
        """Return the positions that may be near, Probe by Probe, the first to compare first; and where each begins.

        :param count: of the Probes.
        """
        kept = np.frombuffer(self._is_head, dtype=np.bool_)[near.positions] if heads else slice(None)
        askers, positions = near.askers[kept], near.positions[kept]
        orders = np.frombuffer(self._orders, dtype=np.int64)[positions]
        rank = np.lexsort((orders, -near.scores[kept], askers))
        return positions[rank].tolist(), np.searchsorted(askers[rank], np.arange(count + 1)).tolist()

    def _same(self, digest: str, most: int, allows: Callable[[Row], bool]) -> list[Row]:
        """Return the first rows with a digest."""
        several = self._several.get(digest)
        while several and self._rows[several[0][1]] is None:
            del several[0]
        if several is None:
            several = [(0, self._by_digest[digest])] if digest in self._by_digest else []
        same: list[Row] = []
        for _, position in several:
            row = self._rows[position]
            if row is not None and allows(row):
                same.append(row)
                if len(same) == most:
                    break
        return same

    def _first(self, positions: Sequence[int], probe: Probe, allows: Callable[[Row], bool]) -> tuple[list[Row], int]:
        """Return the first of the rows that may be near, and how many were left out, at least."""
        rows: list[Row] = []
        admitted = 0
        for position in positions:
            row = self._rows[position]
            if row is None or (probe.fingerprint is not None and row.fingerprint is None) or not allows(row):
                continue
            admitted += self._positions.get(row.id) == position
            if admitted > probe.most:
                return rows, 1
            rows.append(row)
        return rows, 0

    def _put(self, position: int, row: Row | None) -> None:
        """Put a row, or none, into a position."""
        former = self._rows[position]
        if former is not None and former.duplicate_of is not None:
            self._members.get(former.duplicate_of, set()).discard(former.id)
        self._rows[position], self._is_head[position] = row, row is not None and row.duplicate_of is None
        if row is not None:
            self._orders[position] = row.order
            if row.duplicate_of is not None:
                self._members.setdefault(row.duplicate_of, set()).add(row.id)


def _allows(probe: Probe, matches: Callable[[Row], bool] | None, before: int | None, row: Row) -> bool:
    """Return whether a row is in the times of a Probe, written early enough, and matches the filter."""
    if before is not None and row.order > before:
        return False
    if probe.times is not None and (row.time is None or not probe.times[0] <= row.time <= probe.times[1]):
        return False
    return matches is None or matches(row)
