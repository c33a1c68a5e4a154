"""An alias that rolls over to new indices: its documents are found, updated and removed wherever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, InputError, StoreError
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elasticsearch import Elasticsearch

pytestmark = pytest.mark.elasticsearch

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
METRO = "地铁三号线今日开通试运营，线路全长三十一公里，设车站二十四座，全程运行时间约四十六分钟。"

NOTICE = "县农业农村局昨天公布秋收进度，全县十二万亩水稻已收割九成，烘干中心二十四小时运转，粮库敞开收购。"


@pytest.fixture
def keys() -> bool:
    return True


@pytest.fixture
def documents(client: Elasticsearch, index_name: str, keys: bool) -> Iterator[Documents]:
    with Documents(client, index=index_name) as documents:
        assert documents.setup(keys=keys, template=True) == "created"
        assert documents.setup(keys=keys, template=True) == "unchanged"
        yield documents


def outcomes(documents: Documents, *given: dict[str, Any], **options: Any) -> list[tuple[Any, ...]]:
    return [(each.id, each.outcome, each.duplicate_of) for each in documents.ingest(given, **keywords_of(options))]


def index_of_each(client: Elasticsearch, name: str) -> dict[str, str]:
    client.indices.refresh(index=name)
    hits = client.search(index=name, size=100)["hits"]["hits"]
    assert len({hit["_id"] for hit in hits}) == len(hits)
    return {hit["_id"]: hit["_index"].removeprefix(f"{name}-") for hit in hits}


@pytest.mark.parametrize("rule", [{}, {"confirm": 0.8}], ids=["distance", "keys"])
def test_documents_of_older_indices_are_found_updated_linked_and_removed(
    client: Elasticsearch, documents: Documents, index_name: str, rule: dict[str, Any]
) -> None:
    assert outcomes(documents, {"id": "a", "text": STORM}, {"id": "m", "text": METRO}, **rule) == [
        ("a", "new", None),
        ("m", "new", None),
    ]
    client.indices.rollover(alias=index_name)
    copy = {"id": "b", "text": STORM.replace("部分", "多处")}
    if rule:
        copy = {"id": "b", "text": STORM + "夜间雨势减弱。"}
    assert outcomes(documents, copy, {"id": "m", "text": METRO}, **rule) == [
        ("b", "near_duplicate", "a"),
        ("m", "unchanged", None),
    ]
    client.indices.rollover(alias=index_name)
    # An update stays in its index; the document that was linked to it gets another original.
    assert outcomes(documents, {"id": "a", "text": METRO + "票价二元起。"}, {"id": "c", "text": STORM}, **rule)[1:] == [
        ("c", "near_duplicate", "b")
    ]
    assert index_of_each(client, index_name) == {"a": "000001", "m": "000001", "b": "000002", "c": "000003"}
    rows = {row.id: row for row in documents.export()}
    assert (rows["b"].duplicate_of, rows["c"].duplicate_of) == (None, "b")
    assert documents.group(head="latest", **keywords_of(rule)).changed > 0
    assert {row.id: row.group for row in documents.export()}["b"] == "c"
    assert documents.remove(["b", "m"], **keywords_of(rule)) == {"b", "m"}
    assert index_of_each(client, index_name).keys() == {"a", "c"}
    assert documents.similar_to("c", **keywords_of(rule)) == []


def test_an_older_index_that_takes_no_writes_refuses_only_its_own_documents(
    client: Elasticsearch, documents: Documents, index_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    old = [{"id": id, "text": text} for id, text in (("a", STORM), ("m", METRO), ("n", METRO))]
    outcomes(documents, *old, rule="fingerprint")
    client.indices.rollover(alias=index_name)
    later = {"b": STORM + "夜间雨势减弱。", "c": METRO + "票价二元起。"}
    outcomes(documents, *({"id": id, "text": text} for id, text in later.items()), rule="fingerprint")
    client.indices.put_settings(index=f"{index_name}-000001", settings={"index.blocks.write": True})
    for new in ([{"id": "d", "text": NOTICE}], []):  # with a document of the newest index, and alone
        found = [*documents.ingest([*new, {"id": "m", "text": STORM}], rule="fingerprint")]
        assert [(each.id, each.outcome) for each in found] == [*[("d", "new") for _ in new], ("m", "failed")]
        assert f'PUT {index_name}-000001/_settings {{"index.blocks.write": null}}' in str(found[-1].reason)
    documents.setup(rule=DuplicateRule("fingerprint", max_distance=7))
    assert documents.group(head="latest", rule=DuplicateRule("fingerprint", max_distance=7)).conflicts
    assert {row.id: row.group for row in documents.export()}.items() >= {"a": "a", "m": "m", "n": "m"}.items()
    assert [record.message.count(f"{index_name}-000001 is blocked") for record in caplog.records] == [1]
    client.indices.put_settings(index=f"{index_name}-000002", settings={"index.blocks.write": True})
    with pytest.raises(StoreError, match=rf"index \[{index_name}-000002\] blocked"):
        outcomes(documents, {"id": "e", "text": STORM})


def test_one_document_at_a_time_goes_on_through_a_rollover(
    client: Elasticsearch, documents: Documents, index_name: str
) -> None:
    assert documents.add({"id": "a", "text": STORM}, rule="fingerprint").outcome == "new"
    client.indices.rollover(alias=index_name)
    assert documents.add({"id": "b", "text": STORM}, rule="fingerprint").duplicate_of == "a"
    assert documents.add({"id": "a", "text": METRO}, rule="fingerprint").outcome == "updated"
    assert index_of_each(client, index_name) == {"a": "000001", "b": "000002"}


def test_documents_are_added_while_an_older_index_is_deleted(
    client: Elasticsearch, documents: Documents, index_name: str
) -> None:
    documents.add({"id": "a", "text": STORM}, refresh=True, rule="fingerprint")
    for id, text in (("b", METRO), ("c", NOTICE)):
        client.indices.rollover(alias=index_name)
        assert documents.add({"id": id, "text": text}, rule="fingerprint").outcome == "new"
    for number, left in ((1, {"b", "c"}), (2, {"c"})):
        assert documents.fetch(["a", "b", "c"]).keys() >= left  # so the names of the indices were just asked
        client.indices.delete(index=f"{index_name}-00000{number}")
        assert documents.fetch(["a", "b", "c"]).keys() == left
        assert documents.add({"id": "c", "text": NOTICE}, rule="fingerprint").outcome == "unchanged"


def test_an_existing_index_gets_fingerprints_through_its_alias(
    client: Elasticsearch, documents: Documents, index_name: str
) -> None:
    for id, text in {"x": STORM, "y": STORM}.items():
        client.index(index=index_name, id=id, document={"text": text})
        client.indices.rollover(alias=index_name)
    found = [
        (each.id, each.outcome, each.duplicate_of)
        for each in documents.backfill(rule=DuplicateRule("fingerprint", text_field="text"))
    ]
    assert sorted(outcome for _, outcome, _ in found) == ["exact_duplicate", "new"]
    assert index_of_each(client, index_name) == {"x": "000001", "y": "000002"}


@pytest.mark.parametrize("keys", [False])
def test_the_template_keeps_what_it_has_and_gets_keys_that_are_added(
    client: Elasticsearch, documents: Documents, index_name: str
) -> None:
    name = f"es-simhash-{index_name}"
    found = client.indices.get_index_template(name=name)["index_templates"][0]["index_template"]
    template = {key: found[key] for key in ("index_patterns", "priority", "template")}
    template["template"]["settings"] = {"index": {"number_of_replicas": "0"}}
    client.indices.put_index_template(name=name, body=template)
    assert outcomes(documents, {"id": "stored", "text": METRO}, rule="fingerprint") == [("stored", "new", None)]
    assert documents.setup(keys=True, template=True) == "added"
    assert not documents.keys_complete()
    after = client.indices.get_index_template(name=name)["index_templates"][0]["index_template"]["template"]
    assert after["settings"] == {"index": {"number_of_replicas": "0"}}
    assert after["mappings"]["_meta"]["es_simhash"]["keys"] == "complete"
    client.indices.rollover(alias=index_name)
    assert outcomes(documents, {"id": "a", "text": STORM}, rule="fingerprint") == [("a", "new", None)]


def test_what_cannot_roll_over_is_refused(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(index=index_name)
    with (
        Documents(client, index=index_name) as documents,
        pytest.raises(InputError, match="is an index, so it cannot"),
    ):
        documents.setup(template=True)
    client.indices.delete(index=index_name)
    other = {"name": f"{index_name}-other", "index_patterns": [f"{index_name}-*"], "priority": 501}
    client.indices.put_index_template(**other)
    try:
        with Documents(client, index=index_name) as documents, pytest.raises(InputError, match="priority above 500"):
            documents.setup(template=True)
    finally:
        client.indices.delete_index_template(name=str(other["name"]))
