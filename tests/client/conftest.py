"""Stores of each kind: addresses at which nothing is, and one store of seen items that the tests of a module share."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, SeenItems
from es_simhash.store.address import open_store
from tests.client import CONFIG, PROFILE, Clock
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.store.protocol import Store

SQLITE = "sqlite"


@pytest.fixture(params=[SQLITE, ELASTICSEARCH, OPENSEARCH])
def new_address(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Returns addresses at which nothing is yet."""
    return new_addresses(request, request.param)


@pytest.fixture(params=["memory", SQLITE, ELASTICSEARCH, OPENSEARCH])
def documents(request: pytest.FixtureRequest) -> Iterator[Documents]:
    """A new store of each kind for documents."""
    with Documents(new_addresses(request, request.param)()) as documents:
        documents.setup()
        yield documents


@pytest.fixture(scope="module", params=[SQLITE, ELASTICSEARCH])
def users_address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store of seen items, set up with CONFIG. Each test has users of its own."""
    if request.param == SQLITE:
        address = f"sqlite:///{tmp_path_factory.mktemp('users')}/users.db"
    else:
        address = f"{request.getfixturevalue('elasticsearch_url')}/test-{uuid.uuid4().hex[:16]}"
    with SeenItems(address, **CONFIG) as seen:
        seen.setup()
    yield address
    if request.param != SQLITE:
        url, _, index = address.rpartition("/")
        with Elasticsearch(url) as client:
            client.indices.delete(index=index)


@pytest.fixture
def seen(users_address: str) -> Iterator[SeenItems]:
    with SeenItems(users_address) as seen:
        yield seen


@pytest.fixture
def store(users_address: str) -> Iterator[Store]:
    """The store of ``seen``, for tests that put something between it and the class."""
    store = open_store(users_address, deadline=30)
    yield store
    store.close()


@pytest.fixture
def ann() -> str:
    """A user whom no other test knows."""
    return f"ann-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("es_simhash.client.seen.time", clock)
    return clock


@pytest.fixture
def users(client: Elasticsearch, index_name: str) -> str:
    """An index of users that takes no field it does not know, with one of them in it: ann."""
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
