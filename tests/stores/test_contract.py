"""Every store keeps the contract: SQLite and Elasticsearch, sync and async, and the slow twin itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import pytest

from es_simhash.stores.address import open_async_store, open_store
from es_simhash.testing import LinearStore, StoreContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.contract import AsyncStore, Op, Store

R = TypeVar("R")


class Awaited:
    """An async store, used by calls: each awaits on one event loop of its own."""

    def __init__(self, store: AsyncStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop
        self.name = store.name
        self.embedded = store.embedded

    def perform(self, op: Op[R]) -> R:
        return self._loop.run_until_complete(self._store.perform(op))

    def close(self) -> None:
        self._loop.run_until_complete(self._store.close())


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


class Closing(StoreContract):
    """Closes what a test opened."""

    @pytest.fixture(autouse=True)
    def _close(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        self.opened: list[Store] = []
        yield
        for store in self.opened:
            store.close()

    def opens(self, store: Store) -> Store:
        self.opened.append(store)
        return store


class TestLinear(Closing):
    def make_store(self) -> Store:
        return LinearStore()


class TestLaggingLinear(Closing):
    def make_store(self) -> Store:
        return LinearStore(lagging=True)


class TestSqlite(Closing):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    def make_store(self) -> Store:
        return self.opens(open_store(f"sqlite:///{self.path}"))


class TestSqliteInMemory(Closing):
    def make_store(self) -> Store:
        return self.opens(open_store("sqlite:///:memory:"))


class TestAsyncSqlite(Closing):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.path = tmp_path / "store.db"
        self.loop = loop

    def make_store(self) -> Store:
        return self.opens(Awaited(open_async_store(f"sqlite:///{self.path}"), self.loop))


@pytest.mark.elasticsearch
class TestElasticsearch(Closing):
    @pytest.fixture(autouse=True)
    def _node(self, elasticsearch_url: str, make_index: Callable[[], str]) -> None:
        self.address = f"{elasticsearch_url}/{make_index()}"

    def make_store(self) -> Store:
        return self.opens(open_store(self.address, request_timeout=60))


@pytest.mark.elasticsearch
class TestAsyncElasticsearch(Closing):
    @pytest.fixture(autouse=True)
    def _node(self, elasticsearch_url: str, make_index: Callable[[], str], loop: asyncio.AbstractEventLoop) -> None:
        self.address = f"{elasticsearch_url}/{make_index()}"
        self.loop = loop

    def make_store(self) -> Store:
        return self.opens(Awaited(open_async_store(self.address, request_timeout=60), self.loop))
