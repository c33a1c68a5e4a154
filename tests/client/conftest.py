"""The classes for seen items on each store, used by calls."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch
from es_simhash.stores.address import open_store

from es_simhash import AsyncSeenItems, SeenItems
from es_simhash.retries import Patience
from tests.client import PROFILE, Called, Clock, Stores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Store

SQLITE = "sqlite"
ELASTICSEARCH = pytest.param("elasticsearch", marks=pytest.mark.elasticsearch)
ASYNC_ELASTICSEARCH = pytest.param("async elasticsearch", marks=pytest.mark.elasticsearch)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stores = Stores(request, tmp_path_factory.mktemp("stores"))
    yield stores
    stores.remove()


@pytest.fixture(params=[SQLITE, f"async {SQLITE}", ELASTICSEARCH, ASYNC_ELASTICSEARCH])
def seen(request: pytest.FixtureRequest, stores: Stores, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """Each class, used by calls."""
    address = stores.address(request.param)
    documents: Any = Called(AsyncSeenItems(address), loop) if "async" in request.param else SeenItems(address)
    yield documents
    documents.close()


@pytest.fixture(params=[SQLITE, ELASTICSEARCH])
def store(request: pytest.FixtureRequest, stores: Stores) -> Iterator[Store]:
    """Each store, for tests that put something between it and the documents."""
    store = open_store(stores.address(request.param), patience=Patience())
    yield store
    store.close()


@pytest.fixture
def ann() -> str:
    """A user whom no other test knows."""
    return f"ann-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("es_simhash.client.seen._now", lambda: clock.now)
    return clock


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield client


@pytest.fixture
def users(client: Elasticsearch, index_name: str) -> str:
    """An index of users that takes no field it doesn't know, with one of them in it: ann."""
    properties = {
        "name": {"type": "keyword"},
        "tags": {"type": "keyword"},
        "visits": {"type": "long"},
        "deep": {"properties": {"er": {"type": "long"}}},
        "seen_at": {"type": "date"},
    }
    mappings = {"dynamic": "strict", "_meta": {"owner": "web"}, "properties": properties}
    client.indices.create(index=index_name, mappings=mappings)
    client.index(index=index_name, id="ann", document=PROFILE)
    return index_name
