"""Every store passes the contract suite: SQLite, Elasticsearch and OpenSearch, and the reference implementation."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from es_simhash.portal import Portal
from es_simhash.retries import Patience
from es_simhash.stores.address import open_store
from es_simhash.stores.sqlite import SqliteStore
from tests.contract import LinearStore, StoreContract
from tests.contract.documents_contract import DocumentsContract
from tests.contract.keys_contract import KeysContract
from tests.contract.search_contract import SearchContract
from tests.contract.seen_contract import SeenContract
from tests.contract.suite import Suite
from tests.contract.times_contract import TimesContract
from tests.contract.watched import StoreCall, WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from es_simhash.contract import Store


class OnEventLoop(WatchedStore):
    """A store with an async client: each call runs in a thread, and an event loop sends its requests.

    Each object has another loop, because the suite calls two of them from two threads.
    """

    def __init__(self, watched: Store) -> None:
        super().__init__(watched)
        self._loop = asyncio.new_event_loop()
        self._portal = Portal(threads=1)

    def perform(self, call: StoreCall) -> Any:
        return self._loop.run_until_complete(self._portal.run(call.do))

    def close(self) -> None:
        self._loop.run_until_complete(self._portal.run(self.watched.close))

    def close_loop(self) -> None:
        """End the threads and the event loop."""
        self._loop.run_until_complete(self._portal.finish())
        self._loop.close()


class TestLinear(StoreContract):
    def make_store(self) -> Store:
        return LinearStore()


class TestLaggingLinear(StoreContract):
    def make_store(self) -> Store:
        return LinearStore(lagging=True)


class AtAddress(Suite):
    """A store at an address. Every store is closed after the test."""

    address: str

    @pytest.fixture(autouse=True)
    def _close(self) -> Iterator[None]:
        self.opened: list[Store] = []
        yield
        for store in self.opened:
            store.close()
            if isinstance(store, OnEventLoop):
                store.close_loop()

    def make_store(self) -> Store:
        store = self.open()
        self.opened.append(store)
        return store

    def open_again(self, store: Store) -> Store:
        return self.make_store()

    def open(self) -> Store:
        return open_store(self.address, patience=Patience())


class TestSqlite(AtAddress, StoreContract):
    @pytest.fixture(autouse=True)
    def _address(self, tmp_path: Path) -> None:
        self.address = f"sqlite:///{tmp_path / 'store.db'}"


class TestSqliteWithSmallPagesOfKeys(AtAddress, KeysContract, TimesContract):
    """A page has few entries, so that a level has many pages."""

    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "store.db"

    def open(self) -> Store:
        return SqliteStore(str(self.path), key_page=3)


class TestSqliteInMemory(AtAddress, StoreContract):
    address = "sqlite:///:memory:"

    def open_again(self, store: Store) -> Store:
        return store


class OnElasticsearch(AtAddress):
    @pytest.fixture(autouse=True)
    def _address(self, elasticsearch_url: str, make_index: Callable[[], str]) -> None:
        self.address = f"{elasticsearch_url}/{make_index()}"

    def open(self) -> Store:
        return open_store(self.address, patience=Patience(), request_timeout=60)


@pytest.mark.slow
@pytest.mark.elasticsearch
class TestElasticsearch(OnElasticsearch, StoreContract):
    pass


@pytest.mark.slow
@pytest.mark.elasticsearch
class TestElasticsearchWithAnAsyncClient(OnElasticsearch, DocumentsContract, SearchContract, SeenContract):
    """The requests are those of TestElasticsearch. Only their way differs, so here is each kind of them."""

    def open(self) -> Store:
        return OnEventLoop(open_store(self.address, patience=Patience(), is_async=True, request_timeout=60))


@pytest.mark.slow
@pytest.mark.opensearch
class TestOpenSearch(AtAddress, StoreContract):
    @pytest.fixture(autouse=True)
    def _address(self, opensearch_url: str, make_opensearch_index: Callable[[], str]) -> None:
        self.address = f"opensearch+{opensearch_url}/{make_opensearch_index()}"

    def open(self) -> Store:
        return open_store(self.address, patience=Patience(), request_timeout=60)
