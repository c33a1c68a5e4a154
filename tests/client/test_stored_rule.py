"""A store keeps its rule and the names of its fields: who sets them, who uses them, and what another one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, InputError, NotSetUp, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEXT = "市气象台今晨发布暴雨橙色预警，提醒市民减少外出，注意安全，部分路段已经出现积水，交警正在现场疏导"
ITEM = {"url": "a", "title": "暴雨", "body": TEXT}


@pytest.fixture
def documents(tmp_path: Path) -> Any:
    with Documents(f"sqlite:///{tmp_path}/rule.db") as opened:
        yield opened


def ingested(documents: Documents, *items: Any, **options: Any) -> list[str]:
    return [outcome.outcome for outcome in documents.ingest(items, **options)]


def test_everybody_uses_the_rule_and_the_fields_of_the_store(documents: Documents, tmp_path: Path) -> None:
    rule = DuplicateRule(text_field=("title", "body"))
    assert documents.setup(rule, id_field="url") == "created"
    assert ingested(documents, ITEM) == ["new"]
    with Documents(f"sqlite:///{tmp_path}/rule.db") as again:
        assert (again.info().rule, again.info().id_field) == (rule, "url")
        assert ingested(again, {**ITEM, "url": "b"}) == ["exact_duplicate"]
        assert again.similar_to("a").complete
        assert again.add({**ITEM, "url": "c"}).outcome == "exact_duplicate"


def test_a_method_that_reads_takes_another_rule(documents: Documents) -> None:
    documents.setup(DuplicateRule(text_field="body"), id_field="url")
    ingested(documents, ITEM)
    assert [match.id for match in documents.similar(TEXT, rule="exact")] == ["a"]
    assert [match.id for match in documents.similar(TEXT, rule=DuplicateRule(min_similarity=1.0))] == ["a"]


def test_documents_of_an_ingest_may_have_their_ids_in_another_field(documents: Documents) -> None:
    assert ingested(documents, {"url": "a", "text": TEXT}, id_field="url") == ["new"]
    assert documents.add({"id": "a", "text": TEXT, "url": "a"}).outcome == "updated"
    assert documents.info().id_field == "id"


def test_setup_changes_the_rule_and_every_method_uses_it(documents: Documents) -> None:
    assert documents.setup(rule=DuplicateRule("contained", text_field="body")) == "created"
    assert documents.setup(rule="contained") == "unchanged"
    assert documents.info().rule == DuplicateRule(rule="contained", text_field="body")
    assert documents.setup(id_field="url") == "changed"
    assert ingested(documents, ITEM) == ["new"]
    assert ingested(documents, {"url": "b", "body": f"{ITEM['body']}更多内容"}) == ["near_duplicate"]
    assert documents.setup(rule="exact") == "changed"
    assert documents.group().groups == 0
    assert documents.info().rule == DuplicateRule(rule="exact", text_field="body")
    assert documents.info().id_field == "url"


def test_a_rule_without_texts_is_that_of_a_fingerprint_too(documents: Documents) -> None:
    documents.setup(rule=DuplicateRule("fingerprint", max_distance=2))
    assert not documents.info().keys
    assert (
        documents.near_query(5).clause
        == documents.near_query(5, rule=DuplicateRule("fingerprint", max_distance=2)).clause
    )
    assert documents.near_query(5).clause != documents.near_query(5, rule="fingerprint").clause


def test_a_refinement_that_is_the_value_of_the_rule_is_no_other_rule(documents: Documents) -> None:
    assert documents.setup("fingerprint") == "created"
    assert documents.setup(DuplicateRule("fingerprint", max_distance=3)) == "unchanged"
    assert documents.setup(rule="copy") == "changed"
    assert documents.setup(rule=DuplicateRule("copy", min_similarity=0.8, contradictions="refuse")) == "unchanged"


def test_duplicates_reads_the_rule_when_it_is_iterated(documents: Documents) -> None:
    documents.setup(rule="exact")
    found = documents.duplicates()
    documents.setup(rule="contained")
    ingested(documents, {"id": 1, "text": TEXT}, {"id": 2, "text": TEXT + "更多内容"})
    assert [each.id for each in found] == ["2"]


def test_documents_get_keys_when_the_rule_needs_them(documents: Documents) -> None:
    documents.setup("fingerprint")
    near = TEXT.replace("暴雨", "大暴雨")
    ingested(documents, {"id": 1, "text": TEXT}, {"id": 2, "text": near})
    with pytest.raises(InputError, match="has no keys, which the rule 'copy' needs: use the rule 'fingerprint'; or"):
        documents.similar(TEXT, rule="copy")
    assert documents.setup("copy") == "changed"
    with pytest.raises(NotSetUp, match="backfill --again"):
        documents.similar(TEXT)
    assert {outcome.outcome for outcome in documents.backfill(again=True)} == {"unchanged", "updated"}
    assert {match.id for match in documents.similar(TEXT)} == {"1", "2"}


def test_a_run_ends_when_the_rule_needs_other_fingerprints_than_it_writes(
    documents: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("es_simhash.client.set_up.KNOWN", 0.0)
    documents.setup("fingerprint")
    with Documents(documents.name) as another:

        def items() -> Iterator[dict[str, Any]]:
            yield from ({"id": n, "text": f"{TEXT}{n}"} for n in range(500))
            another.setup("copy")
            yield {"id": "last", "text": TEXT}

        with pytest.raises(StoreError, match=r"the rule of .* was changed.* backfill --again"):
            list(documents.ingest(items()))
    assert not documents.fetch(["last"])


def test_a_backfill_ends_no_change_of_the_rule_that_came_meanwhile(documents: Documents) -> None:
    documents.setup("fingerprint")
    ingested(documents, {"id": "a", "text": TEXT, "body": TEXT, "title": TEXT})
    documents.setup(DuplicateRule("copy", text_field="body"))
    with Documents(documents.name) as another:
        backfill = another.backfill(again=True)
        next(backfill)
        documents.setup(DuplicateRule("copy", text_field="title"))
        with pytest.raises(StoreError, match="was changed"):
            list(backfill)
    with Documents(documents.name) as again:
        assert (again.info().rule.text_field, again.info().stale) == (("title",), True)


def test_a_document_that_no_search_finds_yet_makes_a_store_stale_too(new_address: Callable[[], str]) -> None:
    with Documents(new_address()) as documents:
        documents.setup("fingerprint")
        documents.add({"id": "a", "text": TEXT})
        documents.setup("copy")
        assert documents.info().stale
