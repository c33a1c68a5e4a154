"""Backfill: of documents that other programs change meanwhile and in the order of their times."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule
from es_simhash.rows import Entry, Row
from tests.client import METRO, STORM, before, links
from tests.es_node.fixtures import new_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.store.protocol import Store

RULE = DuplicateRule(text_field="text")


def put(store: Store, sources: dict[str, str]) -> None:
    """Write documents without a fingerprint, as another program does: by id, their texts."""
    versions = {id: stored.row.version for id, stored in store.read(list(sources)).items()}
    store.write(
        [
            Entry(Row(id, None, "", version=versions.get(id)), (), json.dumps({"id": id, "text": text}))
            for id, text in sources.items()
        ]
    )


@pytest.fixture(params=["memory", "sqlite"])
def documents(request: pytest.FixtureRequest) -> Iterator[Documents]:
    """A store with three copies, which were not fingerprinted."""
    with Documents(new_addresses(request, request.param)()) as documents:
        documents.setup(RULE)
        put(documents.store, {"W": METRO, "X": STORM, "Y": STORM, "Z": STORM})
        yield documents


RACES: dict[str, Callable[[Store], Any]] = {
    "removed": lambda store: store.remove({"X": None}),
    "changed": lambda store: put(store, {"X": METRO}),
}


@pytest.mark.parametrize("race", RACES)
def test_a_copy_of_what_another_program_changes_meanwhile_has_another_original(documents: Documents, race: str) -> None:
    before(documents.store, "write", lambda: RACES[race](documents.store))
    outcomes = {outcome.id: (outcome.outcome, outcome.duplicate_of) for outcome in documents.backfill()}
    assert outcomes["X"] == ("failed", None)
    assert [outcomes[id] for id in "WYZ"] == [("new", None), ("new", None), ("exact_duplicate", "Y")]
    assert links(documents) == {"W": None, "Y": None, "Z": "Y"}
    rest = [(outcome.id, outcome.outcome, outcome.duplicate_of) for outcome in documents.backfill()]
    assert rest == ([] if race == "removed" else [("X", "exact_duplicate", "W")])
    assert [outcome.outcome for outcome in documents.backfill()] == []


@pytest.mark.parametrize("repair", ["group", "backfill"])
def test_links_to_an_original_that_another_program_removed_stay_until_their_documents_are_read(
    documents: Documents, repair: str
) -> None:
    """A document that is written anew finds the copies whose text is equal to its own, not those that are near."""
    texts = {f"n{number}": f"{STORM[:number]}的{STORM[number:]}" for number in range(1, 40)}
    list(documents.ingest({"id": id, "text": text} for id, text in texts.items()))
    assert {copy for copy, original in links(documents).items() if original == "n1"} == texts.keys() - {"n1"}
    documents.store.remove({"n1": None})
    put(documents.store, {"n7": texts["n7"]})
    outcomes = {outcome.id: outcome.outcome for outcome in documents.backfill()}
    assert outcomes["n7"] in ("new", "near_duplicate")
    assert "failed" not in outcomes.values()
    if repair == "group":
        documents.group()
    else:
        list(documents.backfill(again=True))
    left = links(documents)
    assert {original for original in left.values() if original is not None} <= {i for i in left if left[i] is None}


@pytest.mark.elasticsearch
@pytest.mark.parametrize("form", ["yyyy-MM-dd HH:mm:ss", "strict_date_optional_time||epoch_millis"])
@pytest.mark.parametrize("dynamic", ["strict", "true"])
def test_the_first_published_is_the_original(elasticsearch_url: str, index_name: str, form: str, dynamic: str) -> None:
    between = " " if form.startswith("yyyy") else "T"
    fields = {"body": {"type": "text"}, "published": {"type": "date", "format": form}}
    rule = DuplicateRule("copy", text_field="body", time_field="published", within=timedelta(days=7))
    times = ["2024-05-03", "2024-05-02", "2024-05-01", "2024-06-01", "2024-06-02"]
    with Elasticsearch(elasticsearch_url) as client, Documents(f"{elasticsearch_url}/{index_name}") as documents:
        client.indices.create(index=index_name, mappings={"dynamic": dynamic, "properties": fields})
        for number, time in enumerate(times):
            source = {"body": STORM, "published": f"{time}{between}08:30:00"}
            client.index(index=index_name, id=str(number), document=source, refresh=True)
        client.index(index=index_name, id="no time", document={"body": STORM}, refresh=True)
        documents.setup(rule)
        outcomes = {outcome.id: outcome.outcome for outcome in documents.backfill()}
        assert outcomes.pop("no time") == "rejected"
        assert list(outcomes) == ["2", "1", "0", "3", "4"]
        expected = {"2": None, "1": "2", "0": "2", "3": None, "4": "3"}
        assert links(documents) == expected
        assert documents.group().changed == 0
        added = {"id": "5", "body": STORM, "published": f"2024-06-03{between}08:30:00"}
        client.indices.put_mapping(index=index_name, properties={"id": {"type": "keyword"}})
        assert documents.add(added).duplicate_of == "3"
        assert {match.id for match in documents.similar(STORM, time="2024-05-02 00:00:00")} == {"0", "1", "2"}


def test_a_document_without_the_new_text_field_loses_its_fingerprint(address: str) -> None:
    title = "市气象台今晨发布暴雨橙色预警"
    with Documents(address) as documents:
        documents.setup(DuplicateRule(text_field="title"))
        both = [{"id": id, "title": title, "body": body} for id, body in (("a", STORM), ("c", METRO))]
        sources = [{"id": "b", "title": title}, *both]
        assert [outcome.duplicate_of for outcome in documents.ingest(sources)] == [None, "b", "b"]
        documents.setup(DuplicateRule(text_field="body"))
        outcomes = {outcome.id: outcome.outcome for outcome in documents.backfill(again=True)}
        assert outcomes == {"a": "updated", "b": "rejected", "c": "updated"}
        assert documents.similar(title) == []
        assert links(documents) == {"a": None, "c": None}
        assert documents.fetch(["b"], fields="*")["b"] == {"id": "b", "title": title}
        assert [outcome.outcome for outcome in documents.ingest([{"id": "b", "body": STORM}])] == ["exact_duplicate"]
