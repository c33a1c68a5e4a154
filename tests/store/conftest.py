"""The stores that the contract suite runs on. A test gets a maker of new stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash.store.memory_store import MemoryStore
from es_simhash.store.sqlite import SqliteStore
from tests.store.documents import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from es_simhash.store.protocol import Store
    from es_simhash.store.types import Description


class Stores:
    """Makes stores, and closes them after the test. A subclass for each kind of store."""

    def __init__(self) -> None:
        self._opened: list[Store] = []

    def new(self) -> Store:
        """Return a new store that was not set up."""
        self._opened.append(self._new())
        return self._opened[-1]

    def again(self, store: Store) -> Store:
        """Return another store on the same data, as a second program opens it."""
        self._opened.append(self._again(store))
        return self._opened[-1]

    def ready(self, description: Description = DOCUMENTS) -> Store:
        """Return a new store that was set up."""
        store = self.new()
        assert store.set_up(description) == "created"
        return store

    def close(self) -> None:
        """Close what was made."""
        for store in self._opened:
            store.close()

    def _new(self) -> Store:
        raise NotImplementedError

    def _again(self, store: Store) -> Store:
        raise NotImplementedError


class MemoryStores(Stores):
    """Stores in memory. Only one program reaches their data."""

    def _new(self) -> Store:
        return MemoryStore()

    def _again(self, store: Store) -> Store:
        return store


class SqliteStores(Stores):
    """SQLite files in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def _new(self) -> Store:
        return SqliteStore(str(self._folder / f"store-{len(self._opened)}.db"))

    def _again(self, store: Store) -> Store:
        return SqliteStore(store.name.removeprefix("sqlite:///"))


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Each kind of store."""
    made = MemoryStores() if request.param == "memory" else SqliteStores(tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for documents with keys."""
    return stores.ready()
