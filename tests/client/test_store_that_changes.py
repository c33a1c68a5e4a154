"""A program notices that its store was set up in another way, or deleted, while it runs.

So it is after an alias was switched to another index, or after somebody deleted an index or a file.
"""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, Scheme
from es_simhash.client import opening
from es_simhash.errors import NotSetUp, SchemeMismatch
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from es_simhash import Outcome

TEXT = "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水，请市民注意安全"
OTHER = Scheme(weights="tf")


class Switched(WatchedStore):
    """A store whose alias leads to an index with another Scheme after ``switch`` was set."""

    switch = False

    def perform(self, call: StoreCall) -> Any:
        if call.method == "describe" and self.switch:
            return OTHER
        return super().perform(call)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time that the program knows: ``now`` is in seconds."""
    time = SimpleNamespace(now=0.0)
    time.monotonic = lambda: time.now
    monkeypatch.setattr(opening, "time", time)
    return time


def ingest(documents: Documents, happens: Callable[[Outcome], object]) -> None:
    """Ingest six documents, two a batch. Something happens after each outcome."""
    for outcome in documents.ingest(({"id": n, "text": f"{TEXT}{n}"} for n in range(6)), batch_size=2):
        happens(outcome)


def test_add_raises_and_writes_nothing_under_another_scheme(clock: SimpleNamespace) -> None:
    store = Switched(LinearStore())
    with Documents(store) as documents:
        documents.setup()
        assert documents.add({"id": 1, "text": TEXT}).outcome == "new"
        store.switch, clock.now = True, opening.KNOWN + 1
        with pytest.raises(SchemeMismatch):
            documents.add({"id": 2, "text": TEXT})
    assert store.times_asked("write") == 1


def test_similar_raises_under_another_scheme(clock: SimpleNamespace) -> None:
    store = Switched(LinearStore())
    with Documents(store) as documents:
        documents.setup()
        assert len(documents.similar(TEXT)) == 0
        store.switch, clock.now = True, opening.KNOWN + 1
        with pytest.raises(SchemeMismatch):
            documents.similar(TEXT)


def test_an_ingest_ends_before_its_next_batch_and_reports_each_document(clock: SimpleNamespace) -> None:
    store = Switched(LinearStore())
    outcomes = []

    def switch(outcome: Outcome) -> None:
        outcomes.append(outcome)
        store.switch, clock.now = True, opening.KNOWN + 1

    with Documents(store) as documents:
        documents.setup()
        with pytest.raises(SchemeMismatch):
            ingest(documents, switch)
    assert [outcome.stored for outcome in outcomes] == [True, True, False, False]
    assert outcomes[-1].outcome == "failed"
    assert store.times_asked("write") == 1


def test_an_ingest_ends_if_its_file_was_deleted(clock: SimpleNamespace, tmp_path: Path) -> None:
    def delete(outcome: Outcome) -> None:
        for file in tmp_path.glob("news.db*"):
            file.unlink()
        clock.now = opening.KNOWN + 1

    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents, pytest.raises(NotSetUp):
        ingest(documents, delete)


@pytest.mark.elasticsearch
def test_an_ingest_ends_if_its_index_was_deleted_and_came_back_without_our_fields(
    clock: SimpleNamespace, elasticsearch_url: str
) -> None:
    index = f"test-{uuid.uuid4().hex[:16]}"
    outcomes = []
    with Elasticsearch(elasticsearch_url) as client:

        def delete(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if len(outcomes) == 1:
                client.indices.delete(index=index)
                client.indices.create(index=index)
                clock.now = opening.KNOWN + 1

        with Documents(f"{elasticsearch_url}/{index}") as documents:
            documents.setup()
            with pytest.raises(NotSetUp, match=index):
                ingest(documents, delete)
        assert client.count(index=index)["count"] == 0
        client.indices.delete(index=index)
    assert [outcome.outcome for outcome in outcomes[2:]] == ["failed", "failed"]
