"""Every store passes the contract suite: SQLite, Elasticsearch and OpenSearch, and the reference implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from es_simhash.retries import Patience
from es_simhash.stores.address import open_store
from es_simhash.stores.sqlite import SqliteStore
from tests.contract import LinearStore, StoreContract
from tests.contract.keys_contract import KeysContract
from tests.contract.suite import Suite
from tests.contract.times_contract import TimesContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.contract import Store


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
@pytest.mark.opensearch
class TestOpenSearch(AtAddress, StoreContract):
    @pytest.fixture(autouse=True)
    def _address(self, opensearch_url: str, make_opensearch_index: Callable[[], str]) -> None:
        self.address = f"opensearch+{opensearch_url}/{make_opensearch_index()}"

    def open(self) -> Store:
        return open_store(self.address, patience=Patience(), request_timeout=60)
