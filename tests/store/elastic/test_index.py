"""Indices that somebody else made: strict ones, those with routing, several behind an alias; and a wrong address."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.errors import InputError, StoreChanged, StoreError, StoreUnavailable
from es_simhash.rows import Scan, StoreQuery
from es_simhash.store.address import open_store
from es_simhash.store.elastic.store import ElasticStore
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses
from tests.store.conftest import Stores
from tests.store.documents import DOCUMENTS, entry, put
from tests.store.elastic.test_alias import COPY, OTHER, TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.store.protocol import Store

STRICT = {
    "text": {"type": "text"},
    "source": {"properties": {"name": {"type": "keyword"}, "id": {"type": "keyword"}}},
    "tags": {"type": "nested", "properties": {"name": {"type": "keyword"}}},
}
WRITING: dict[str, Callable[[Documents], Any]] = {
    "init": lambda documents: documents.setup(),
    "ingest": lambda documents: list(documents.ingest([{"id": "a", "text": TEXT}])),
    "add": lambda documents: documents.add({"id": "a", "text": TEXT}),
    "backfill": lambda documents: list(documents.backfill()),
    "group": lambda documents: documents.group(),
    "remove": lambda documents: documents.remove(["a"]),
}


@pytest.fixture(params=[ELASTICSEARCH, OPENSEARCH])
def servers(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """Indices of each server."""
    with closing(Stores(new_addresses(request, request.param))) as made:
        yield made


def send(servers: Stores, method: str, path: str, body: Any, name: str | None = None) -> str:
    """Send a request to an index, by default to a new one, and return the address of the index."""
    store = servers.new() if name is None else open_store(name)
    assert isinstance(store, ElasticStore)
    store.connection.send(method, path, body)
    return store.name


# --- the other product -----------------------------------------------------------------------------------------------


@pytest.mark.elasticsearch
@pytest.mark.opensearch
def test_the_other_product_is_told(elasticsearch_url: str, opensearch_url: str) -> None:
    with Documents(f"opensearch+{elasticsearch_url}/no-such-index") as documents:
        with pytest.raises(StoreError, match="there is no such index"):
            documents.similar(TEXT)
        with pytest.raises(StoreError, match="is not an OpenSearch: check the address; Elasticsearch has http://"):
            documents.setup()
    with Documents(f"{opensearch_url}/no-such-index") as documents:
        for call in WRITING.values():
            with pytest.raises(
                StoreError, match="is not an Elasticsearch: check the address; OpenSearch has opensearch"
            ):
                call(documents)


# --- strict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [None, "source.id", "id"])
def test_what_is_removed_from_a_strict_index_is_ingested_as_it_was(
    servers: Stores, tmp_path: Path, field: str | None
) -> None:
    properties = {**STRICT, **({"id": {"type": "keyword"}} if field == "id" else {})}
    address = send(servers, "PUT", "", {"mappings": {"dynamic": "strict", "properties": properties}})
    rest = {"source": {"name": "新华社", "id": "b"}, "tags": [{"name": "天气"}, {"name": "城市"}]}
    given = [{"id": "a", "text": TEXT, "tags": []}, {"id": "b", "text": COPY, **rest}]
    if field == "source.id":
        given = [{"text": TEXT, "source": {"id": "a"}}, {"text": COPY, **rest}]
    file = tmp_path / "removed.jsonl"
    with Documents(address) as documents:
        documents.setup(id_field=field)
        assert [(o.outcome, o.reason) for o in documents.ingest(given)] == [("new", None), ("near_duplicate", None)]
        before = sources(documents)
        assert ("id" in before["b"]) == (field == "id")
        assert {"source": before["b"]["source"], "tags": before["b"]["tags"]} == rest
        assert [outcome.outcome for outcome in documents.ingest(given)] == ["unchanged", "unchanged"]
        documents.group()
        assert documents.remove(["a", "b"], save=str(file)) == {"a", "b"}
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert [outcome.outcome for outcome in documents.ingest(lines)] == ["new", "near_duplicate"]
        assert sources(documents) == before


def sources(documents: Documents) -> dict[str, dict[str, Any]]:
    """Return all documents of a store, by id."""
    return documents.fetch(["a", "b"], fields="*")


# --- shards ----------------------------------------------------------------------------------------------------------


def test_a_search_that_lacks_a_shard_is_no_answer(servers: Stores) -> None:
    store = servers.new()
    assert isinstance(store, ElasticStore)
    settings = {"number_of_shards": 2, "number_of_replicas": 0, "index.routing.allocation.total_shards_per_node": 1}
    store.connection.send("PUT", "", {"settings": settings}, {"wait_for_active_shards": "0"})
    health = f"_cluster/health/{store.connection.index}"
    store.connection.send("GET", health, None, {"wait_for_active_shards": "1"}, index=False)
    store.set_up(DOCUMENTS)
    searches: list[Callable[[Store], object]] = [
        lambda store: store.search([StoreQuery(1)], None, originals=True),
        lambda store: store.search([StoreQuery(digest="d" * 32)], None, originals=True),
        lambda store: store.members(["a"]),
        lambda store: list(store.scan(Scan())),
        lambda store: store.count(Scan()),
    ]
    with closing(open_store(store.name, deadline=0)) as hasty:
        for search in searches:
            with pytest.raises(StoreUnavailable, match=r"no_shard_available|missing shards"):
                search(hasty)


# --- another index ---------------------------------------------------------------------------------------------------


def test_known_documents_of_an_index_that_was_made_again_under_its_name_raise(servers: Stores) -> None:
    store = servers.ready(DOCUMENTS)
    put(store, entry("a"), entry("b"))
    store.describe()
    version = store.read(["b"])["b"].row.version
    with closing(open_store(store.name)) as other:
        other.connection.send("DELETE", "")  # type: ignore[attr-defined]
        other.set_up(DOCUMENTS)
    calls: list[Callable[[], Any]] = [
        lambda: store.write([entry("b", version=version)]),
        lambda: store.remove({"b": version}),
    ]
    for call in calls:
        with pytest.raises(StoreChanged):
            call()
    store.describe()
    assert store.read(["b"]) == {}


# --- routing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_fields", [True, False])
def test_an_index_that_requires_routing_is_refused(servers: Stores, has_fields: bool) -> None:
    mapping: dict[str, Any] = {"_routing": {"required": True}}
    if has_fields:
        ready = servers.ready()
        assert isinstance(ready, ElasticStore)
        [former] = ready.connection.send("GET", "_mapping").values()
        mapping = {**former["mappings"], **mapping}
    address = send(servers, "PUT", "", {"mappings": mapping})
    for call in WRITING.values():
        with Documents(address) as documents, pytest.raises(InputError, match="requires routing") as raised:
            call(documents)
        assert "\n" not in str(raised.value)


# --- an alias of several ---------------------------------------------------------------------------------------------


@pytest.fixture
def alias(servers: Stores) -> str:
    """The address of an alias of three indices, one of them without documents."""
    addresses = []
    for id, text in (("a", TEXT), ("b", COPY)):
        with Documents(servers.new()) as documents:
            documents.setup(rule="copy")
            assert documents.add({"id": id, "text": text}, refresh=True).stored
            addresses.append(documents.name)
    with Documents(servers.new()) as documents:  # a new one keeps no rule yet
        documents.setup()
        addresses.append(documents.name)
    base, _, first = addresses[0].rpartition("/")
    for address in addresses:
        send(servers, "PUT", f"_alias/{first}-all", None, address)
    return f"{base}/{first}-all"


def test_an_alias_of_several_indices_is_read_and_not_written(alias: str) -> None:
    for call in WRITING.values():
        with (
            Documents(alias) as documents,
            pytest.raises(InputError, match=r"an alias of several .*, none of which is its write index: say which"),
        ):
            call(documents)
    with Documents(alias) as documents:
        assert [match.id for match in documents.similar(TEXT)] == ["a", "b"]
        assert [match.id for match in documents.similar_to("b")] == ["a"]
        assert "b" in [match.id for match in documents.similar(COPY, rule="fingerprint")]
        assert not documents.similar(OTHER)
        assert documents.fetch(["a", "b", "c"]).keys() == {"a", "b"}


def test_ids_of_digits_and_of_letters_stand_in_one_index(servers: Stores) -> None:
    ids: list[int | str] = [101, "101-b", 10**20]
    with Documents(servers.new()) as documents:
        documents.setup()
        outcomes = list(documents.ingest({"id": id, "text": f"{TEXT}{id}"} for id in ids))
        assert [outcome.reason for outcome in outcomes] == [None] * 3
        assert documents.fetch(ids).keys() == set(map(str, ids))


def test_https_to_a_server_without_tls_is_told_at_once(servers: Stores) -> None:
    address = servers.new().name.replace("http://", "https://")
    for deadline, longest in ((300, 30), (0.5, 5)):
        began = time.monotonic()
        with Documents(address, deadline=deadline) as documents, pytest.raises(StoreError, match="use http://"):
            documents.similar(TEXT)
        assert time.monotonic() - began < longest
