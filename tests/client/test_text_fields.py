"""After a change of the text fields no verb decides by the former fingerprints, until a backfill has made others."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule, InputError, NotSetUp
from es_simhash.rows import Entry
from tests.client import METRO, STORM, before, links

if TYPE_CHECKING:
    from collections.abc import Callable

TITLE = "今日要闻：我市各界热议民生大事"
NEWS = [{"id": "a", "title": TITLE, "body": STORM}, {"id": "b", "title": TITLE, "body": METRO}]
BOTH = DuplicateRule(text_field=["title", "body"])
DECIDE: dict[str, Callable[[Documents], Any]] = {
    "add": lambda documents: documents.add(NEWS[0]),
    "add_many": lambda documents: documents.add_many(NEWS),
    "ingest": lambda documents: list(documents.ingest(NEWS)),
    "group": lambda documents: documents.group(),
    "remove": lambda documents: documents.remove(["a"]),
    "duplicates": lambda documents: list(documents.duplicates()),
    "remove_duplicates": lambda documents: documents.remove_duplicates([]),
    "similar": lambda documents: documents.similar(TITLE),
    "similar_many": lambda documents: documents.similar_many([TITLE]),
    "similar_to": lambda documents: documents.similar_to("a"),
    "near_query": lambda documents: documents.near_query(TITLE),
}


def changed(documents: Documents) -> None:
    """Ingest documents by their titles, which are equal, then let the bodies count too."""
    documents.setup(DuplicateRule(text_field="title"), id_field="id")
    assert [o.outcome for o in documents.ingest(NEWS)] == ["new", "exact_duplicate"]
    assert documents.setup(BOTH) == "changed"
    assert documents.info().stale


def test_no_verb_decides_before_the_backfill(address: str) -> None:
    with Documents(address) as documents:
        changed(documents)
    with Documents(address) as documents:
        for verb, call in DECIDE.items():
            with pytest.raises(
                NotSetUp, match=r"before its rule, text or time fields changed: run `es-simhash backfill"
            ):
                call(documents)
            assert documents.fetch(["a", "b"]).keys() == {"a", "b"}, verb
        list(documents.backfill())  # of documents without a fingerprint: it finds none
        assert documents.info().stale


def test_the_backfill_of_all_documents_ends_it_and_unrelated_documents_stay(address: str) -> None:
    with Documents(address) as documents:
        changed(documents)
        list(documents.backfill(again=True, filter={"ids": {"values": ["a"]}}))
        assert documents.info().stale, "it read some documents only"
        outcomes = documents.backfill(again=True)
        next(outcomes)
        outcomes.close()
        assert documents.info().stale, "it was left"
        list(documents.backfill(again=True))
        assert not documents.info().stale
        assert links(documents) == {"a": None, "b": None}
        assert (documents.group().groups, list(documents.duplicates())) == (0, [])
        assert {outcome.duplicate_of for outcome in documents.ingest(NEWS)} == {None}
        assert [match.id for match in documents.similar(f"{TITLE}\n{STORM}")] == ["a"]


def test_a_backfill_that_misses_a_document_does_not_end_it() -> None:
    with Documents("memory://") as documents:
        changed(documents)
        before(documents.store, "write", lambda: touch(documents, "a"))
        outcomes = {outcome.id: outcome.outcome for outcome in documents.backfill(again=True)}
        assert outcomes["a"] == "failed"
        assert documents.info().stale
        assert "failed" not in {outcome.outcome for outcome in documents.backfill(again=True)}
        assert not documents.info().stale


def touch(documents: Documents, id: str) -> None:
    """Write a document as it is: it gets another version."""
    documents.store.write([Entry(documents.store.read([id])[id].row, keys=None)])


def test_a_field_that_no_document_has_is_refused_and_nothing_is_stale(address: str) -> None:
    with Documents(address) as documents:
        documents.setup(DuplicateRule(text_field="body"))
        documents.add({"id": "a", "body": STORM}, refresh=True)
        with pytest.raises(InputError, match=r"none of the first 1 documents of .* has boddy or title: "):
            documents.setup(DuplicateRule(text_field=["boddy", "title"]))
        assert documents.add({"id": "b", "body": STORM}).duplicate_of == "a"


def test_a_store_without_fingerprints_is_never_stale(address: str) -> None:
    with Documents(address) as documents:
        documents.setup(DuplicateRule(text_field="title"), id_field="id")
        assert documents.setup(BOTH) == "changed"
        assert not documents.info().stale
        assert [o.outcome for o in documents.ingest(NEWS)] == ["new", "new"]


def test_documents_without_the_times_of_a_new_time_field_need_a_backfill(address: str) -> None:
    rule = DuplicateRule(text_field="body", time_field="day", within=timedelta(days=1))
    with Documents(address) as documents:
        days = [{"id": id, "body": STORM, "day": f"2026-01-0{day}"} for id, day in (("a", 1), ("b", 5))]
        documents.setup(DuplicateRule(text_field="body"), id_field="id")
        list(documents.ingest(days))
        assert documents.setup(rule) == "changed"
        with pytest.raises(NotSetUp, match="before its rule, text or time fields changed"):
            documents.group()
        list(documents.backfill(again=True))
        assert documents.group().groups == 0


@pytest.mark.elasticsearch
def test_what_another_program_changed_in_a_text_is_noticed_before_a_copy_is_removed(
    elasticsearch_url: str, index_name: str
) -> None:
    """Its fingerprint is still that of the former text, and so is its link."""
    with Documents(f"{elasticsearch_url}/{index_name}") as documents, Elasticsearch(elasticsearch_url) as client:
        documents.setup()
        documents.add_many([{"id": id, "text": STORM} for id in "abc"])
        documents.store.refresh()
        client.update(index=index_name, id="b", doc={"text": METRO})
        duplicates = list(documents.duplicates())
        assert [(duplicate.id, duplicate.original, duplicate.exact) for duplicate in duplicates] == [("c", "a", True)]
        client.update(index=index_name, id="c", doc={"text": METRO})
        assert documents.remove_duplicates(duplicates) == 0
        assert documents.fetch(["c"], fields=["text"]) == {"c": {"text": METRO}}
