"""The stages of an ingest: how far they read ahead, what they leave behind, and what becomes of errors."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, Documents, fingerprint
from es_simhash.errors import DuplicateFound, InputError, StoreError, TooLarge
from es_simhash.ingest.checkpoint import Checkpoint
from tests.contract import LinearStore
from tests.contract.watched import Failing, StoreCall, WatchedStore
from tests.ingest import worker_pids
from tests.limited import ingested

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BATCH = 5


class Endless:
    """Documents without an end, counted."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            self.read += 1
            yield {"id": self.read, "text": f"第{self.read}条"}


def new(store: Any) -> Documents:
    documents = Documents(store)
    documents.setup(keys=False)
    return documents


# --- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_no_more_is_read_than_so_many_batches_while_nobody_takes_outcomes(workers: int) -> None:
    # The one whose outcomes are given, the one that is looked up, and one more than there are workers.
    most = workers + 3 if workers else 1
    source = Endless()
    outcomes: Any = Documents(LinearStore()).ingest(source, workers=workers, batch_size=BATCH, rule="fingerprint")
    assert source.read == 0
    for taken in range(1, 8 * BATCH + 1):
        next(outcomes)
        begun = (taken - 1) // BATCH
        assert source.read <= (begun + most) * BATCH
    if not workers:
        assert source.read == 8 * BATCH
    outcomes.close()


# --- what is left ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
def test_closed_early_it_leaves_no_process_no_thread_and_no_open_state(tmp_path: Path, workers: int) -> None:
    path = str(tmp_path / "x.state")
    threads = set(threading.enumerate())
    outcomes: Any = Documents(LinearStore()).ingest(
        Endless(), workers=workers, batch_size=BATCH, checkpoint=path, rule="fingerprint"
    )
    for _ in range(3 * BATCH):
        next(outcomes)
    outcomes.close()
    assert worker_pids() == []
    assert set(threading.enumerate()) <= threads  # a thread of another test may end meanwhile
    Checkpoint(path).close()


def test_a_cancelled_task_leaves_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "x.state")

    async def take() -> None:
        documents = AsyncDocuments(LinearStore())
        async for _ in documents.ingest(Endless(), workers=1, batch_size=BATCH, checkpoint=path, rule="fingerprint"):
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(take())
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert worker_pids() == []
    Checkpoint(path).close()


def test_an_error_of_the_input_s_ends_the_run_and_leaves_nothing() -> None:
    def source() -> Iterator[Any]:
        yield from ({"id": number, "text": "x"} for number in range(20))
        raise ZeroDivisionError

    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(Documents(LinearStore()).ingest(source(), workers=1, batch_size=BATCH, rule="fingerprint"))
    assert (worker_pids(), threading.active_count()) == ([], threads)


@pytest.mark.parametrize("count", [0, 1, 12, 20])
@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("error", [OSError, InputError, StoreError])
def test_what_was_read_before_an_error_of_the_input_s_is_done(batches: int, error: type[Exception], count: int) -> None:
    def source() -> Iterator[Any]:
        yield from ({"id": number, "text": "x"} for number in range(count))
        raise error("gone")

    found = []
    with pytest.raises(error, match="gone"):
        found.extend(ingested(new(LinearStore()), source(), ahead=batches, batch_size=BATCH, rule="fingerprint"))
    assert [(outcome.id, outcome.stored) for outcome in found] == [(str(number), True) for number in range(count)]


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("method", ["fetch", "candidates", "write"])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_after_an_error_everything_that_was_read_has_an_outcome_and_what_is_stored_says_so(
    batches: int, method: str, number: int
) -> None:
    store, source, found = Failing(LinearStore(), method, number, StoreError("it broke")), Endless(), []
    given = (document for document, _ in zip(source, range(40), strict=False))
    with pytest.raises(StoreError, match="it broke"):
        found.extend(ingested(new(store), given, ahead=batches, batch_size=BATCH, rule="fingerprint"))
    assert [outcome.id for outcome in found] == [str(each) for each in range(1, len(found) + 1)]
    assert 0 <= source.read - len(found) <= 1  # the one over is of zip
    there = store.fetch(tuple(outcome.id or "" for outcome in found))
    assert set(there) == {outcome.id for outcome in found if outcome.stored}
    assert {outcome.outcome for outcome in found if not outcome.stored} == {"failed"}
    assert all(outcome.document["id"] == int(outcome.id or 0) for outcome in found if not outcome.stored)


class Unanswerable(WatchedStore):
    """Has no answer for one fingerprint."""

    def __init__(self, text: str) -> None:
        super().__init__(LinearStore())
        self._probe = fingerprint(text).value

    def perform(self, op: StoreCall) -> Any:
        if op.method == "candidates" and self._probe in [probe.fingerprint for probe in op.probes]:
            raise TooLarge("more than the server accepts")
        return super().perform(op)


def test_a_document_that_can_not_be_looked_up_has_failed_and_the_others_have_not() -> None:
    given = [{"id": number, "text": f"暴雨橙色预警第{number}次发布，城区部分路段积水"} for number in range(40)]
    store = Unanswerable(given[17]["text"])
    outcomes = list(Documents(store).ingest(given, batch_size=20, rule="fingerprint"))
    assert [outcome.id for outcome in outcomes if not outcome.stored] == ["17"]
    assert (outcomes[17].outcome, outcomes[17].reason) == ("failed", "document 18: more than the server accepts")
    assert outcomes[17].document == given[17]
    assert store.times_asked("candidates") <= 2 + 2 * 5


def test_after_a_stop_at_a_duplicate_the_next_run_finds_what_was_written() -> None:
    store = LinearStore(lagging=True)
    given = [{"id": id, "text": text} for id, text in (("a", "甲"), ("b", "乙"), ("copy", "甲"))]
    with pytest.raises(DuplicateFound):
        list(Documents(store).ingest(given, on_duplicate="fail", rule="fingerprint"))
    (outcome,) = Documents(store).ingest([{"id": "c", "text": "乙"}], rule="fingerprint")
    assert (outcome.outcome, outcome.duplicate_of) == ("exact_duplicate", "b")


def test_a_document_without_a_json_form_at_the_end_of_a_batch_is_only_rejected() -> None:
    circle: dict[str, Any] = {"id": 1, "text": "x"}
    circle["self"] = circle
    given = [{("a", 1): 2}, circle, {"id": 3, "text": "x", "n": {5}}, {"id": 4, "text": "y"}]
    outcomes = list(Documents(LinearStore()).ingest(given, batch_size=1, rule="fingerprint"))
    assert [outcome.outcome for outcome in outcomes] == ["rejected"] * 3 + ["new"]


def test_input_that_is_no_iterable_is_an_error_of_the_caller_s() -> None:
    with pytest.raises(InputError, match="the documents are of type int: use an iterable of dicts"):
        list(Documents(LinearStore()).ingest(5, rule="fingerprint"))  # type: ignore[arg-type]
