"""The stores that the contract suite runs on. A test gets a maker of new stores."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from es_simhash.store.address import open_store
from es_simhash.store.around import StoreAround
from es_simhash.store.elastic.store import ElasticStore
from es_simhash.store.fresh import FreshStore
from es_simhash.store.held import HeldStore
from es_simhash.store.memory_store import MemoryStore
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses
from tests.store.documents import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.rows import Description
    from es_simhash.store.protocol import Store


BOTH = {"keys": True, "fingerprints": True}
AROUND: dict[str, Callable[[Store], Store]] = {
    "fresh": lambda store: FreshStore(store, **BOTH),
    "held": lambda store: HeldStore(store, 10**6, **BOTH),
    "held without room": lambda store: HeldStore(store, 1, **BOTH),
    "": lambda store: store,
}
"""Stores around another one."""


class Stores:
    """Makes stores of a kind, and closes them after the test.

    :param around: makes a store around one that was set up.
    """

    def __init__(self, new_address: Callable[[], str], around: Callable[[Store], Store] = AROUND[""]) -> None:
        self._new_address, self._around = new_address, around
        self._opened: list[Store] = []

    def new(self) -> Store:
        """Return a new store that was not set up."""
        return self._open(self._new_address())

    def again(self, store: Store) -> Store:
        """Return another store on the same data, as a second program opens it; of data in memory, the same store."""
        inner = store.inner if isinstance(store, StoreAround) else store
        return inner if isinstance(inner, MemoryStore) else self._open(inner.name)

    def ready(self, description: Description = DOCUMENTS) -> Store:
        """Return a new store that was set up. The fields of an index may hold anything."""
        store = self.new()
        assert store.set_up(description) == "created"
        if isinstance(store, ElasticStore):
            fields = {"lang": "keyword", "n": "long", "date": "date"}
            properties = {name: {"type": kind} for name, kind in fields.items()}
            properties |= {"o": {"dynamic": True, "type": "object"}}  # type: ignore[dict-item]
            store.connection.send("PUT", "_mapping", {"dynamic": False, "properties": properties})
        return self._around(store)

    def close(self) -> None:
        """Close what was made."""
        for store in self._opened:
            store.close()

    def _open(self, address: str) -> Store:
        self._opened.append(open_store(address, deadline=30))
        return self._opened[-1]


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        ELASTICSEARCH,
        OPENSEARCH,
        "held memory",
        "held without room memory",
        "held sqlite",
        pytest.param("held elasticsearch", marks=pytest.mark.elasticsearch),
        pytest.param("fresh elasticsearch", marks=pytest.mark.elasticsearch),
    ]
)
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Each kind of store, and stores around them."""
    around, _, kind = request.param.rpartition(" ")
    with closing(Stores(new_addresses(request, kind), AROUND[around])) as made:
        yield made


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for documents with keys."""
    return stores.ready()
