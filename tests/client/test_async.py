"""What the async classes promise beside the results: nothing waits for ever, and a call can be cancelled at any moment.

The requests go through the official client to a wire of the test's own, or to an SQLite file.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, DuplicateRule, Fingerprinter
from es_simhash.errors import InputError
from es_simhash.ingest import run as run_module
from es_simhash.stores.sqlite import SqliteStore
from tests.contract.watched import StoreCall, WatchedStore
from tests.recording import INDEX, PRODUCTS, Sent, Wire, found, hit, simhash_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

LONG = 60.0
"""Seconds after which a test gives up. A right program never waits so long."""
WORDS = [
    "市气象台",
    "发布暴雨",
    "橙色预警",
    "城区道路",
    "出现积水",
    "交警提醒",
    "市民规划",
    "注意安全",
    "地铁开通",
    "夏粮丰收",
]

name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


def text(number: int) -> str:
    """Return a text that is near no other one."""
    return "，".join(f"{WORDS[number * 7 % 10]}{number * n}{WORDS[(number + n) % 10]}" for n in range(3, 17))


def document(number: int) -> dict[str, Any]:
    return {"id": str(number), "text": text(number)}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("es-simhash")]


def wait_until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not reached():
        assert time.monotonic() < end, threads()
        time.sleep(0.01)


def run(main: Any) -> Any:
    """Run a coroutine on an event loop. No thread is left."""
    result = asyncio.run(asyncio.wait_for(main, LONG))
    gc.collect()
    wait_until(lambda: not threads())
    return result


async def happens(event: threading.Event) -> None:
    end = time.monotonic() + LONG
    while not event.is_set():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and check that it ends although no response comes."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, LONG / 4)


class Held(Wire):
    """A wire on which one kind of requests is not answered until the test says so.

    :param action: of the requests that are held, such as ``POST _bulk``.
    :param busy: in place of waiting, answer that the server is busy.
    """

    def __init__(self, action: str = "", *, busy: bool = False, product: str = "elasticsearch") -> None:
        super().__init__(product, self._respond)
        self.action, self.busy = action, busy
        self.reached = threading.Event()
        self.holding = True
        self.held: list[list[str]] = []
        """Ids of the documents of each bulk request that was held."""
        self.allowed = 0
        """The first requests, which are answered nevertheless."""

    async def before(self, sent: Sent) -> None:
        await asyncio.sleep(0)
        if sent.action != self.action or not self.holding:
            return
        number = len(self.held)
        self.held.append([next(iter(line.values()))["_id"] for line in sent.json[::2]] if self.bulk else [])
        self.reached.set()
        while self.holding and not self.busy and number >= self.allowed:
            await asyncio.sleep(0.005)

    def _respond(self, sent: Sent) -> Any:
        if sent.action == self.action and self.holding and self.busy:
            return 503, {"error": {"type": "unavailable", "reason": "busy"}, "status": 503}
        return None

    @property
    def bulk(self) -> bool:
        return self.action == "POST _bulk"

    def release(self) -> None:
        self.holding = False

    def documents_of(self, **options: Any) -> AsyncDocuments:
        return AsyncDocuments(self.client(is_async=True), index=INDEX, **options)


class Slow(WatchedStore):
    """An SQLite store that holds the calls of one method."""

    def __init__(self, path: object, method: str) -> None:
        super().__init__(SqliteStore(str(path)))
        self.method = method
        self.reached, self.go = threading.Event(), threading.Event()

    def perform(self, call: StoreCall) -> Any:
        if call.method == self.method:
            self.reached.set()
            assert self.go.wait(LONG)
        return super().perform(call)


async def search_once(documents: AsyncDocuments, wire: Held) -> None:
    """Let the next searches be short calls."""
    wire.holding = False
    await documents.similar(text(0), rule="fingerprint")
    wire.holding = True


@pytest.fixture(params=["sqlite", "wire"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., AsyncDocuments]:
    """Open a new store on SQLite, or through an async client."""
    if request.param == "wire":
        return lambda **options: Held().documents_of(**options)
    return lambda **options: AsyncDocuments(f"sqlite:///{tmp_path / 'news.db'}", **options)


@pytest.fixture
def read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are read ahead and looked up in a thread, as with workers but without the processes."""
    monkeypatch.setattr(run_module, "read_ahead", lambda workers: 1)


# --- threads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, None])
@pytest.mark.parametrize("kind", [AsyncDocuments, AsyncSeenItems])
def test_the_number_of_threads_is_checked(kind: Any, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"threads is .*: use a whole number from 1"):
        kind("sqlite:///:memory:", threads=wrong)


@pytest.mark.parametrize("workers", [0, 1])
def test_with_one_thread_nothing_waits_for_ever(opened: Callable[..., AsyncDocuments], workers: int) -> None:
    async def ingested(documents: AsyncDocuments) -> list[str]:
        given = (document(n) for n in range(100, 160))
        return [
            each.outcome async for each in documents.ingest(given, batch_size=10, workers=workers, rule="fingerprint")
        ]

    async def main() -> None:
        async with opened(threads=1) as documents:
            await documents.setup(keys=False)
            adds = (documents.add(document(n), rule="fingerprint") for n in range(1, 21))
            similar = (documents.similar(text(n), rule="fingerprint") for n in range(20))
            outcomes, *others = await asyncio.gather(ingested(documents), *adds, *similar)
            assert outcomes == ["new"] * 60
            assert [each.outcome for each in others[:20]] == ["new"] * 20

    run(main())


def test_with_one_thread_the_input_of_an_ingest_may_call_the_same_object(opened: Callable[..., AsyncDocuments]) -> None:
    async def main() -> None:
        async with opened(threads=1) as documents:
            await documents.setup(keys=False)

            async def source() -> AsyncIterator[dict[str, Any]]:
                for n in range(1, 8):
                    await documents.similar(text(n), rule="fingerprint")
                    yield document(n)

            async def inner() -> AsyncIterator[dict[str, Any]]:
                async for outcome in documents.ingest(source(), batch_size=2, rule="fingerprint"):
                    yield document(100 + int(outcome.id or 0))

            assert [each.outcome async for each in documents.ingest(inner(), batch_size=3, rule="fingerprint")] == [
                "new"
            ] * 7
            assert [each.outcome for each in await documents.add_many(source(), rule="fingerprint")] == [
                "unchanged"
            ] * 7

    run(main())


# --- short calls -------------------------------------------------------------------------------------------


class Seeing(Held):
    """A wire that knows in which thread, and with which variables, the code of a call runs.

    The code is that of the official client that makes a request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.in_loop: list[bool] = []

    def documents_of(self, **options: Any) -> AsyncDocuments:
        client = self.client(is_async=True)
        perform = client.perform_request

        def seen(*args: Any, **kwargs: Any) -> Any:
            self.in_loop.append(not threading.current_thread().name.startswith("es-simhash"))
            return perform(*args, **kwargs)

        client.perform_request = seen
        return AsyncDocuments(client, index=INDEX, **options)


async def ran_in_loop(wire: Seeing, call: Any) -> bool:
    """Return whether the event loop's own thread ran a call."""
    wire.in_loop.clear()
    await call
    [ran] = set(wire.in_loop)
    return ran


def test_short_calls_run_in_the_thread_of_the_event_loop_after_the_first() -> None:
    wire = Seeing()

    async def main() -> None:
        async with wire.documents_of() as documents:
            similar = partial(documents.similar, rule="fingerprint")
            for expected in (False, True, True):
                assert await ran_in_loop(wire, similar(text(1))) is expected
            assert [await ran_in_loop(wire, documents.fetch(["1"])) for _ in "12"] == [False, True]
            assert [await ran_in_loop(wire, documents.sources(["1"])) for _ in "12"] == [False, True]
            # What is long, or may wait, keeps a thread.
            assert not await ran_in_loop(wire, similar(text(1) * 50))
            assert not await ran_in_loop(wire, documents.fetch(str(n) for n in range(3)))
            assert not await ran_in_loop(wire, documents.fetch(list(map(str, range(4_000)))))
            for _ in "12":
                assert not await ran_in_loop(wire, documents.similar_many([text(1)], rule="fingerprint"))
                assert not await ran_in_loop(wire, documents.add(document(1), rule="fingerprint"))

    run(main())


def test_calls_on_a_file_never_run_in_the_thread_of_the_event_loop(tmp_path: Path) -> None:
    ran: list[str] = []

    class Watched(WatchedStore):
        def perform(self, call: StoreCall) -> Any:
            ran.append(threading.current_thread().name)
            return super().perform(call)

    async def main() -> None:
        async with AsyncDocuments(Watched(SqliteStore(str(tmp_path / "news.db")))) as documents:
            await documents.setup(keys=False)
            for _ in range(3):
                await documents.similar(text(1), rule="fingerprint")

    run(main())
    assert set(ran) == {"es-simhash"}


def test_the_event_loop_goes_on_while_all_short_calls_wait_at_the_same_time() -> None:
    """A lock that one of them held during its request would stop the event loop."""
    wire = Held()
    held: list[int] = []

    async def before(sent: Sent) -> None:
        held.append(1)
        while wire.action:
            await asyncio.sleep(0.001)

    async def main() -> None:
        client = wire.client(is_async=True)
        documents, seen = AsyncDocuments(client, index=INDEX), AsyncSeenItems(client, index=INDEX)
        wire.put("1", {"text": text(1), "simhash": simhash_of("1", text(1))})

        def calls() -> list[Any]:
            return [
                documents.similar(text(1), rule="fingerprint"),
                documents.similar_to("1", rule="fingerprint"),
                documents.fetch(["1"]),
                documents.sources(["1"]),
                seen.add("ann", ["a"]),
                seen.unseen("ann", ["a"]),
                seen.might_have_seen("ann", ["a"]),
                seen.forget("ann", ["a"]),
                seen.stats("ann"),
                seen.clear("ann"),
                seen.remove("ann"),
            ]

        for call in calls():
            await call
        wire.before = before  # type: ignore[method-assign]
        wire.action = "held"
        tasks = [asyncio.ensure_future(call) for _ in range(3) for call in calls()]
        while len(held) < len(tasks):
            await asyncio.sleep(0.001)
        while threads():  # those of the first calls end; a call that is not short would keep its thread
            await asyncio.sleep(0.001)
        wire.action = ""
        await asyncio.gather(*tasks)
        await client.close()

    thread = threading.Thread(target=run, args=(main(),), daemon=True)  # a lock would hold it for ever
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()
    assert held


@pytest.mark.parametrize("repeated", [1, 40], ids=["a short text", "a long text"])
def test_a_short_call_compares_long_texts_in_a_thread(repeated: int) -> None:
    row = hit("1", text(1))
    row["fields"]["simhash.digest"] = ["of another text"]
    compared: set[str] = set()

    class Watched(Fingerprinter):
        def weigh(self, *args: Any, **kwargs: Any) -> Any:
            compared.add(threading.current_thread().name)
            return super().weigh(*args, **kwargs)

    wire = Held()
    wire.answer = lambda sent: {"responses": [found(row)]} if sent.action == "POST _msearch" else None
    wire.put("1", {"text": text(2) * repeated, "simhash": simhash_of("1", text(1))})

    async def main() -> None:
        async with wire.documents_of(fingerprinter=Watched) as documents:
            for _ in "12":
                compared.clear()
                await documents.similar(text(1), rule=DuplicateRule(measure="cosine", confirm=0.01))

    run(main())
    assert compared == {"MainThread"} | ({"es-simhash"} if repeated > 1 else set())


# --- cancelled calls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("busy", [False, True], ids=["in a slow request", "before a retry"])
@pytest.mark.parametrize("short", [False, True], ids=["in a thread", "in the event loop"])
def test_a_cancelled_call_returns_at_once_and_sends_no_further_request(
    product: str, busy: bool, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("es_simhash.retries.random.uniform", lambda least, most: 10 * LONG)
    wire = Held("POST _msearch", busy=busy, product=product)

    async def main() -> None:
        async with wire.documents_of() as documents:
            if short:
                await search_once(documents, wire)
            task = asyncio.ensure_future(documents.similar(text(1), rule="fingerprint"))
            await happens(wire.reached)
            await asyncio.sleep(0.05)
            await cancelled(task)
            wire.release()
            sent = len(wire.sent)
            await asyncio.sleep(0.2)
            assert len(wire.sent) == sent
            assert not threads()

    run(main())


def test_a_cancelled_call_on_a_file_returns_at_once_and_sends_no_further_request(tmp_path: Path) -> None:
    store = Slow(tmp_path / "news.db", "candidates")

    async def main() -> None:
        async with AsyncDocuments(store) as documents:
            await documents.setup(keys=False)
            task = asyncio.ensure_future(documents.add(document(1), rule="fingerprint"))
            await happens(store.reached)
            await cancelled(task)
            store.go.set()

    run(main())
    assert store.times_asked("write") == 0
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert list(documents.export()) == []


@pytest.mark.parametrize("verb", ["export", "export_texts", "ingest", "backfill", "duplicates"])
def test_a_cancelled_iteration_returns_at_once_and_sends_no_further_request(verb: str) -> None:
    wire = Held("GET _mapping")
    arguments = {"ingest": ([document(1)],), "backfill": ("text",)}.get(verb, ())

    async def main() -> None:
        async with wire.documents_of() as documents:
            task = asyncio.ensure_future(anext(getattr(documents, verb)(*arguments)))
            await happens(wire.reached)
            await cancelled(task)
            wire.release()
            sent = len(wire.sent)
            await asyncio.sleep(0.1)
            assert len(wire.sent) == sent

    run(main())


# --- a cancelled add ---------------------------------------------------------------------------------------


def stored(wire: Wire) -> set[str]:
    return set(wire.documents)


def test_a_cancelled_add_whose_document_waits_is_never_stored() -> None:
    wire = Held("POST _bulk")

    async def main() -> None:
        async with wire.documents_of() as documents:
            first = asyncio.ensure_future(documents.add(document(1), rule="fingerprint"))
            await happens(wire.reached)
            waiting = [
                asyncio.ensure_future(documents.add({"id": id, "text": text(1)}, rule="fingerprint")) for id in "abc"
            ]
            await asyncio.sleep(0.2)
            await cancelled(waiting[1])
            wire.release()
            assert (await first).outcome == "new"
            outcomes = await asyncio.gather(waiting[0], waiting[2])
            assert {each.outcome for each in outcomes} == {"exact_duplicate"}

    run(main())
    assert stored(wire) == {"1", "a", "c"}


def test_a_cancelled_add_in_a_joint_write_lets_the_others_be_stored() -> None:
    wire = Held("POST _bulk")

    def joint() -> list[str]:
        """Return the ids of the first request that has several."""
        return next((ids for ids in wire.held if len(ids) > 1), [])

    wire.release()

    async def main() -> None:
        async with wire.documents_of() as documents:
            await documents.add(document(0), rule="fingerprint")
            wire.holding = True
            tasks = {n: asyncio.ensure_future(documents.add(document(n), rule="fingerprint")) for n in range(1, 9)}
            await happens(wire.reached)
            await asyncio.sleep(0.2)
            wire.allowed = len(wire.held)
            while not joint():  # the documents that have waited for the first ones
                await asyncio.sleep(0.01)
            await cancelled(tasks[int(joint()[0])])
            wire.release()
            others = [task for n, task in tasks.items() if str(n) != joint()[0]]
            assert [each.outcome for each in await asyncio.gather(*others)] == ["new"] * 7

    run(main())
    assert stored(wire) >= {str(n) for n in range(9)} - {joint()[0]}


def test_whichever_adds_are_cancelled_the_others_are_stored() -> None:
    wire = Held("POST _bulk")

    async def main() -> None:
        async with wire.documents_of(threads=8) as documents:
            tasks = [asyncio.ensure_future(documents.add(document(n), rule="fingerprint")) for n in range(24)]
            await happens(wire.reached)
            await asyncio.sleep(0.1)
            for task in tasks[::3]:
                task.cancel()
            await asyncio.sleep(0.1)
            wire.release()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in results[::3])
            others = [each for n, each in enumerate(results) if n % 3]
            assert [getattr(each, "outcome", each) for each in others] == ["new"] * 16
            assert (await documents.add(document(100), rule="fingerprint")).outcome == "new"

    run(main())
    assert stored(wire) >= {str(n) for n in range(24) if n % 3}


# --- closing -----------------------------------------------------------------------------------------------


def test_closing_waits_for_the_calls_that_run() -> None:
    wire = Held("POST _bulk")

    async def main() -> None:
        documents = wire.documents_of()
        task = asyncio.ensure_future(documents.add(document(1), rule="fingerprint"))
        await happens(wire.reached)
        closing = asyncio.ensure_future(documents.close())
        await asyncio.sleep(0.1)
        assert not closing.done()
        wire.release()
        await closing
        assert (await task).outcome == "new"

    run(main())
    assert stored(wire) == {"1"}


@pytest.mark.parametrize("workers", [0, 1])
def test_closing_ends_an_iteration_that_is_half_taken(opened: Callable[..., AsyncDocuments], workers: int) -> None:
    async def main() -> None:
        documents = opened()
        await documents.setup(keys=False)
        given = (document(n) for n in range(50))
        outcomes = documents.ingest(given, batch_size=5, workers=workers, rule="fingerprint")
        for _ in range(7):
            await anext(outcomes)
        await documents.close()
        wait_until(lambda: not threads())
        with pytest.raises(InputError, match="closed"):
            [each async for each in outcomes]

    run(main())


@pytest.mark.usefixtures("read_ahead")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("by_hand", [False, True], ids=["asyncio.run", "closed by hand"])
def test_an_event_loop_that_ends_leaves_no_thread(*, by_hand: bool) -> None:
    wire = Held("POST _bulk")

    async def main(documents: AsyncDocuments) -> list[Any]:
        outcomes = documents.ingest((document(n) for n in range(50)), batch_size=5, rule="fingerprint")
        adds = (documents.add(document(n), rule="fingerprint") for n in range(100, 105))
        tasks = [asyncio.ensure_future(anext(outcomes)), *map(asyncio.ensure_future, adds)]
        await happens(wire.reached)
        return tasks

    def ended() -> None:
        if not by_hand:
            assert all(task.cancelled() for task in asyncio.run(main(wire.documents_of())))
            return
        loop = asyncio.new_event_loop()
        for task in loop.run_until_complete(main(wire.documents_of())):
            task._log_destroy_pending = False
        assert threads()
        loop.close()

    ended()
    gc.collect()
    wait_until(lambda: not threads())
    gc.collect()


# --- context -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["similar", "similar, short", "add", "ingest"])
def test_context_variables_of_the_caller_are_seen_by_requests_and_by_the_code(verb: str) -> None:
    class Noting(Held):
        async def before(self, sent: Sent) -> None:
            seen.add(name.get())

    seen: set[str] = set()
    made: set[str] = set()
    wire = Noting()

    def fingerprinter(scheme: Any) -> Any:
        made.add(name.get())
        return Fingerprinter(scheme)

    async def main() -> None:
        name.set("ann")
        async with wire.documents_of(fingerprinter=fingerprinter) as documents:
            if verb == "ingest":
                [each async for each in documents.ingest([document(1)], workers=0, rule="fingerprint")]
            elif verb == "add":
                await documents.add(document(1))
            else:
                await documents.similar(text(1))
                if verb == "similar, short":
                    name.set("bob")
                    await documents.similar(text(1))

    run(main())
    assert made == {"ann"}
    assert seen == ({"ann", "bob"} if verb == "similar, short" else {"ann"})


# --- iterators ---------------------------------------------------------------------------------------------


@pytest.fixture
def warnings_of_iterators(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that another test ran in this process has turned them off."""
    monkeypatch.setattr(logging.getLogger("es_simhash.iterators"), "disabled", False)


@pytest.mark.usefixtures("read_ahead")
@pytest.mark.usefixtures("warnings_of_iterators")
def test_leaving_an_iteration_early_closes_it_and_warns(
    opened: Callable[..., AsyncDocuments], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with opened() as documents:
            await documents.setup(keys=False)
            outcomes = documents.ingest((document(n) for n in range(30)), batch_size=5, rule="fingerprint")
            assert (await anext(outcomes)).outcome == "new"
            await outcomes.aclose()
            wait_until(lambda: not threads())

    with caplog.at_level(logging.WARNING, "es_simhash.iterators"):
        run(main())
    assert "ingest() was stopped early: 4 outcomes were not reported" in caplog.text


def test_an_iteration_that_is_taken_to_the_end_warns_of_nothing(
    opened: Callable[..., AsyncDocuments], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with opened() as documents:
            await documents.setup(keys=False)
            assert (
                len([each async for each in documents.ingest((document(n) for n in range(7)), rule="fingerprint")]) == 7
            )

    with caplog.at_level(logging.WARNING, "es_simhash.iterators"):
        run(main())
    gc.collect()
    assert caplog.text == ""


@pytest.mark.parametrize(("verb", "argument"), [("ingest", []), ("backfill", "text")])
@pytest.mark.usefixtures("warnings_of_iterators")
def test_a_write_that_is_never_iterated_warns(verb: str, argument: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "es_simhash.iterators"):
        getattr(AsyncDocuments("sqlite:///:memory:"), verb)(argument)
        gc.collect()
    assert caplog.text.count(f"{verb}() was called, but never iterated") == 1


def test_a_read_that_is_never_iterated_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "es_simhash.iterators"):
        AsyncDocuments("sqlite:///:memory:").export()
        gc.collect()
    assert caplog.text == ""
