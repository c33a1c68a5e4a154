"""A document with the same text as the stored one, and with other fields."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from es_simhash.contract import Entry, Link, Row
from tests.contract.documents import write
from tests.contract.watched import WatchedStore
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.outcome import Outcome

RULE: Any = {"rule": "fingerprint"}
STORM = "今天北京下了一场大雨，气象台发布暴雨蓝色预警，部分地铁站临时关闭，市民出行受到影响，学校停课一天。"
METRO = "上海地铁十四号线新车站本周开通，换乘更方便，沿线居民表示欢迎，首班车早上五点半从起点站准时发出。"


def ingest(documents: Documents, *given: dict[str, Any], **options: Any) -> list[Outcome]:
    return list(documents.ingest(given, **keywords_of(RULE), **keywords_of(options)))


def add(documents: Documents, *given: dict[str, Any], **options: Any) -> list[Outcome]:
    return [documents.add(each, **keywords_of(RULE), **keywords_of(options)) for each in given]


def add_many(documents: Documents, *given: dict[str, Any], **options: Any) -> list[Outcome]:
    return documents.add_many(given, **keywords_of(RULE), **keywords_of(options))


writers = pytest.mark.parametrize("put", [ingest, add, add_many])


def names(outcomes: Sequence[Outcome]) -> list[tuple[Any, ...]]:
    return [(each.id, each.outcome, each.duplicate_of, each.stored) for each in outcomes]


def stored(store: Store, id: str) -> dict[str, Any]:
    return store.fetch_fields((id,), None)[id]


@writers
def test_other_fields_are_stored_and_the_links_are_kept(store: Store, put: Any) -> None:
    documents = Documents(store)
    ingest(documents, {"id": "a", "text": STORM, "status": "draft"}, {"id": "b", "text": STORM, "n": 1})
    before = store.fetch(("a", "b"))
    changed = {"id": "a", "text": STORM, "status": "published"}, {"id": "b", "text": STORM}
    assert names(put(documents, *changed)) == [("a", "updated", None, True), ("b", "updated", "a", True)]
    assert (stored(store, "a"), stored(store, "b")) == changed
    assert store.fetch(("a", "b")) == before
    assert [match.id for match in documents.similar(STORM, **keywords_of(RULE))] == ["a", "b"]


@writers
def test_an_equal_document_costs_no_write(store: Store, put: Any) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM, "meta": {"x": 1, "y": [1.5, None]}})
    version = store.fetch(("a",))["a"].version
    counting = WatchedStore(store)
    [outcome] = put(Documents(counting), {"meta": {"y": [1.5, None], "x": 1}, "text": STORM, "id": "a"})
    assert outcome.outcome == "unchanged"
    assert {"write", "fetch_fields", "relink", "annotate"}.isdisjoint(call.method for call in counting.asked)
    assert store.fetch(("a",))["a"].version == version


def test_other_fields_cost_one_write_and_no_search(store: Store) -> None:
    ingest(Documents(store), {"id": "a", "text": STORM, "n": 1})
    counting = WatchedStore(store)
    ingest(Documents(counting), {"id": "a", "text": STORM, "n": "1"})
    assert stored(store, "a")["n"] == "1"
    assert counting.times_asked("write") == 1
    assert {"candidates", "dependents", "relink"}.isdisjoint(call.method for call in counting.asked)


@writers
def test_stored_fields_can_be_left_alone(store: Store, put: Any) -> None:
    documents = Documents(store)
    first = {"id": "a", "text": STORM, "status": "draft"}
    put(documents, first, keep_fields=True)
    put(documents, {"id": "b", "text": METRO, "status": "draft"})
    others = {"id": "a", "text": STORM, "status": "new"}, {"id": "b", "text": METRO, "status": "new"}
    assert [each.outcome for each in put(documents, *others, keep_fields=True)] == ["unchanged"] * 2
    assert stored(store, "a") == first
    assert [each.outcome for each in put(documents, first, others[1])] == ["unchanged", "updated"]
    assert [each.outcome for each in put(documents, others[0])] == ["updated"]
    assert stored(store, "a") == others[0]


def test_a_document_that_a_backfill_has_fingerprinted_is_compared_with_what_is_stored(store: Store) -> None:
    sources = [{"id": id, "text": text, "n": 1} for id, text in (("a", STORM), ("b", METRO))]
    write(
        store, *(Entry(Row(str(each["id"]), None, "", str(each["id"]), None, 0), json.dumps(each)) for each in sources)
    )
    documents = Documents(store)
    assert [
        outcome.outcome for outcome in documents.backfill(again=True, **keywords_of({"text_field": "text", **RULE}))
    ] == ["new"] * 2
    changed = {"id": "b", "text": METRO, "n": 2}
    assert [each.outcome for each in ingest(documents, sources[0], changed)] == ["unchanged", "updated"]
    assert stored(store, "b") == changed


def test_a_backfill_keeps_what_is_known_of_the_fields(store: Store) -> None:
    documents = Documents(store)
    given = {"id": "a", "text": STORM, "n": 1}
    ingest(documents, given)
    content = store.fetch(("a",))["a"].content
    assert content is not None
    list(documents.backfill(again=True, **keywords_of({"text_field": "text", **RULE})))
    assert store.fetch(("a",))["a"].content == content


def test_another_time_is_decided_again_under_a_rule_with_a_window(store: Store) -> None:
    documents = Documents(store)
    window: Any = {"within": timedelta(days=3), "time_field": "date", **RULE}
    if not store.embedded:
        server, _, index = store.name.rpartition("/")
        with Elasticsearch(server) as client:
            client.indices.put_mapping(index=index, properties={"date": {"type": "date"}})
    given = [{"id": "a", "text": STORM, "date": "2026-01-01"}, {"id": "b", "text": STORM, "date": "2026-01-02"}]
    assert names(documents.add_many(given, **keywords_of(window)))[1] == ("b", "exact_duplicate", "a", True)
    later = {"id": "b", "text": STORM, "date": "2026-03-01"}
    assert names(list(documents.ingest([later], **keywords_of(window)))) == [("b", "updated", None, True)]
    assert stored(store, "b") == later
    assert store.fetch(("b",))["b"].group == "b"
    again = list(documents.ingest([given[1]], keep_fields=True, **keywords_of(window)))
    assert names(again) == [("b", "unchanged", None, True)]


def test_links_that_a_person_gave_stay_if_other_fields_change(store: Store) -> None:
    documents = Documents(store)
    ingest(documents, {"id": "a", "text": STORM, "n": 1}, {"id": "b", "text": METRO, "n": 1})
    store.relink({"b": Link("a", "a", store.fetch(("b",))["b"].version)})
    linked = store.fetch(("b",))["b"]
    assert linked.group == "a"
    ingest(documents, {"id": "b", "text": METRO, "n": 2})
    assert store.fetch(("b",))["b"] == linked
