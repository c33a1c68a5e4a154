"""The stores that the contract suite runs on. A test gets a maker of new stores."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from es_simhash.store.address import open_store
from es_simhash.store.elastic.store import ElasticStore
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


class ServerStores(Stores):
    """Indices of a server, which are deleted after the test."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def ready(self, description: Description = DOCUMENTS) -> Store:
        """Return a new store; its fields may hold anything."""
        store = super().ready(description)
        assert isinstance(store, ElasticStore)
        fields = {"lang": "keyword", "n": "long", "date": "date"}
        properties = {name: {"type": kind} for name, kind in fields.items()} | {
            "o": {"dynamic": True, "type": "object"}
        }
        store.connection.send("PUT", "_mapping", {"dynamic": False, "properties": properties})
        return store

    def _new(self) -> Store:
        return open_store(f"{self._address}/test-{uuid.uuid4().hex}", deadline=30)

    def _again(self, store: Store) -> Store:
        return open_store(store.name, deadline=30)

    def close(self) -> None:
        for name in {store.name for store in self._opened}:
            store = open_store(name)
            assert isinstance(store, ElasticStore)
            store.connection.send("DELETE", "", parameters={"ignore_unavailable": "true"})
            store.close()
        super().close()


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("elasticsearch", marks=pytest.mark.elasticsearch),
        pytest.param("opensearch", marks=pytest.mark.opensearch),
    ]
)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """Each kind of store."""
    made: Stores
    if request.param == "memory":
        made = MemoryStores()
    elif request.param == "sqlite":
        made = SqliteStores(tmp_path)
    elif request.param == "elasticsearch":
        made = ServerStores(request.getfixturevalue("elasticsearch_url"))
    else:
        made = ServerStores(f"opensearch+{request.getfixturevalue('opensearch_url')}")
    yield made
    made.close()


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for documents with keys."""
    return stores.ready()
