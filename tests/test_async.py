"""The async classes: their results are those of the sync classes, and a cancelled call ends at once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents, SeenItems
from es_simhash.errors import InputError, StoreUnavailable
from es_simhash.retries import end_after
from es_simhash.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCES = ["市气象台今晨发布暴雨橙色预警信号", "城区部分路段已经出现积水", "交警提醒市民提前规划路线", "多趟列车晚点"]
GIVEN = [{"id": str(n), "text": "。".join(SENTENCES[: 1 + n % 4]) + "。" * (n % 3)} for n in range(40)]
TEXT = "。".join(SENTENCES)


class Slow(MemoryStore):
    """A store that counts what it is asked, and takes a while for each question.

    :param seconds: that a question takes, or until `answer` is set.
    """

    def __init__(self, seconds: float = 0.3) -> None:
        super().__init__()
        self.seconds = seconds
        self.answer = threading.Event()
        self.began = threading.Event()
        self.calls = 0

    def read(self, *arguments: Any, **options: Any) -> Any:
        self._take_a_while()
        return super().read(*arguments, **options)

    def search(self, *arguments: Any, **options: Any) -> Any:
        self._take_a_while()
        return super().search(*arguments, **options)

    def _take_a_while(self) -> None:
        end_after(0)
        self.calls += 1
        self.began.set()
        self.answer.wait(self.seconds)


def assert_same(sync: Any, asynchronous: Any, *calls: Any) -> None:
    """Make calls on both, one after the other. A call is a function, or one with a function of what is compared."""
    pairs = [call if isinstance(call, tuple) else (call, lambda result: result) for call in calls]

    async def main() -> list[Any]:
        async with asynchronous:
            return [compared(await call(asynchronous)) for call, compared in pairs]

    with sync:
        assert asyncio.run(main()) == [compared(call(sync)) for call, compared in pairs]


def set_up(address: str, rule: str = "copy") -> str:
    with Documents(address) as documents:
        documents.setup(rule)
    return address


def test_every_method_of_documents_returns_what_the_sync_one_returns(new_address: Callable[[], str]) -> None:
    assert_same(
        Documents(set_up(new_address(), "fingerprint")),
        AsyncDocuments(set_up(new_address(), "fingerprint")),
        lambda d: d.add({"id": "x", "text": TEXT}, refresh=True),
        lambda d: d.add_many(GIVEN, refresh=True),
        (lambda d: d.info(), lambda info: info.rule),
        lambda d: d.similar(TEXT),
        lambda d: d.similar_many([TEXT, "短"]),
        lambda d: d.similar_to("x"),
        (lambda d: d.near_query(TEXT), lambda query: query.clause),
        lambda d: d.fetch(["x"], fields="*"),
        (lambda d: d.fetch(["x"]), lambda rows: rows["x"].fingerprint),
        lambda d: d.remove(["x", "none"]),
    )


def test_every_method_of_seen_items_returns_what_the_sync_one_returns(new_address: Callable[[], str]) -> None:
    def fetch(offset: int, size: int) -> list[str]:
        return ["a", "b", "c", "d"][offset : offset + size]

    async def fetch_async(offset: int, size: int) -> list[str]:
        return fetch(offset, size)

    def page(seen: Any) -> Any:
        return seen.page("ann", fetch_async if isinstance(seen, AsyncSeenItems) else fetch, 5, item=str)

    addresses = [new_address(), new_address()]
    for address in addresses:
        with SeenItems(address, error_rate=1e-6) as seen:
            seen.setup()
    assert_same(
        SeenItems(addresses[0]),
        AsyncSeenItems(addresses[1]),
        lambda s: s.add("ann", ["a", "b"]),
        lambda s: s.add_many({"bob": ["a"]}, anew=True),
        lambda s: s.unseen("ann", ["b", "c"]),
        lambda s: s.unseen_many({"bob": ["a", "b"]}),
        (page, lambda page: page.hits),
        lambda s: s.forget("ann", ["a"]),
        lambda s: s.remove("ann"),
    )


def test_a_cancelled_call_returns_at_once_and_sends_nothing_further() -> None:
    store = Slow(20)
    Documents(store).setup()

    async def main() -> tuple[float, int]:
        documents = AsyncDocuments(store)
        task = asyncio.ensure_future(documents.similar(TEXT))
        await asyncio.to_thread(store.began.wait)
        calls, began = store.calls, time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seconds = time.monotonic() - began
        store.answer.set()
        await documents.close()  # waits for the thread
        return seconds, store.calls - calls

    seconds, more = asyncio.run(main())
    assert seconds < 10
    assert more == 0


def test_context_variables_of_the_caller_reach_the_thread() -> None:
    name = contextvars.ContextVar("name", default="nobody")
    found: list[str] = []

    class Asked(MemoryStore):
        def read(self, ids: Any, fields: Any = ()) -> Any:
            found.append(name.get())
            return super().read(ids, fields)

    async def main() -> None:
        async with AsyncDocuments(Asked()) as documents:
            name.set("ann")
            await documents.add_many(GIVEN)

    asyncio.run(main())
    assert set(found) == {"ann"}


def test_under_overload_the_calls_that_no_thread_begins_in_time_are_refused_and_the_others_are_answered() -> None:
    store = Slow()
    with Documents(store) as documents:
        documents.setup()

    async def main() -> tuple[list[Any], float]:
        async with AsyncDocuments(store, deadline=2, threads=2) as documents:
            await documents.info()
            began = time.monotonic()
            calls = (documents.similar(TEXT) for _ in range(100))
            answers = await asyncio.gather(*calls, return_exceptions=True)
            return answers, time.monotonic() - began

    answers, seconds = asyncio.run(main())
    refused = [answer for answer in answers if isinstance(answer, StoreUnavailable)]
    assert seconds < 10  # all of them take 15
    assert 2 <= len(answers) - len(refused) <= 2 * 1 / 0.3 + 2
    assert "no thread began this one within 1 s, a half of its deadline: try again later" in str(refused[0])
    assert all(isinstance(answer, list | StoreUnavailable) for answer in answers)


def test_other_tasks_go_on_while_a_call_computes() -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        task = asyncio.create_task(tick())
        text = "，".join(f"第{n}条新闻" for n in range(200))
        async with AsyncDocuments("memory://") as documents:
            await documents.add_many([{"id": n, "text": f"{text}{n}"} for n in range(300)])
        task.cancel()
        return ticks

    assert asyncio.run(main()) > 20


@pytest.mark.parametrize("threads", [0, -1, 1.0, True, "4"])
def test_a_number_of_threads_that_is_none_is_refused(threads: Any) -> None:
    with pytest.raises(InputError, match=f"threads must be a whole number from 1 to 10000, and is {threads!r}"):
        AsyncDocuments("memory://", threads=threads)
