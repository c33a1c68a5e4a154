"""A run: the outcomes of every document in order, whatever the sizes of batches, and whatever ends it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Outcome
from es_simhash.errors import InputError, StoreError
from es_simhash.ingest.batches import Source
from tests.client import STORM
from tests.ingest import Endless, failing, ingested, new

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 5


# --- batches -----------------------------------------------------------------------------------------------


def test_a_batch_ends_when_it_has_enough_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("es_simhash.ingest.batches.BATCH_SIZE", 100)
    source = Source([{"title": "雨" * 20, "text": "雨" * 40, "n": [1, 2.5]}] * 7)
    assert [len(lines) for lines in iter(source.next_batch, [])] == [2, 2, 2, 1]


def test_a_document_that_holds_itself_or_is_very_deep_is_rejected() -> None:
    itself: dict[str, Any] = {"id": 1, "text": "x"}
    itself["both"] = [itself, itself]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    given = [itself, {"id": 2, "text": "x", "deep": deep}, {("a", 1): 2}, {"id": 3, "text": "x"}]
    assert [outcome.outcome for outcome in new().ingest(given)] == ["rejected"] * 3 + ["new"]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 500])
def test_the_later_document_with_an_id_replaces_the_earlier_one(batch_size: int) -> None:
    texts = [("a", STORM), ("b", "乙" * 9), ("a", "丙" * 9), ("c", STORM), ("a", STORM), ("a", STORM), ("b", "丁" * 9)]
    given = [{"id": id, "text": text} for id, text in texts]
    documents = new()
    outcomes = list(ingested(documents, given, size=batch_size))
    assert [(outcome.outcome, outcome.duplicate_of) for outcome in outcomes] == [
        ("new", None),
        ("new", None),
        ("updated", None),
        ("new", None),
        ("updated", "c"),
        ("unchanged", "c"),
        ("updated", None),
    ]
    assert {id: source["text"] for id, source in documents.fetch(["a", "b", "c"], fields="*").items()} == dict(texts)


def test_no_more_is_read_than_so_many_batches_while_nobody_takes_outcomes() -> None:
    source = Endless()
    outcomes: Any = ingested(new(), source, size=BATCH)
    for taken in range(1, 8 * BATCH + 1):
        next(outcomes)
        assert source.read <= ((taken - 1) // BATCH + 1) * BATCH
    outcomes.close()


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 12, 20])
@pytest.mark.parametrize("error", [ZeroDivisionError, InputError, StoreError])
def test_what_was_read_before_an_error_of_the_input_is_done(error: type[Exception], count: int) -> None:
    def source() -> Iterator[Any]:
        yield from ({"id": number, "text": "x"} for number in range(count))
        raise error("gone")

    threads = threading.active_count()
    outcomes: list[Outcome] = []
    with pytest.raises(error, match="gone"):
        outcomes.extend(ingested(new(), source(), size=BATCH))
    assert [(outcome.id, outcome.stored) for outcome in outcomes] == [(str(number), True) for number in range(count)]
    assert threading.active_count() == threads


@pytest.mark.parametrize("method", ["read", "search", "write"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_after_an_error_of_the_store_each_outcome_is_of_a_stored_document(method: str, number: int) -> None:
    store, outcomes = failing(method, number, StoreError("it broke")), list[Outcome]()
    with pytest.raises(StoreError, match="it broke; repeat it: what is done stays as it is"):
        outcomes.extend(ingested(new(store), Endless(), size=BATCH))
    assert [(outcome.id, outcome.stored) for outcome in outcomes] == [
        (str(id), True) for id in range(1, len(outcomes) + 1)
    ]
