"""A store whose search finds a write at once, around one whose search lags.

A server shows a document to searches only after its next refresh. Until then the document stands here, too. A row here
replaces any hit with its id, and an id that was removed hides any hit. After a refresh all of them are forgotten.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from es_simhash.parts import in_turn
from es_simhash.rows import Hits, StoreQuery
from es_simhash.store.around import StoreAround, changed, written_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.rows import Entry, Row, Stored, Written
    from es_simhash.store.protocol import Filter, Store

MOST_RECENT = 20_000
"""Documents that are recent, after which the store is refreshed and they are forgotten."""
OLDEST_RECENT = 10.0
"""Seconds after which they are forgotten: what other programs did to them is known then."""


class FreshStore(StoreAround):
    """Finds at once what was written through it: :class:`~es_simhash.store.protocol.Store`."""

    def __init__(self, store: Store, *, keys: bool, fingerprints: bool) -> None:
        super().__init__(store, keys=keys, fingerprints=fingerprints)
        self._recent, self._removed = self._new_columns(), set[str]()
        self._refreshed = -inf

    def read(self, ids: Sequence[str], fields: Sequence[str] | None = ()) -> dict[str, Stored]:
        """Return documents by id. What another program has changed is forgotten here."""
        read = self.inner.read(ids, fields)
        if stale := changed(self._recent, ids, read):
            for id in stale:
                self._recent.drop(id)
            self._refreshed = -inf
        self._removed.difference_update(read)
        return read

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        """Return what each StoreQuery finds."""
        self._refresh_if_old()
        found = self.inner.search(queries, filter, originals=originals)
        if not self._recent and not self._removed:
            return found
        found = self._with_more_equal(queries, found, filter)
        recent = self._recent.search(queries, originals=originals, matching=self._matching(filter))
        return [self._merged(*each) for each in zip(queries, found, recent, strict=True)]

    def members(self, groups: Sequence[str]) -> list[Row]:
        """Return the documents of the groups with these names."""
        self._refresh_if_old()
        return [row for row in self.inner.members(groups) if not self._hides(row)] + self._recent.members(groups)

    def refresh(self) -> None:
        """Make everything that was written visible."""
        self.inner.refresh()
        self._recent, self._removed = self._new_columns(), set()
        self._refreshed = time.monotonic()

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents, each on the version that it replaces."""
        written = self.inner.write(entries)
        taken = written_rows(entries, written)
        known = [one for one in taken if one.keys is not None or not self._keys or one.row.id in self._recent]
        self._recent.enter([one.row for one in known], [one.keys if self._keys else () for one in known])
        self._removed.difference_update(one.row.id for one in known)
        if len(known) < len(taken):
            self.refresh()  # the keys of the others are not known here
        return written

    def remove(self, versions: Mapping[str, Any]) -> Written:
        """Remove documents, each only on its version."""
        written = self.inner.remove(versions)
        removed = versions.keys() - written.conflicts - written.refused.keys()
        for id in removed:
            self._recent.drop(id)
        self._removed |= removed
        return written

    def _refresh_if_old(self) -> None:
        """Refresh the store at first, if much is recent, or if it is old."""
        is_old = time.monotonic() - self._refreshed >= OLDEST_RECENT and bool(self._recent or self._removed)
        if self._refreshed == -inf or is_old or len(self._recent) >= MOST_RECENT:
            self.refresh()

    def _hides(self, hit: Row) -> bool:
        """Return whether what search says of a document is out of date."""
        return hit.id in self._recent or hit.id in self._removed

    def _with_more_equal(self, queries: Sequence[StoreQuery], found: list[Hits], filter: Filter | None) -> list[Hits]:
        """Return the hits with all equal documents, where one of the first ones is out of date."""
        stale = [number for number, hits in enumerate(found) if any(map(self._hides, hits.equal))]
        if not stale:
            return found
        again = [StoreQuery(digest=queries[number].digest, times=queries[number].times) for number in stale]
        more = dict(zip(stale, self.inner.search(again, filter, originals=False), strict=True))
        return [
            replace(hits, equal=more[number].equal) if number in more else hits for number, hits in enumerate(found)
        ]

    def _merged(self, query: StoreQuery, found: Hits, recent: Hits) -> Hits:
        """Return the hits of the store that are not out of date, and those in memory."""
        stored = [row for row in found.candidates if not self._hides(row)]
        if query.keys:  # the scores of the two do not compare
            candidates = in_turn(recent.candidates, stored)
        else:
            candidates = sorted([*stored, *recent.candidates], key=lambda row: row.order)
        equal = [row for row in found.equal if not self._hides(row)]
        equal = sorted([*equal, *recent.equal], key=lambda row: row.order)
        left_out = max(found.left_out, recent.left_out, len(candidates) - query.most)
        return Hits(equal[: query.most_equal], candidates[: query.most], left_out)


def fresh(store: Store, *, keys: bool, fingerprints: bool) -> Store:
    """Return a store whose search does not lag: this one, or one around it."""
    return FreshStore(store, keys=keys, fingerprints=fingerprints) if store.lags else store
