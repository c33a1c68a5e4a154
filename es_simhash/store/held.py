"""A store that is held in memory: all documents of another store are, so nothing needs to be searched there.

It is filled by a scan. What is written through it is entered, what conflicts is read again, and every ten seconds it
reads what other programs have written. A document costs some 600 bytes with 25 keys, 340 with a fingerprint.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from es_simhash.rows import Scan
from es_simhash.store.around import StoreAround, changed, written_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.rows import Entry, Hits, Row, Stored, StoreQuery, Written
    from es_simhash.store.protocol import Filter, Store

FOLLOWED = 10.0
"""Seconds after which what other programs have written is read."""
CLOCKS_DIFFER = 60_000_000
"""Microseconds by which the clock of another program may be behind, when its documents are read."""


class HeldStore(StoreAround):
    """Holds all documents of a store in memory: :class:`~es_simhash.store.protocol.Store`."""

    def __init__(self, store: Store, *, keys: bool, fingerprints: bool) -> None:
        super().__init__(store, keys=keys, fingerprints=fingerprints)
        self._columns = self._new_columns()
        self.inner.refresh()
        self._followed, self._since = time.monotonic(), time.time_ns() // 1000
        self._enter(Scan(keys=self._keys))

    def __len__(self) -> int:
        return len(self._columns)

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id. What another program has changed is read again."""
        read = self.inner.read(ids, fields)
        self._read_again(changed(self._columns, ids, read))
        return read

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds."""
        if time.monotonic() - self._followed >= FOLLOWED:
            self._follow_others()
        return self._columns.search(queries, originals=originals, matching=self._matching(filter))

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""
        return self._columns.members(groups)

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        written = self.inner.write(entries)
        taken = written_rows(entries, written)
        self._columns.enter([one.row for one in taken], [one.keys for one in taken])
        self._read_again(sorted(written.conflicts))
        return written

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        written = self.inner.remove(versions)
        for id in versions.keys() - written.conflicts - written.refused.keys():
            self._columns.drop(id)
        self._read_again(sorted(written.conflicts))
        return written

    def _read_again(self, ids: Sequence[str]) -> None:
        """Enter documents that other programs have changed as they are stored."""
        for id in ids:
            self._columns.drop(id)
        if ids:
            self.inner.refresh()
            self._enter(Scan(filter={"ids": {"values": ids}}, keys=self._keys))

    def _follow_others(self) -> None:
        """Read what other programs have written."""
        self.inner.refresh()
        now, counts = time.time_ns() // 1000, [self.inner.count(Scan(since=since)) for since in (None, self._since)]
        if counts != [self._columns.count(None), self._columns.count(self._since)]:
            self._enter(Scan(keys=self._keys, since=self._since - CLOCKS_DIFFER))
        self._followed, self._since = time.monotonic(), now

    def _enter(self, scan: Scan) -> None:
        """Enter the documents of a scan as they are stored."""
        for page in self.inner.scan(scan):
            self._columns.enter([stored.row._replace(version=None) for stored in page], [one.keys for one in page])
