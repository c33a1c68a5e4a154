"""A duplicate comes after its original in the write order, whatever the clocks of the machines say."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from es_simhash import Documents, DuplicateRule
from es_simhash.deciding import ingest as module
from tests.contract import LinearStore
from tests.deciding.test_recrawl import BASE, EDITED, OTHER
from tests.limited import in_batches

HOUR = 3_600_000_000


@pytest.fixture(params=["linear", "lagging", "sqlite"])
def documents(request: pytest.FixtureRequest) -> Documents:
    stores: dict[str, Any] = {
        "linear": LinearStore(),
        "lagging": LinearStore(lagging=True),
        "sqlite": "sqlite:///:memory:",
    }
    return Documents(stores[request.param])


def ingest_at(monkeypatch: pytest.MonkeyPatch, hours: int, documents: Documents, texts: dict[str, str]) -> list[Any]:
    """Ingest with a clock that is some hours ahead."""
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + 1_000 * hours * HOUR)
    monkeypatch.setattr(module, "time", clock)
    outcomes = documents.ingest(
        [{"id": id, "text": text} for id, text in texts.items()], rule=DuplicateRule("fingerprint", max_distance=7)
    )
    return [(outcome.outcome, outcome.duplicate_of) for outcome in outcomes]


def test_a_duplicate_is_later_than_an_original_of_a_machine_whose_clock_is_ahead(
    monkeypatch: pytest.MonkeyPatch, documents: Documents
) -> None:
    assert ingest_at(monkeypatch, 1, documents, {"a": BASE}) == [("new", None)]
    outcomes = ingest_at(monkeypatch, 0, documents, {"copy": BASE, "near": EDITED})
    assert outcomes == [("exact_duplicate", "a"), ("near_duplicate", "a")]
    rows = {row.id: row for row in documents.export()}
    assert rows["a"].written < rows["copy"].written < rows["near"].written
    assert documents.group(rule=DuplicateRule("fingerprint", max_distance=7)).changed == 0


def test_a_link_to_a_document_of_a_machine_whose_clock_is_ahead_holds_when_another_text_changes(
    monkeypatch: pytest.MonkeyPatch, documents: Documents
) -> None:
    ingest_at(monkeypatch, 0, documents, {"first": BASE})
    ingest_at(monkeypatch, 1, documents, {"second": OTHER})
    ingest_at(monkeypatch, 0, documents, {"copy": OTHER})
    ingest_at(monkeypatch, 0, documents, {"second": OTHER + "，又及", "first": EDITED})
    assert {row.id: row.duplicate_of for row in documents.export()} == {"first": None, "second": None, "copy": "second"}


def test_the_write_order_grows_within_a_run_whose_clock_goes_backwards(
    monkeypatch: pytest.MonkeyPatch, documents: Documents
) -> None:
    times = iter(range(time.time_ns(), 0, -1_000_000))
    monkeypatch.setattr(module, "time", SimpleNamespace(time_ns=lambda: next(times)))
    list(in_batches(documents, 3).ingest([{"id": n, "text": str(n)} for n in range(20)], rule="fingerprint"))
    rows = sorted(documents.export(), key=lambda row: row.written)
    assert [row.id for row in rows] == [str(n) for n in range(20)]
