"""A program notices that its store was set up in another way, or deleted, while it runs.

So it is after an alias was switched to another index, or after somebody deleted an index or a file.
"""

from __future__ import annotations

import os
import time
import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, Scheme
from es_simhash.client import opening
from es_simhash.errors import NotSetUp, SchemeMismatch
from es_simhash.stores.address import open_store
from tests.contract import LinearStore
from tests.contract.watched import Meanwhile, StoreCall, WatchedStore

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


def deleted(path: Path) -> None:
    path.unlink()


def made_again(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    with Documents(f"sqlite:///{path}") as documents:
        documents.setup()


def truncated(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("happens", [deleted, made_again, truncated])
def test_a_file_that_is_deleted_made_again_or_truncated_ends_an_ingest_at_once(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    path = tmp_path / "news.db"
    outcomes: list[Outcome] = []

    def after_one(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) == 1:
            happens(path)

    with Documents(f"sqlite:///{path}") as documents, pytest.raises(NotSetUp, match=r"news\.db was deleted"):
        ingest(documents, after_one)
    assert [outcome.stored for outcome in outcomes] == [True, True, *[False] * (len(outcomes) - 2)]
    assert {outcome.outcome for outcome in outcomes[2:]} == {"failed"}


@pytest.mark.parametrize("happens", [deleted, made_again])
def test_what_is_added_after_a_file_was_deleted_or_replaced_is_in_the_new_file(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    path = tmp_path / "news.db"
    with Documents(f"sqlite:///{path}") as documents:
        assert documents.add({"id": 1, "text": TEXT}).stored
        happens(path)
        time.sleep(opening.NOTICED)
        assert documents.add({"id": 2, "text": TEXT}).outcome == "new"
    with Documents(f"sqlite:///{path}") as documents:
        assert [row.id for row in documents.export()] == ["2"]


@pytest.mark.elasticsearch
@pytest.mark.parametrize("ours", [True, False], ids=["set up", "bare"])
def test_an_index_that_is_deleted_and_made_again_ends_an_ingest_at_once(elasticsearch_url: str, ours: bool) -> None:
    index = f"test-{uuid.uuid4().hex[:16]}"
    address = f"{elasticsearch_url}/{index}"
    outcomes: list[Outcome] = []
    with Elasticsearch(elasticsearch_url) as client:

        def make_again(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if len(outcomes) == 1:
                client.indices.delete(index=index)
                if ours:
                    with Documents(address) as documents:
                        documents.setup()
                else:
                    client.indices.create(index=index)

        with Documents(address) as documents:
            documents.setup()
            with pytest.raises(NotSetUp, match=f"{index} was deleted and made again"):
                ingest(documents, make_again)
        assert client.count(index=index)["count"] == 0
        client.indices.delete(index=index)
    assert [outcome.outcome for outcome in outcomes[2:]] == ["failed", "failed"]


@pytest.mark.elasticsearch
def test_an_index_that_is_deleted_while_a_batch_is_written_ends_the_ingest(elasticsearch_url: str) -> None:
    index = f"test-{uuid.uuid4().hex[:16]}"
    with Elasticsearch(elasticsearch_url) as client:
        store = Meanwhile(
            open_store(f"{elasticsearch_url}/{index}"), "write", lambda: client.indices.delete(index=index)
        )
        outcomes: list[Outcome] = []
        with Documents(store) as documents:
            documents.setup()
            with pytest.raises(NotSetUp, match=f"{index} was deleted"):
                ingest(documents, outcomes.append)
        client.indices.delete(index=index, ignore_unavailable=True)
    assert {outcome.outcome for outcome in outcomes} == {"failed"}


@pytest.mark.elasticsearch
def test_an_alias_that_is_switched_ends_an_ingest_and_an_add_notices_within_a_second(elasticsearch_url: str) -> None:
    alias = f"test-{uuid.uuid4().hex[:16]}"
    first, second = (f"{alias}-{n}" for n in (1, 2))
    outcomes: list[Outcome] = []
    with Elasticsearch(elasticsearch_url) as client:
        for index, scheme in ((first, Scheme()), (second, OTHER)):
            with Documents(f"{elasticsearch_url}/{index}", scheme=scheme) as documents:
                documents.setup()
        client.indices.put_alias(index=first, name=alias)

        def switch(to: str, of: str) -> None:
            actions = [{"remove": {"index": of, "alias": alias}}, {"add": {"index": to, "alias": alias}}]
            client.indices.update_aliases(actions=actions)

        def after_one(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if len(outcomes) == 1:
                switch(second, first)

        with Documents(f"{elasticsearch_url}/{alias}") as documents:
            with pytest.raises(NotSetUp, match=f"leads to {second} now, and led to {first}"):
                ingest(documents, after_one)
            switch(first, second)
            time.sleep(opening.NOTICED)
            assert documents.add({"id": 7, "text": TEXT}).stored
            switch(second, first)
            time.sleep(opening.NOTICED)
            with pytest.raises(SchemeMismatch):
                documents.add({"id": 8, "text": TEXT})
        client.indices.refresh(index=f"{alias}-*")
        assert client.count(index=second)["count"] == 0
        client.indices.delete(index=f"{first},{second}")
    assert [outcome.outcome for outcome in outcomes[2:]] == ["failed", "failed"]


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
