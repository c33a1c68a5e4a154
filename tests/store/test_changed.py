"""Another index or file at the address of a store: nothing goes on there by itself under another set-up.

A store in memory has no address.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import StoreChanged
from es_simhash.rows import Scan, StoreQuery, UserState
from es_simhash.store.address import open_store
from es_simhash.store.elastic.store import ElasticStore
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH
from tests.store.documents import DOCUMENTS, entry, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.rows import Description
    from es_simhash.store.protocol import Store
    from tests.store.conftest import Stores

WITH_ADDRESS = pytest.mark.parametrize("stores", ["sqlite", ELASTICSEARCH, OPENSEARCH], indirect=True)

WHOLE = replace(DOCUMENTS, seen=SeenConfig())
CALLS: dict[str, Callable[[Store, Any], Any]] = {
    "read": lambda store, _: store.read(["a"]),
    "read what is not there": lambda store, _: store.read(["missing"]),
    "search by keys and digest": lambda store, _: store.search([StoreQuery(digest="d" * 32)], None, originals=True),
    "search by fingerprint": lambda store, _: store.search([StoreQuery(1)], None, originals=True),
    "members": lambda store, _: store.members(["a"]),
    "scan": lambda store, _: list(store.scan(Scan())),
    "write": lambda store, version: store.write([entry("a", version=version)]),
    "write a new one": lambda store, _: store.write([entry("new")]),
    "remove": lambda store, version: store.remove({"a": version}),
    "read users": lambda store, _: store.read_users(["ann"]),
    "write users": lambda store, _: store.write_users({"ann": UserState({"newest": 1, "added": 1})}),
}


class Address:
    """An address behind which a store is exchanged for another one: a file, or an alias."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._first = stores.ready(WHOLE)
        put(self._first, entry("a", 1, digest="d" * 32), entry("b", 1, duplicate_of="a"))
        self.name = self._first.name
        if isinstance(self._first, ElasticStore):
            self.name += "-alias"
            self._send(self._first, "PUT", f"_alias/{self._alias}")
        self.store = open_store(self.name, deadline=30)
        self.store.describe()
        self.version = self.store.read(["a"])["a"].row.version

    @property
    def _alias(self) -> str:
        return self.name.rpartition("/")[2]

    @staticmethod
    def _send(store: Store, method: str, path: str) -> None:
        assert isinstance(store, ElasticStore)
        store.connection.send(method, path)

    def exchange(self, description: Description) -> Store:
        """Put another store with a document at the address, and return it."""
        other = self._stores.ready(description)
        put(other, entry("a", 1, digest="d" * 32), entry("b", 1, duplicate_of="a"))
        if isinstance(other, ElasticStore):
            self._send(self._first, "DELETE", f"_alias/{self._alias}")
            self._send(other, "PUT", f"_alias/{self._alias}")
        else:
            self._first.close()
            other.close()
            path = Path(self.name.removeprefix("sqlite:///"))
            for file in path.parent.glob(f"{path.name}*"):
                file.unlink()
            Path(other.name.removeprefix("sqlite:///")).replace(path)
        return other


@pytest.fixture
def address(stores: Stores) -> Iterator[Address]:
    made = Address(stores)
    with closing(made.store):
        yield made


@WITH_ADDRESS
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_meets_another_store_raises_until_it_is_described(address: Address, call: str) -> None:
    address.exchange(WHOLE)
    for _ in range(2):
        with pytest.raises(StoreChanged, match=r"is another store now: .* start again"):
            CALLS[call](address.store, address.version)
    address.store.describe()
    CALLS[call](address.store, address.version)


@pytest.mark.parametrize("stores", [ELASTICSEARCH, OPENSEARCH], indirect=True)
def test_known_documents_of_an_index_that_was_made_again_under_its_name_raise(stores: Stores) -> None:
    store = stores.ready(WHOLE)
    put(store, entry("a"), entry("b"))
    store.describe()
    version = store.read(["b"])["b"].row.version
    with closing(open_store(store.name)) as other:
        other.connection.send("DELETE", "")  # type: ignore[attr-defined]
        other.set_up(WHOLE)
    calls: list[Callable[[], Any]] = [
        lambda: store.write([entry("b", version=version)]),
        lambda: store.remove({"b": version}),
    ]
    for call in calls:
        with pytest.raises(StoreChanged):
            call()
    store.describe()
    assert store.read(["b"]) == {}
