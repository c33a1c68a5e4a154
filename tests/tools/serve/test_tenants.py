"""``serve --filter``: no answer depends on documents outside of the filter, whatever a client sends."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from es_simhash import AsyncDocuments, Documents
from es_simhash.tools.serve.gate import Limits
from es_simhash.tools.serve.operations import Scope, Service
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [STORM, STORM_NEAR, STORM_FARTHER, HARVEST, HARVEST.replace("九成", "八成"), STORM + HARVEST]
ACME = {"term": {"tenant.keyword": "acme"}}
SECRET = "secret"


def request(draw: random.Random, searches: bool) -> tuple[str, dict[str, Any]]:
    """A request of a client, about few ids and texts, so that much is copied, replaced and removed.

    :param searches: it may be a search, too.
    """

    def document() -> dict[str, Any]:
        return {"id": f"a{draw.randrange(8)}", "tenant": "acme", "n": draw.randrange(2), "text": draw.choice(TEXTS)}

    filter = draw.choice([None, None, {"term": {"n": 0}}])
    how = {"on_duplicate": draw.choice(["index", "skip"]), "on_update": draw.choice(["write", "keep"])}
    more: dict[str, Any] = {"filter": filter, "refresh": True, **how}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/add", {"document": document(), **more}),
        ("/add_many", {"documents": [document() for _ in range(3)], **more}),
        ("/remove", {"ids": [f"a{draw.randrange(8)}", f"{SECRET}{draw.randrange(len(TEXTS))}"]}),
        ("/similar", {"text": draw.choice(TEXTS), "filter": filter, "rule": draw.choice([None, "fingerprint"])}),
        ("/similar_many", {"texts": TEXTS, "filter": filter}),
        ("/similar", {"id": draw.choice([f"a{draw.randrange(8)}", f"{SECRET}0"])}),
    ]
    search = {"query": {"match": {"text": draw.choice(TEXTS)}}, "sort": [{"id": "asc"}]}
    return draw.choice([*requests, ("/group_search", search)] if searches else requests)


def serve(documents: Documents, filter: Any = ACME) -> TestClient:
    """A server for one tenant."""
    service = Service(AsyncDocuments(documents.store), None, Scope(filter))
    return TestClient(service.application(Limits()), "http://localhost")


def check(alone: Documents, shared: Documents, rounds: int, seed: int) -> None:
    """Send the same requests to a server whose store has one tenant, and to one whose store has two."""
    for documents in (alone, shared):
        documents.setup()
    for number, text in enumerate(TEXTS):
        shared.add({"id": f"{SECRET}{number}", "tenant": "acme of Europe", "n": 0, "text": text}, refresh=True)
    draw, servers = random.Random(seed), [serve(documents) for documents in (alone, shared)]
    for _ in range(rounds):
        path, body = request(draw, shared.store.lags)
        if path == "/group_search":  # it finds what was written before the last refresh
            alone.store.refresh()
            shared.store.refresh()
        answers = [server.post(path, json=body) for server in servers]
        assert [each.status_code for each in answers] == [answers[0].status_code] * 2, (path, body, answers[1].text)
        own, other = (each.json() for each in answers)
        assert other == own, (path, body)
    assert len(list(shared.export(filter={"ids": {"values": [f"{SECRET}{n}" for n in range(6)]}}))) == len(TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_answers_are_those_of_a_store_without_other_tenants(tmp_path: Path, seed: int) -> None:
    with Documents(f"sqlite:///{tmp_path}/alone.db") as alone, Documents(f"sqlite:///{tmp_path}/shared.db") as shared:
        check(alone, shared, 60, seed)


@pytest.mark.elasticsearch
def test_answers_of_elasticsearch_are_those_of_an_index_without_other_tenants(
    elasticsearch_url: str, index_name: str
) -> None:
    alone = Documents(f"{elasticsearch_url}/{index_name}")
    with alone, Documents(f"{elasticsearch_url}/{index_name}-shared") as shared:
        check(alone, shared, 40, seed=1)
        # A search finds each document whose text field has this word.
        server = serve(shared, {"term": {"tenant": "acme"}})
        for text in TEXTS:
            answer = server.post("/add", json={"document": {"id": "a", "tenant": "acme", "text": text}})
            assert answer.status_code == 200
            assert SECRET not in answer.text
            assert SECRET not in server.post("/similar", json={"text": text}).text


def test_an_original_of_another_tenant_is_not_named_if_a_program_without_the_filter_linked_to_it(
    tmp_path: Path,
) -> None:
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        documents.setup()
        documents.add({"id": SECRET, "tenant": "other", "text": STORM})
        copy = {"id": "a", "tenant": "acme", "text": STORM}
        assert documents.add(copy).duplicate_of == SECRET
        server = serve(documents)
        for each in (copy, copy | {"n": 1}):
            answer = server.post("/add", json={"document": each})
            assert answer.json()["outcome"] in ("unchanged", "updated")
            assert SECRET not in json.dumps(answer.json())
        assert server.post("/remove", json={"ids": [SECRET]}).json() == {"removed": []}
        assert set(documents.fetch([SECRET])) == {SECRET}
