"""Documents in memory as columns: found by id, by digest, by group, and by what may be near.

A document costs some 100 bytes of numbers, its id, 8 bytes for each key, and no object. A Row is made when one is
asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from es_simhash.near.fingerprint_index import FingerprintIndex
from es_simhash.near.key_index import POSITION_BITS, Entries, KeyIndex, Near
from es_simhash.parts import in_parts
from es_simhash.rows import MOST_HITS, Hits, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from es_simhash.rows import StoreQuery

    Integers = NDArray[np.int64]
    Matching = Callable[[Sequence[str]], Collection[str]]
    """Returns which of the documents with these ids match a filter."""

_NUMBERS = {
    "fingerprint": "<u8",
    "length": "<i4",
    **dict.fromkeys(("order", "written", "time", "content", "version"), "<i8"),
}
_DIGEST_BYTES = 32
_DIGEST = re.compile("[0-9a-f]{32}|[0-9a-f]{64}")
_COLUMNS = np.dtype(
    [
        *_NUMBERS.items(),
        ("digest", f"V{_DIGEST_BYTES}"),
        ("original", "<i4"),  # where its id, and the name of the group, stand among the ids
        ("named", "<i4"),
        ("has", "<u2"),  # which numbers are not None, and whether it is pinned, and blocked: a bit for each
        ("digest_size", "u1"),
        ("is_there", "?"),
    ]
)
_BITS = [1 << bit for bit in range(len(_NUMBERS))]
_HAS_FINGERPRINT, _HAS_TIME = _BITS[0], _BITS[4]
_PINNED, _BLOCKED = 1 << len(_BITS), 2 << len(_BITS)
_NONE = -1
_AT_ONCE = 1_000
"""Rows that are made together."""
_KEY_SHIFT = np.uint64(POSITION_BITS)


class Columns:
    """Rows by position, in the order in which they were entered. A row takes the place of one with its id.

    :param keys: rows are found by their keys.
    :param fingerprints: rows are found by their fingerprints.
    """

    def __init__(self, *, keys: bool, fingerprints: bool) -> None:
        self._columns = np.zeros(64, _COLUMNS)
        self._ids: list[str] = []
        """By position, the id of a row; or a name that a row refers to, and that no row has."""
        self._positions: dict[str, int] = {}
        self._digests, self._groups = Entries(), Entries()
        self._keys = KeyIndex() if keys else None
        self._fingerprints = FingerprintIndex() if fingerprints else None

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, id: str) -> bool:
        return id in self._positions

    def count(self, since: int | None) -> int:
        """Return how many rows were written at a time or later; None counts all."""
        columns = self._columns[: len(self._ids)]
        counted = columns["is_there"] if since is None else columns["is_there"] & (columns["written"] >= since)
        return int(np.count_nonzero(counted))

    def row(self, id: str) -> Row | None:
        """Return the row with an id."""
        position = self._positions.get(id)
        return None if position is None else self._rows([position])[0]

    def rows(self) -> Iterator[Row]:
        """Yield all rows, in the order in which they were entered."""
        there = np.flatnonzero(self._columns["is_there"][: len(self._ids)]).tolist()
        return chain.from_iterable(map(self._rows, in_parts(there, _AT_ONCE)))

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the rows of the groups with these names, the smallest order first."""
        own = [position for name in groups if (position := self._positions.get(name)) is not None]
        _, others = self._groups.whole(_hashed(groups))
        there = {position for position in (*own, *others.tolist()) if self._columns["is_there"][position]}
        chosen = set(groups)
        rows = [row for row in self._rows(sorted(there)) if row.group in chosen]
        return sorted(rows, key=lambda row: row.order)

    def keys_of(self, rows: Sequence[Row]) -> list[tuple[int, ...]]:
        """Return the keys of rows. It reads all keys of all rows."""
        if self._keys is None:
            return [()] * len(rows)
        return self._keys.of_positions([self._positions[row.id] for row in rows])

    # --- change -----------------------------------------------------------------------------------------------------

    def enter(self, rows: Sequence[Row], keys: Sequence[Sequence[int] | None]) -> None:
        """Enter rows with different ids.

        :param keys: of the text of each; None keeps those of the row with its id, whose text is the same.
            A row that is new has none then.
        """
        kept = [row for row, own in zip(rows, keys, strict=True) if own is None and row.id in self._positions]
        self._put([self._positions[row.id] for row in kept], kept)
        same = {row.id for row in kept}
        new = [(row, own or ()) for row, own in zip(rows, keys, strict=True) if row.id not in same]
        for row, _ in new:
            self.drop(row.id)
        first = len(self._ids)
        positions = list(range(first, first + len(new)))
        self._ids += [row.id for row, _ in new]
        self._positions.update((row.id, position) for (row, _), position in zip(new, positions, strict=True))
        if self._keys is not None:
            self._keys.add(positions, [own for _, own in new], [row.length for row, _ in new])
        self._put(positions, [row for row, _ in new])
        every = np.array(positions, dtype=np.int64)
        if self._fingerprints is not None:
            has_one = every[self._columns["has"][every] & _HAS_FINGERPRINT != 0]
            self._fingerprints.add(self._columns["fingerprint"][has_one], has_one)
        with_digest = every[self._columns["digest_size"][every] > 0]
        self._digests.add(_digest_keys(self._columns["digest"][with_digest]), with_digest)

    def drop(self, id: str) -> None:
        """Take the row with an id away, if there is one."""
        if (position := self._positions.pop(id, None)) is not None:
            self._columns["is_there"][position] = False

    # --- search -----------------------------------------------------------------------------------------------------

    def search(
        self, queries: Sequence[StoreQuery], *, originals: bool, matching: Matching | None = None, most: int = MOST_HITS
    ) -> list[Hits]:
        """Return what each StoreQuery finds, as :meth:`es_simhash.store.protocol.Store.search` does.

        :param matching: only rows that it allows.
        :param most: it is asked of the first so many rows of a StoreQuery.
        """
        asked = queries
        if matching is not None:
            asked = [replace(query, most=most, most_equal=most) for query in queries]
        near = self._near(queries)
        times = np.array([query.times or (0, 0) for query in queries])
        is_timed = np.array([query.times is not None for query in queries], dtype=np.bool_)
        kept = self._in_times(near.positions, near.askers, times, is_timed)
        if originals:
            kept &= self._columns["original"][near.positions] == _NONE
        kept &= _among_best(near, kept, [query.most + 1 for query in asked])
        positions, askers = near.positions[kept], near.askers[kept]
        rank = np.lexsort((self._columns["order"][positions], -near.scores[kept], askers))
        ranked, ends = positions[rank].tolist(), np.searchsorted(askers[rank], np.arange(len(queries) + 1)).tolist()
        equal = self._equal(queries, times, is_timed)
        found = [
            (equal.get(number, [])[: query.most_equal], ranked[start:end][: query.most + 1])
            for number, (query, start, end) in enumerate(zip(asked, ends, ends[1:], strict=False))
        ]
        needed = sorted({position for both in found for positions in both for position in positions})
        allowed = dict(zip(needed, self._rows(needed), strict=True))
        if matching is not None:
            ids = matching([row.id for row in allowed.values()])
            allowed = {position: row for position, row in allowed.items() if row.id in ids}
        hits = []
        for number, (query, both) in enumerate(zip(queries, found, strict=True)):
            same, candidates = ([row for at in some if (row := allowed.get(at)) is not None] for some in both)
            is_cut = len(both[1]) > asked[number].most or len(candidates) > query.most or number in near.cut
            hits.append(Hits(same[: query.most_equal], candidates[: query.most], int(is_cut)))
        return hits

    def _near(self, queries: Sequence[StoreQuery]) -> Near:
        """Return the positions of all rows that may be near each StoreQuery."""
        near = [Near(*np.zeros((3, 0), dtype=np.int64))]
        if self._keys is not None and any(query.keys for query in queries):
            near.append(self._keys.near([query.keys for query in queries]))
        if self._fingerprints is not None and any(query.fingerprint is not None for query in queries):
            stored = self._columns["fingerprint"], self._columns["has"] & _HAS_FINGERPRINT != 0
            asked = [query.fingerprint for query in queries], [query.distance for query in queries]
            near.append(self._fingerprints.near(*asked, *stored))
        *whole, cuts = zip(*near, strict=True)
        askers, positions, scores = map(np.concatenate, whole)
        order = np.argsort(askers, kind="stable")
        return Near(askers[order], positions[order], scores[order], frozenset().union(*cuts))

    def _equal(
        self, queries: Sequence[StoreQuery], times: Integers, is_timed: NDArray[np.bool_]
    ) -> dict[int, list[int]]:
        """Return the positions of the rows with the digest of each StoreQuery, by its number, in their order."""
        asking = [number for number, query in enumerate(queries) if query.digest]
        wanted, _ = _packed([queries[number].digest or "" for number in asking])
        of_range, positions = self._digests.whole(_digest_keys(wanted))
        same = self._columns["digest"][positions] == wanted[of_range]
        of_range, positions = of_range[same], positions[same]
        askers = np.array(asking, dtype=np.int64)[of_range]
        kept = self._in_times(positions, askers, times, is_timed)
        askers, positions = askers[kept], positions[kept]
        order = np.lexsort((self._columns["order"][positions], askers))
        found: dict[int, list[int]] = {}
        for asker, position in zip(askers[order].tolist(), positions[order].tolist(), strict=True):
            found.setdefault(asker, []).append(position)
        return found

    def _in_times(
        self, positions: Integers, askers: Integers, times: Integers, is_timed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which pairs of an asker and a row are a row that is there, in the times of the asker."""
        columns = self._columns
        there: NDArray[np.bool_] = columns["is_there"][positions]
        if is_timed.any():
            first, last = times[askers].T
            has_time, time = columns["has"][positions] & _HAS_TIME != 0, columns["time"][positions]
            there &= ~is_timed[askers] | (has_time & (first <= time) & (time <= last))
        return there

    # --- a row and its columns --------------------------------------------------------------------------------------

    def _put(self, positions: Sequence[int], rows: Sequence[Row]) -> None:
        """Write rows into their positions."""
        if not rows:
            return
        fields = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
        values = np.zeros(len(rows), _COLUMNS)
        values["original"] = [self._place_of(id) for id in fields["duplicate_of"]]  # it may append names to the ids
        values["named"] = [self._place_of(name) for name in fields["named"]]
        values["has"] = np.array(fields["pinned"], dtype="<u2") * _PINNED
        values["has"] |= np.array(fields["blocked"], dtype="<u2") * _BLOCKED
        for bit, name in zip(_BITS, _NUMBERS, strict=True):
            # A version that is no number, as those of a server, is not kept.
            has_one = [type(number) is int for number in fields[name]]
            values[name] = [number if has else 0 for has, number in zip(has_one, fields[name], strict=True)]
            values["has"] |= np.array(has_one, dtype="<u2") * np.uint16(bit)
        values["digest"], values["digest_size"] = _packed(fields["digest"])
        values["is_there"] = True
        while len(self._columns) < len(self._ids):
            larger = np.zeros(2 * len(self._columns), _COLUMNS)  # what is not written yet takes no memory
            larger[: len(self._columns)] = self._columns
            self._columns = larger
        self._columns[list(positions)] = values
        apart = [(row.group, at) for row, at in zip(rows, positions, strict=True) if row.group != row.id]
        self._groups.add(_hashed([name for name, _ in apart]), np.array([at for _, at in apart], dtype=np.int64))

    def _place_of(self, name: str | None) -> int:
        """Return the position where a name stands among the ids."""
        if name is None:
            return _NONE
        if (position := self._positions.get(name)) is None:
            position = len(self._ids)
            self._ids.append(name)
        return position

    def _rows(self, positions: Sequence[int]) -> list[Row]:
        """Return the rows at positions."""
        return [self._row(at, *own) for at, own in zip(positions, self._columns[list(positions)].tolist(), strict=True)]

    def _row(self, position: int, *values: Any) -> Row:
        """Return the row that stands at a position with these values."""
        *numbers, digest, original, named, has, size, _ = values
        own = [number if has & bit else None for bit, number in zip(_BITS, numbers, strict=True)]
        fingerprint, length, _, _, time, content, version = own
        order, written = numbers[2:4]
        digest = digest[:size].hex()
        duplicate_of = None if original == _NONE else self._ids[original]
        name = None if named == _NONE else self._ids[named]
        id, pinned = self._ids[position], bool(has & _PINNED)
        whole = id, fingerprint, digest, length, duplicate_of, order, written, time, content, pinned, name, version
        return Row(*whole, bool(has & _BLOCKED))


def _packed(digests: Sequence[str]) -> tuple[NDArray[np.void], list[int]]:
    """Return digests as bytes, and how many each has: none, if no text has such a digest."""
    packed = [bytes.fromhex(digest) if _DIGEST.fullmatch(digest) else b"" for digest in digests]
    return np.array(packed, f"V{_DIGEST_BYTES}"), list(map(len, packed))


def _among_best(near: Near, kept: NDArray[np.bool_], most: Sequence[int]) -> NDArray[np.bool_]:
    """Return which of the kept pairs have one of the ``most`` largest scores of their asker, or one as large."""
    scores = np.where(kept, near.scores, -1.0)
    ends = np.searchsorted(near.askers, np.arange(len(most) + 1))
    for start, end, count in zip(ends, ends[1:], most, strict=False):
        if end - start > count:
            own = scores[start:end]
            own[own < np.partition(own, -count)[-count]] = -1.0
    return scores >= 0.0


def _digest_keys(digests: NDArray[np.void]) -> NDArray[np.uint64]:
    """Return the keys of packed digests, shape (n,)."""
    first = np.ascontiguousarray(digests).view("<u8").reshape(-1, 4)[:, 0]
    keys: NDArray[np.uint64] = first >> _KEY_SHIFT
    return keys


def _hashed(names: Sequence[str]) -> NDArray[np.uint64]:
    """Return the keys of names of groups."""
    hashes = [blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names]
    return np.frombuffer(b"".join(hashes), "<u8") >> _KEY_SHIFT
