"""Another index or file at the address of a store: nothing goes on there by itself under another set-up.

A store in memory has no address.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.bloom.seen import SeenConfig
from es_simhash.errors import StoreChanged
from es_simhash.rows import Scan, StoreQuery, UserState
from es_simhash.store.address import open_store
from tests.client.test_another_store import Place
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses
from tests.store.documents import DOCUMENTS, entry, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.store.protocol import Store
    from tests.store.conftest import Stores

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


def make(address: str) -> None:
    """Set up a store with a document and its copy."""
    with closing(open_store(address, deadline=30)) as store:
        assert store.set_up(WHOLE) == "created"
        put(store, entry("a", 1, digest="d" * 32), entry("b", 1, duplicate_of="a"))


@pytest.fixture(params=["sqlite", ELASTICSEARCH, OPENSEARCH])
def place(request: pytest.FixtureRequest) -> Place:
    """An address with such a store. An alias tells of another index."""
    made = Place(new_addresses(request, request.param), "made again" if request.param == "sqlite" else "alias")
    made.make(make)
    return made


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_meets_another_store_raises_until_it_is_described(place: Place, call: str) -> None:
    with closing(open_store(place.address, deadline=30)) as store:
        store.describe()
        version = store.read(["a"])["a"].row.version
        place.exchange(make)
        for _ in range(2):
            with pytest.raises(StoreChanged, match=r"is another store now: .* start again"):
                CALLS[call](store, version)
        store.describe()
        CALLS[call](store, version)


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
