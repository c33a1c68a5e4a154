"""A store with a routing value reads and writes the documents of this value alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, Documents, DuplicateRule, InputError
from es_simhash.stores.elasticsearch.keys_state import KEY
from es_simhash.stores.elasticsearch.mapping import META
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
TENANTS = ["acme", "新闻", "tenant 7", "a/b?c"]
"""One more than the index has shards, so two are in one shard."""


def documents_of(tenant: str) -> list[dict[str, Any]]:
    texts = [STORM, STORM.replace("，", ","), STORM.replace("部分", "多处"), METRO]
    return [{"id": f"{tenant}-{number}", "text": text} for number, text in enumerate(texts)]


def check_that_each_tenant_has_a_pool_of_its_own(client: Any, server: str, index: str, options: dict[str, Any]) -> None:
    """Play all verbs for several tenants of one index, which requires routing."""
    client.indices.create(
        index=index, body={"settings": {"number_of_shards": 3}, "mappings": {"_routing": {"required": True}}}
    )
    with Documents(f"{server}/{index}") as nobody, pytest.raises(InputError, match=r"requires routing: .*\?routing=…"):
        nobody.setup(keys=False)
    stores = {tenant: Documents(f"{server}/{index}", routing=tenant) for tenant in TENANTS}
    keys = bool(options)
    assert [store.setup(keys=keys) for store in stores.values()] == ["added", *["unchanged"] * 3]
    names = ["new", "exact_duplicate", "near_duplicate", "new"]
    for tenant, store in stores.items():
        outcomes = list(store.ingest(documents_of(tenant), **keywords_of(options)))
        assert [o.outcome for o in outcomes] == names
        assert [o.duplicate_of for o in outcomes] == [None, f"{tenant}-0", f"{tenant}-0", None]
    for tenant, store in stores.items():
        ids = {f"{tenant}-{number}" for number in range(4)}
        assert {row.id for row in store.export()} == ids
        assert {match.id for match in store.similar(STORM, **keywords_of(options))} == {
            f"{tenant}-{n}" for n in range(3)
        }
        assert {match.id for match in store.similar_to(f"{tenant}-0", **keywords_of(options))} == {
            f"{tenant}-{n}" for n in (1, 2)
        }
        assert [o.outcome for o in store.ingest(documents_of(tenant), **keywords_of(options))] == ["unchanged"] * 4
        added = store.add({"id": f"{tenant}-4", "text": METRO}, refresh=True, **keywords_of(options))
        assert (added.outcome, added.duplicate_of) == ("exact_duplicate", f"{tenant}-3")
    first, *others = stores
    store = stores[first]
    assert [o.outcome for o in store.ingest([{"id": f"{first}-0", "text": METRO}], **keywords_of(options))] == [
        "updated"
    ]
    assert store.remove([f"{first}-3"], **keywords_of(options)) == {f"{first}-3"}
    assert store.group(**keywords_of(options)).documents == 4
    links = {row.id: row.group for row in store.export()}
    assert {links[f"{first}-{n}"] for n in (1, 2)} == {f"{first}-1"}
    assert links[f"{first}-0"] == links[f"{first}-4"]
    assert store.remove_duplicates(list(store.duplicates(**keywords_of(options))), **keywords_of(options)) == 2
    assert {row.id for row in store.export()} & {f"{first}-1", f"{first}-2"} == {f"{first}-1"}
    assert store.remove_matching({"match_all": {}}, **keywords_of(options)) == 2
    for tenant in others:
        rows = {row.id: row.duplicate_of for row in stores[tenant].export()}
        originals = [None, f"{tenant}-0", f"{tenant}-0", None, f"{tenant}-3"]
        assert rows == {f"{tenant}-{number}": original for number, original in enumerate(originals)}
    assert client.count(index=index)["count"] == 15
    assert len(list(store.backfill(**keywords_of({"text_field": "text", **options})))) == 0
    check_that_no_tenant_replaces_a_document_of_another(client, index, stores)
    if not keys:
        check_that_the_keys_are_complete_when_all_tenants_have_theirs(client, server, index)
    for each in stores.values():
        each.close()


def check_that_the_keys_are_complete_when_all_tenants_have_theirs(client: Any, server: str, index: str) -> None:
    states = []
    for tenant in TENANTS:
        with Documents(f"{server}/{index}", routing=tenant) as store:
            store.setup(keys=True)
            list(store.backfill(rule=DuplicateRule(text_field="text"), again=True))
        meta = client.indices.get_mapping(index=index)[index]["mappings"]["_meta"]
        states.append(meta[META][KEY])
    assert states == ["incomplete", "incomplete", "incomplete", "complete"]


def check_that_no_tenant_replaces_a_document_of_another(client: Any, index: str, stores: dict[str, Documents]) -> None:
    for verb in ("add", "add_many", "ingest", "remove"):
        turns = reversed(stores.items()) if verb == "remove" else stores.items()  # the first has the document
        refused = sum(is_refused(store, verb, f"{METRO} {tenant}") for tenant, store in turns)
        client.indices.refresh(index=index)
        id = "same-add" if verb == "remove" else f"same-{verb}"
        stored = client.count(index=index, body={"query": {"ids": {"values": [id]}}})["count"]
        assert refused > 0, verb
        assert stored == (0 if verb == "remove" else len(stores) - refused)


def is_refused(store: Documents, verb: str, text: str) -> bool:
    """Return whether a verb names a document of another tenant that has the id of this one."""
    document: Any = {"id": f"same-{verb}", "text": text}
    try:
        if verb == "remove":
            store.remove(["same-add"])
        else:
            list(getattr(store, verb)([document]) if verb != "add" else [store.add(document, refresh=True)])
    except InputError as error:
        return "has another routing" in str(error)
    return False


@pytest.mark.slow
@pytest.mark.elasticsearch
def test_each_tenant_of_elasticsearch_has_a_pool_of_its_own(elasticsearch_url: str, index_name: str) -> None:
    from elasticsearch import Elasticsearch

    with Elasticsearch(elasticsearch_url) as client:
        check_that_each_tenant_has_a_pool_of_its_own(client, elasticsearch_url, index_name, {"confirm": 0.7})


@pytest.mark.slow
@pytest.mark.opensearch
def test_each_tenant_of_opensearch_has_a_pool_of_its_own(
    opensearch_url: str, make_opensearch_index: Callable[[], str]
) -> None:
    from opensearchpy import OpenSearch

    with OpenSearch(opensearch_url) as client:
        server = f"opensearch+{opensearch_url}"
        check_that_each_tenant_has_a_pool_of_its_own(client, server, make_opensearch_index(), {})


@pytest.mark.elasticsearch
def test_the_address_names_the_routing_and_a_store_without_it_says_how(elasticsearch_url: str, index_name: str) -> None:
    address = f"{elasticsearch_url}/{index_name}"

    async def add(tenant: str) -> tuple[str, str]:
        async with AsyncDocuments(f"{address}?routing={tenant}") as documents:
            await documents.setup(keys=False)
            outcome = await documents.add({"id": tenant, "text": STORM}, refresh=True, rule="fingerprint")
            return documents.name, outcome.outcome

    assert [asyncio.run(add(tenant)) for tenant in ("a%2Fb", "b")] == [
        (f"{address}?routing=a%2Fb", "new"),
        (f"{address}?routing=b", "new"),
    ]
    with Documents(address) as documents, pytest.raises(InputError, match=r"has custom routing: .*\?routing=…"):
        documents.similar(STORM, rule="fingerprint")


@pytest.mark.parametrize(
    ("address", "routing", "message"),
    [
        (
            "sqlite:///news.db",
            "a",
            "routing given with 'sqlite:///news.db': use these with Elasticsearch or OpenSearch",
        ),
        ("sqlite:///news.db?routing=a", None, "routing given with 'sqlite:///news.db': use these with Elasticsearch"),
        ("http://localhost:9200/news?routing=", None, "routing is '': use one value"),
        ("http://localhost:9200/news?routing=a,b", None, "routing is 'a,b': use one value"),
        ("http://localhost:9200/news?routing=a", "b", "names the routing 'a', and routing='b' is given too"),
        ("http://localhost:9200/news", 7, "routing is 7: use one value"),
    ],
)
def test_a_routing_that_no_store_can_have_raises_at_once(address: str, routing: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Documents(address, routing=routing)
