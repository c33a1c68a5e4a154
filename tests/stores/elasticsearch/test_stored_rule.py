"""The rule that an index keeps: a user who may not change the mapping, aliases, templates, and mappings put by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import AccessDenied, Documents, DuplicateRule, InputError
from es_simhash.contract import StoredRule
from tests.recording import PRODUCTS, Sent, Wire
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = Path(__file__).parents[3] / "mappings" / "documents.json"
ITEM = {"url": "a", "body": "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水，交警提醒市民绕行"}


def ingested(documents: Documents, *items: Any, **options: Any) -> list[str]:
    return [outcome.outcome for outcome in documents.ingest(items, **keywords_of(options))]


# --- what is sent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_user_who_may_not_change_the_mapping_gets_the_command_of_the_administrator(product: str) -> None:
    error = {"error": {"type": "security_exception", "reason": "action is unauthorized"}, "status": 403}

    def answer(sent: Sent) -> Any:
        return (403, error) if sent.action == "PUT _mapping" else None

    wire = Wire(product, answer)
    documents = Documents(wire.client(), index="news")
    with pytest.raises(AccessDenied) as caught:
        ingested(documents, ITEM, id_field="url", text_field="title,body", rule="contained", numbers_agree=False)
    command = "es-simhash init --text-field title,body --id-field url --rule contained --any-numbers --store "
    assert command in str(caught.value)
    assert not any(sent.action == "POST _bulk" for sent in wire.sent)


def test_a_rule_is_read_and_added_once(recorded: Wire) -> None:
    documents = Documents(recorded.client(), index="news")
    for url in ("a", "b"):
        assert ingested(documents, {**ITEM, "url": url}, id_field="url", text_field="body") == ["new"]
    puts = [sent.json["_meta"]["es_simhash"] for sent in recorded.sent if sent.action == "PUT _mapping"]
    assert [put["rule"] for put in puts] == [StoredRule(DuplicateRule(), ("body",), "url").to_dict()]
    assert "scheme" in puts[0]


@pytest.fixture
def recorded() -> Wire:
    return Wire("elasticsearch")


# --- on a real server ------------------------------------------------------------------------------------------


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield client


@pytest.mark.elasticsearch
def test_a_mapping_that_is_put_by_hand_may_carry_the_rule(client: Elasticsearch, index_name: str) -> None:
    body = json.loads(SHIPPED.read_text(encoding="utf-8"))
    body["mappings"]["_meta"]["es_simhash"]["rule"] = {"rule": "fingerprint", "text_field": ["body"], "id_field": "url"}
    client.indices.create(index=index_name, body=body)
    documents = Documents(client, index=index_name)
    assert documents.info().rule == DuplicateRule(rule="fingerprint", text_field="body")
    assert ingested(documents, ITEM) == ["new"]
    with pytest.raises(InputError, match="has rule='fingerprint', this call has rule='copy'"):
        ingested(documents, ITEM, rule="copy")


@pytest.mark.elasticsearch
def test_an_index_that_an_alias_rolls_over_to_has_the_rule(client: Elasticsearch, index_name: str) -> None:
    documents = Documents(client, index=index_name)
    try:
        documents.setup(template=True, rule=DuplicateRule("contained", text_field="body"))
        client.indices.rollover(alias=index_name)
        newest = Documents(client, index=f"{index_name}-000002")
        assert newest.rule() == DuplicateRule(rule="contained", text_field="body")
        assert ingested(documents, ITEM, id_field="url") == ["new"]
        assert Documents(client, index=f"{index_name}-000002").info().id_field == "url"
    finally:
        client.indices.delete(index=[f"{index_name}-00000{number}" for number in (1, 2)])
        client.indices.delete_index_template(name=f"es-simhash-{index_name}")
