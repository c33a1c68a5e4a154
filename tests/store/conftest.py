"""The stores that the contract suite runs on. A test gets a maker of new stores."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable, Iterator, Sequence

    from es_simhash.rows import Description, Entry, Written
    from es_simhash.store.protocol import Store


BOTH = {"keys": True, "fingerprints": True}
AROUND: dict[str, Callable[[Store], Store]] = {
    "fresh": lambda store: FreshStore(store, **BOTH),
    "held": lambda store: HeldStore(store, **BOTH),
    "": lambda store: store,
}
"""Stores around another one."""


class Rolled(StoreAround):
    """An alias of three indices whose write index is another one before each write, as after a rollover."""

    lags = True

    def __init__(self, store: ElasticStore, names: list[str]) -> None:
        super().__init__(store, **BOTH)
        self.read, self.search, self.members, self.remove = store.read, store.search, store.members, store.remove
        self._connection, self._names = store.connection, names
        self._roll()

    def write(self, entries: Sequence[Entry]) -> Written:
        """Write documents."""
        self._roll()
        return self.inner.write(entries)

    def _roll(self) -> None:
        self._names = [*self._names[1:], self._names[0]]
        alias = self._connection.index
        put = [
            {"add": {"index": name, "alias": alias, "is_write_index": name == self._names[0]}} for name in self._names
        ]
        self._connection.send("POST", "_aliases", {"actions": put}, index=False)
        self._connection.describe_again()


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
        if isinstance(inner, MemoryStore):
            return inner
        again = self._open(inner.name)
        if isinstance(store, Rolled):
            again.describe()
        return again

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

    def monthly(self, description: Description = DOCUMENTS) -> Store:
        """Return a store on an alias of three indices, each of which was set up by itself."""
        months: list[Any] = [Stores.ready(self, description) for _ in range(3)]
        store = self._open(f"{months[0].name}-all")
        assert isinstance(store, ElasticStore)
        rolled = Rolled(store, [month.connection.index for month in months])
        assert rolled.set_up(description) == "added"  # each has an instance of its own
        return rolled

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
        "held sqlite",
        pytest.param("held elasticsearch", marks=pytest.mark.elasticsearch),
        pytest.param("fresh elasticsearch", marks=pytest.mark.elasticsearch),
        pytest.param("monthly elasticsearch", marks=pytest.mark.elasticsearch),
    ]
)
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Each kind of store, and stores around them."""
    around, _, kind = request.param.rpartition(" ")
    with closing(Stores(new_addresses(request, kind), AROUND.get(around, AROUND[""]))) as made:
        if around == "monthly":
            made.ready = made.monthly  # type: ignore[method-assign]
        yield made


@pytest.fixture
def store(stores: Stores) -> Store:
    """Return a new store for documents with keys."""
    return stores.ready()
