"""What stores around another one share. What is written through them, they can find in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.filters import parse_filter
from es_simhash.near.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.near.columns import Matching
    from es_simhash.rows import Entry, Row, Scan, Stored, Written
    from es_simhash.store.protocol import Filter, Store


class StoreAround:
    """The base of a store around another one. A subclass has the methods that read, search and write documents.

    Its documents in memory are used by one thread at a time: the one that has the turn (``decide/turn.py``).

    :param keys: documents in memory are found by their keys.
    :param fingerprints: and by their fingerprints.
    """

    lags = False
    in_memory = False

    def __init__(self, store: Store, *, keys: bool, fingerprints: bool) -> None:
        self.inner, self.name = store, store.name
        self._keys, self._fingerprints = keys, fingerprints
        # What is no matter of documents that search may find is passed on as it is.
        self.describe, self.set_up, self.close = store.describe, store.set_up, store.close
        self.read_users, self.write_users, self.list_users = store.read_users, store.write_users, store.list_users

    def _new_columns(self) -> Columns:
        return Columns(keys=self._keys, fingerprints=self._fingerprints)

    def _matching(self, filter: Filter | None) -> Matching | None:
        """Return what says which documents match a filter: it reads them. None without a filter."""
        if filter is None:
            return None
        matches = parse_filter(filter)
        return lambda ids: {id for id, one in self.inner.read(ids, None).items() if matches(one.source or {}, id)}

    def scan(self, scan: Scan) -> Iterator[list[Stored]]:
        """Yield documents in lists. Another call may have its turn meanwhile."""
        self.inner.refresh()
        yield from self.inner.scan(scan)

    def count(self, scan: Scan) -> int:
        """Return how many documents a Scan reads."""
        self.inner.refresh()
        return self.inner.count(scan)

    def refresh(self) -> None:
        """Make everything that was written visible."""
        self.inner.refresh()


def changed(columns: Columns, ids: Sequence[str], read: Mapping[str, Stored]) -> list[str]:
    """Return the ids of documents in memory that another program has changed or removed, as they were read."""
    known = [(id, row) for id in ids if (row := columns.row(id)) is not None]
    return [id for id, row in known if id not in read or _decides(read[id].row) != _decides(row)]


def _decides(row: Row) -> tuple[Any, ...]:
    """Return what decides of a row, and what is written with it."""
    return row.digest, row.duplicate_of, row.named, row.order, row.time


def written_rows(entries: Sequence[Entry], written: Written) -> list[Entry]:
    """Return the entries that a store has taken, as an index in memory has them."""
    return [
        replace(entry, row=entry.row._replace(version=None)) for entry in entries if entry.row.id in written.versions
    ]
