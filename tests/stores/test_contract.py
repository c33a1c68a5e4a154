"""Every store passes the contract suite: SQLite, Elasticsearch and OpenSearch, and the reference implementation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from es_simhash.stores.address import open_async_store, open_store
from tests.contract import LinearStore, StoreContract
from tests.contract.watched import StoreCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.contract import Store

R = TypeVar("R")


class Awaited:
    """An async store as a Store: an event loop runs each request to its end. Each object has another loop."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._loop = asyncio.new_event_loop()
        self.name = store.name
        self.embedded = store.embedded

    def perform(self, request: StoreCall) -> R:
        return self._loop.run_until_complete(self._store.perform(request))

    def close(self) -> None:
        self._loop.run_until_complete(self._store.close())

    def close_loop(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


class TestLinear(StoreContract):
    def make_store(self) -> Store:
        return LinearStore()


class TestLaggingLinear(StoreContract):
    def make_store(self) -> Store:
        return LinearStore(lagging=True)


class AtAddress(StoreContract):
    """A store at an address, sync or async. Every store is closed after the test."""

    address: str

    @pytest.fixture(autouse=True)
    def _close(self) -> Iterator[None]:
        self.opened: list[Any] = []
        yield
        for store in self.opened:
            store.close()
            if isinstance(store, Awaited):
                store.close_loop()

    def make_store(self) -> Store:
        store = self.open()
        self.opened.append(store)
        return store

    def open_again(self, store: Store) -> Store:
        return self.make_store()

    def open(self) -> Store:
        return open_store(self.address)


class TestSqlite(AtAddress):
    @pytest.fixture(autouse=True)
    def _address(self, tmp_path: Path) -> None:
        self.address = f"sqlite:///{tmp_path / 'store.db'}"


class TestSqliteInMemory(AtAddress):
    address = "sqlite:///:memory:"

    def open_again(self, store: Store) -> Store:
        return store


class TestAsyncSqlite(TestSqlite):
    def open(self) -> Store:
        return Awaited(open_async_store(self.address))


@pytest.mark.slow
@pytest.mark.elasticsearch
class TestElasticsearch(AtAddress):
    @pytest.fixture(autouse=True)
    def _address(self, elasticsearch_url: str, make_index: Callable[[], str]) -> None:
        self.address = f"{elasticsearch_url}/{make_index()}"

    def open(self) -> Store:
        return open_store(self.address, request_timeout=60)


@pytest.mark.slow  # the handlers are those of TestElasticsearch
class TestAsyncElasticsearch(TestElasticsearch):
    def open(self) -> Store:
        return Awaited(open_async_store(self.address, request_timeout=60))


@pytest.mark.slow
@pytest.mark.opensearch
class TestOpenSearch(AtAddress):
    @pytest.fixture(autouse=True)
    def _address(self, opensearch_url: str, make_opensearch_index: Callable[[], str]) -> None:
        self.address = f"opensearch+{opensearch_url}/{make_opensearch_index()}"

    def open(self) -> Store:
        return open_store(self.address, request_timeout=60)
