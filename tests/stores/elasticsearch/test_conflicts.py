"""Another client of the server writes or removes a document between the look-up and the write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from tests.contract.watched import Meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable

    from elasticsearch import Elasticsearch

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"
NOTICE = "县农业农村局昨天公布秋收进度，全县十二万亩水稻已收割九成，烘干中心二十四小时运转，粮库敞开收购。"


def check_conflicts(client: Any, server: str, name: str, kind: str) -> None:
    """Play the changes of another client, in one index, with routing, or in an alias of two indices."""
    routing = {"routing": "acme"} if kind == "routing" else {}
    index, older = name, name
    with Documents(f"{server}/{name}{'?routing=acme' if routing else ''}") as plain:
        plain.setup(keys=False, template=kind == "alias")
        store = Meanwhile(plain.store, "write", lambda: None)
        documents = Documents(store)

        def given(*many: dict[str, Any]) -> list[tuple[Any, ...]]:
            return [(each.id, each.outcome, each.duplicate_of) for each in documents.ingest(many)]

        assert given(*({"id": id, "text": STORM} for id in "abc"))[0] == ("a", "new", None)
        if kind == "alias":
            client.indices.rollover(alias=name)
            index, older = f"{name}-000002", f"{name}-000001"

        def send(*operations: dict[str, Any]) -> Callable[[], object]:
            def sent() -> None:
                assert not client.bulk(body=list(operations), **routing)["errors"]

            return sent

        update = {"update": {"_index": older, "_id": "a"}}
        store.happens, store.times = send(update, {"doc": {"text": METRO, "status": "checked"}}), 1
        assert given({"id": "a", "text": NOTICE}) == [("a", "updated", None)]
        store.happens, store.times = send({"delete": {"_index": older, "_id": "b"}}), 1
        assert given({"id": "b", "text": METRO}) == [("b", "new", None)]
        store.happens, store.times = send({"index": {"_index": index, "_id": "d"}}, {"id": "d", "text": METRO}), 1
        assert given({"id": "d", "text": NOTICE}) == [("d", "updated", "a")]
        client.indices.refresh(index=name)
        hits = client.search(index=name, body={"size": 100})["hits"]["hits"]
        assert sorted((hit["_id"], hit["_source"]["text"]) for hit in hits) == [
            ("a", NOTICE),
            ("b", METRO),
            ("c", STORM),
            ("d", NOTICE),
        ]
        rows = plain.store.fetch(("a", "b", "c", "d"))
        assert {id: row.duplicate_of for id, row in rows.items()} == {"a": None, "b": None, "c": None, "d": "a"}


kinds = pytest.mark.parametrize("kind", ["index", "routing", "alias"])


@pytest.mark.elasticsearch
@kinds
def test_what_another_client_changed_is_read_before_it_is_replaced(
    client: Elasticsearch, elasticsearch_url: str, index_name: str, kind: str
) -> None:
    check_conflicts(client, elasticsearch_url, index_name, kind)


@pytest.mark.opensearch
@kinds
def test_what_another_client_changed_in_opensearch_is_read_before_it_is_replaced(
    opensearch_url: str, make_opensearch_index: Callable[[], str], kind: str
) -> None:
    from opensearchpy import OpenSearch

    name = make_opensearch_index()
    with OpenSearch(opensearch_url) as client:
        try:
            check_conflicts(client, f"opensearch+{opensearch_url}", name, kind)
        finally:
            client.indices.delete_index_template(name=f"es-simhash-{name}", ignore=404)
            for index in client.indices.get(index=f"{name}*"):
                client.indices.delete(index=index)
