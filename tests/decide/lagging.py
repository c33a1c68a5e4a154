"""A store whose search lags behind its writes, as a server's does."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from es_simhash.near.columns import Columns
from es_simhash.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.rows import Description, Hits, Row, StoreQuery
    from es_simhash.store.protocol import Filter


class LaggingStore(MemoryStore):
    """Search sees the documents as they were at the last refresh."""

    lags = True
    in_memory = False

    def __init__(self) -> None:
        super().__init__()
        self._visible = Columns(keys=True, fingerprints=True)
        self._visible_sources: dict[str, str] = {}

    def set_up(self, wanted: Description, *, change: bool = False) -> str:
        done = super().set_up(wanted, change=change)
        self.refresh()
        return done

    def search(self, queries: Sequence[StoreQuery], filter: Filter | None, *, originals: bool) -> list[Hits]:
        with self._lock:
            current = self._columns, self._sources
            self._columns, self._sources = self._visible, self._visible_sources
            try:
                return super().search(queries, filter, originals=originals)
            finally:
                self._columns, self._sources = current

    def members(self, groups: Sequence[str]) -> list[Row]:
        with self._lock:
            return self._visible.members(groups)

    def refresh(self) -> None:
        with self._lock:
            self._visible, self._visible_sources = copy.deepcopy((self._columns, self._sources))
