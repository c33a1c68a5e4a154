"""An iteration that is closed or cancelled ends at once, even while a store is away and requests wait for a retry."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, Documents, retries
from es_simhash.errors import StoreUnavailable
from es_simhash.ingest import run as run_module
from tests.contract import LinearStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.recording import INDEX, Sent, Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


BATCH = 5
DEADLINE = 20.0
"""Seconds for which a request is retried: far longer than a test may take."""
SOON = DEADLINE / 4


class Away(WatchedStore):
    """A store that answers some calls of ``fetch``, and is away at all later ones."""

    def __init__(self, after: int) -> None:
        super().__init__(LinearStore())
        self._left = after
        self.away = threading.Event()

    def perform(self, call: StoreCall) -> Any:
        if call.method == "fetch":
            self._left -= 1
            if self._left < 0:
                self.away.set()
                raise StoreUnavailable("it is away")
        return super().perform(call)


class Silent(Wire):
    """A wire on which some requests for documents by their ids are answered, and no later ones."""

    def __init__(self, after: int) -> None:
        super().__init__("elasticsearch")
        self._left = after
        self.away = threading.Event()

    async def before(self, sent: Sent) -> None:
        await super().before(sent)
        if sent.action == "POST _mget":
            self._left -= 1
            if self._left < 0:
                self.away.set()
                await asyncio.sleep(1_000)


def opened(after: int, *, silent: bool) -> tuple[AsyncDocuments, threading.Event]:
    """Open a store that is away after some calls, and return when it is.

    :param silent: it does not answer, in place of an error.
    """
    store: Any = Silent(after) if silent else Away(after)
    if silent:
        return AsyncDocuments(store.client(is_async=True), index=INDEX, deadline=DEADLINE), store.away
    return AsyncDocuments(store, deadline=DEADLINE), store.away


def documents(count: int = 100) -> Iterator[dict[str, Any]]:
    return ({"id": n, "text": f"第{n}条"} for n in range(count))


def threads() -> set[str]:
    """Return the names of our threads, after those that are about to end have ended."""
    end = time.monotonic() + DEADLINE / 2
    while names := {thread.name for thread in threading.enumerate() if thread.name.startswith("es-simhash")}:
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    return names


async def seconds_to_cancel(task: asyncio.Task[Any]) -> float:
    """Cancel a task, and return how long that takes. No thread is left."""
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads() == set()
    return time.monotonic() - began


@pytest.fixture(autouse=True)
def long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each wait before a retry last until the deadline."""
    monkeypatch.setattr(retries, "random", SimpleNamespace(uniform=lambda least, most: DEADLINE))


@pytest.fixture(params=[0, 1], ids=["one batch", "overlapping"])
def ahead(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Batches that are read ahead, as with workers but without the processes."""
    monkeypatch.setattr(run_module, "read_ahead", lambda workers: request.param)
    ahead: int = request.param
    return ahead


def test_a_closed_sync_ingest_does_not_wait_for_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "read_ahead", lambda workers: 1)
    store = Away(1)
    outcomes = Documents(store, deadline=DEADLINE).ingest(documents(), batch_size=BATCH, rule="fingerprint")
    next(outcomes)
    assert store.away.wait(5), "the next batch is being looked up"
    began = time.monotonic()
    outcomes.close()
    assert time.monotonic() - began < SOON
    assert threads() == set()


@pytest.mark.parametrize("silent", [False, True], ids=["errors", "silence"])
def test_a_closed_async_ingest_does_not_wait_for_the_deadline(monkeypatch: pytest.MonkeyPatch, silent: bool) -> None:
    monkeypatch.setattr(run_module, "read_ahead", lambda workers: 1)

    async def main() -> float:
        store, away = opened(1, silent=silent)
        outcomes = store.ingest(documents(), batch_size=BATCH, rule="fingerprint")
        await anext(outcomes)
        while not away.is_set():
            await asyncio.sleep(0.01)
        began = time.monotonic()
        await outcomes.aclose()
        assert threads() == set()
        assert len(asyncio.all_tasks()) == 1
        return time.monotonic() - began

    assert asyncio.run(main()) < SOON


@pytest.mark.parametrize("silent", [False, True], ids=["errors", "silence"])
def test_a_cancelled_async_ingest_does_not_wait_for_the_deadline(ahead: int, silent: bool) -> None:
    async def main() -> float:
        store, away = opened(2, silent=silent)
        taken: list[str | None] = []

        async def take() -> None:
            async for outcome in store.ingest(documents(), batch_size=BATCH, rule="fingerprint"):
                taken.append(outcome.id)  # noqa: PERF401  # it is cancelled meanwhile

        task = asyncio.create_task(take())
        while not away.is_set() or len(taken) < BATCH:
            await asyncio.sleep(0.01)
        seconds = await seconds_to_cancel(task)
        assert len(asyncio.all_tasks()) == 1
        return seconds

    assert asyncio.run(main()) < SOON


def test_an_async_ingest_that_waits_for_its_input_can_be_cancelled(ahead: int) -> None:
    async def silent() -> AsyncIterator[dict[str, Any]]:
        for document in documents(BATCH + 1):
            yield document
        await asyncio.sleep(1_000)

    async def main() -> float:
        ingest = AsyncDocuments(Away(1_000)).ingest(silent(), batch_size=BATCH, rule="fingerprint")
        task = asyncio.create_task(_all(ingest))
        await asyncio.sleep(0.2)
        return await seconds_to_cancel(task)

    assert asyncio.run(main()) < SOON


async def _all(iterator: Any) -> list[Any]:
    return [each async for each in iterator]


# --- threads -----------------------------------------------------------------------------------------------


def test_the_callers_iterator_runs_in_the_thread_of_the_event_loop(ahead: int) -> None:
    found: set[int] = set()

    def source() -> Iterator[dict[str, Any]]:
        for document in documents(3 * BATCH):
            found.add(threading.get_ident())
            yield document

    async def asource() -> AsyncIterator[dict[str, Any]]:
        for document in source():
            yield document

    async def main() -> list[int]:
        verbs = AsyncDocuments(Away(1_000))
        return [
            len(await _all(verbs.ingest(given, batch_size=BATCH, rule="fingerprint")))
            for given in (source(), asource())
        ]

    assert asyncio.run(main()) == [3 * BATCH, 3 * BATCH]
    assert found == {threading.get_ident()}
    assert threads() == set()


def test_other_tasks_go_on_while_an_ingest_computes() -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        task = asyncio.create_task(tick())
        text = "，".join(f"第{n}条新闻" for n in range(200))
        given = [{"id": n, "text": f"{text}{n}"} for n in range(300)]
        await _all(AsyncDocuments(Away(1_000)).ingest(given, rule="fingerprint"))
        task.cancel()
        return ticks

    assert asyncio.run(main()) > 20
