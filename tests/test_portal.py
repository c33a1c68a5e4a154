"""Laws of the portal between an event loop and the threads and greenlets that run calls for it."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.portal import MOST_AT_ONCE, AsyncCall, Portal, compute, has_event_loop, in_event_loop
from es_simhash.retries import Cancelled, pause, running_call
from tests.cli import environment

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 60.0
"""Seconds after which a test gives up. A right program never waits so long."""

name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("es-simhash")]


def wait_until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def no_thread_is_left() -> bool:
    wait_until(lambda: not threads())
    return True


def run(main: Any) -> Any:
    """Run a coroutine on an event loop. No thread is left."""
    result = asyncio.run(asyncio.wait_for(main, LONG))
    assert no_thread_is_left()
    return result


async def never(begun: threading.Event) -> None:
    begun.set()
    await asyncio.get_running_loop().create_future()


# --- threads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5])
def test_as_many_calls_run_at_the_same_time_as_there_are_threads(count: int) -> None:
    lock, at_work, most = threading.Lock(), 0, 0

    def work(number: int) -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        if number < count:
            together.wait(LONG)  # the first calls meet, so they run at the same time
        time.sleep(0.001)
        with lock:
            at_work -= 1
        return number

    async def main() -> list[int]:
        portal = Portal(count)
        return await asyncio.gather(*(portal.run(partial(work, n)) for n in range(30)))

    together = threading.Barrier(count)
    assert run(main()) == list(range(30))
    assert most == count


def test_calls_run_in_their_order_and_the_event_loop_goes_on() -> None:
    began: list[int] = []
    go = threading.Event()

    def work(number: int) -> None:
        began.append(number)
        go.wait(LONG)

    async def main() -> None:
        portal = Portal(1)
        calls = [asyncio.ensure_future(portal.run(partial(work, n))) for n in range(5)]
        await asyncio.sleep(0.05)
        assert began == [0]
        go.set()
        await asyncio.gather(*calls)

    run(main())
    assert began == list(range(5))


# --- requests of a thread ----------------------------------------------------------------------------------


def test_a_request_may_last_longer_than_the_thread_waits_at_once() -> None:
    async def main() -> str:
        call = AsyncCall(loop=asyncio.get_running_loop(), look=0.01)
        return await asyncio.to_thread(call.run, asyncio.sleep(0.2, "answer"))

    assert run(main()) == "answer"


def test_outside_of_a_call_there_is_no_event_loop() -> None:
    assert not has_event_loop()
    with pytest.raises(RuntimeError, match="outside of an async class"):
        in_event_loop(asyncio.sleep(0))


def test_the_callers_own_code_may_await_a_call_when_there_is_one_thread() -> None:
    portal = Portal(1)

    async def source(depth: int) -> int:
        return depth if depth == 3 else await portal.run(lambda: taken(depth + 1))

    def taken(depth: int) -> int:
        return in_event_loop(source(depth), of_caller=True)

    async def main() -> list[int]:
        return await asyncio.gather(*(portal.run(lambda: taken(0)) for _ in range(4)))

    assert run(main()) == [3] * 4


def test_after_a_thread_was_lent_as_many_calls_run_as_before() -> None:
    portal = Portal(2)
    lock, at_work, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.002)
        with lock:
            at_work -= 1

    async def main() -> None:
        waits = (lambda: in_event_loop(asyncio.sleep(0.01), of_caller=True) for _ in range(20))
        await asyncio.gather(*(portal.run(wait) for wait in waits))
        await asyncio.gather(*(portal.run(work) for _ in range(20)))

    run(main())
    assert most == 2


# --- a call that is cancelled ------------------------------------------------------------------------------


def test_a_cancelled_call_returns_while_its_thread_is_at_work_and_sends_nothing_more() -> None:
    begun, go, sent = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        go.wait(LONG)
        in_event_loop(request())

    async def request() -> None:
        sent.append("a request")

    async def main() -> None:
        portal = Portal(1)
        task = asyncio.ensure_future(portal.run(work))
        await asyncio.to_thread(begun.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await portal.finish()

    run(main())
    assert sent == []


@pytest.mark.parametrize("waits", ["for a response", "to retry"])
def test_a_cancelled_call_ends_its_wait(waits: str) -> None:
    begun = threading.Event()

    def work() -> None:
        if waits == "to retry":
            begun.set()
            pause(10 * LONG)
        else:
            in_event_loop(never(begun))

    async def main() -> None:
        task = asyncio.ensure_future(Portal(1).run(work))
        await asyncio.to_thread(begun.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_a_cancelled_call_that_waits_for_a_thread_never_begins() -> None:
    begun, go, done = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        go.wait(LONG)

    async def main() -> None:
        portal = Portal(1)
        first = asyncio.ensure_future(portal.run(work))
        await asyncio.to_thread(begun.wait, LONG)
        second, third = (asyncio.ensure_future(portal.run(partial(done.append, n))) for n in (2, 3))
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go.set()
        await asyncio.gather(first, third)

    run(main())
    assert done == [3]


def test_a_request_that_something_else_cancels_cancels_its_call() -> None:
    begun = threading.Event()

    async def main() -> None:
        task = asyncio.ensure_future(Portal(1).run(lambda: in_event_loop(never(begun))))
        await asyncio.to_thread(begun.wait, LONG)
        for each in asyncio.all_tasks() - {task, asyncio.current_task()}:
            if "never" in repr(each):
                each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_an_error_of_a_call_that_nobody_awaits_any_more_is_not_reported_by_asyncio() -> None:
    reported: list[Any] = []
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(LONG)
        raise KeyError("x")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        portal = Portal(1)
        task = asyncio.ensure_future(portal.run(work))
        await asyncio.to_thread(begun.wait, LONG)
        task.cancel()
        ended = asyncio.ensure_future(portal.finish())
        await asyncio.sleep(0)
        go.set()
        await ended

    run(main())
    assert reported == []


# --- an event loop that ends -------------------------------------------------------------------------------


def test_no_thread_waits_when_the_main_task_ends_before_the_others() -> None:
    begun = threading.Event()

    async def main() -> asyncio.Task[None]:
        task = asyncio.create_task(Portal(2).run(lambda: in_event_loop(never(begun))))
        await asyncio.to_thread(begun.wait, LONG)
        return task

    assert run(main()).cancelled()


def test_no_thread_waits_for_a_loop_that_was_closed_by_hand() -> None:
    begun = threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(Portal(1).run(lambda: in_event_loop(never(begun))))
    loop.run_until_complete(asyncio.sleep(0))
    while not begun.is_set():
        loop.run_until_complete(asyncio.sleep(0.01))
    assert threads()
    loop.close()
    assert no_thread_is_left()
    assert not task.done()
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left on purpose


def test_a_thread_whose_loop_is_closed_sends_nothing_and_ends() -> None:
    begun, go = threading.Event(), threading.Event()
    ended: list[BaseException] = []

    async def request() -> None: ...

    def work() -> None:
        begun.set()
        go.wait(LONG)
        try:
            in_event_loop(request())
        except Cancelled as error:
            ended.append(error)
            raise

    loop = asyncio.new_event_loop()
    task = loop.create_task(Portal(1).run(work))
    while not begun.is_set():
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    go.set()
    assert no_thread_is_left()
    assert len(ended) == 1
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left on purpose


PROGRAM = """
import asyncio, threading
from es_simhash.portal import Portal, in_event_loop
from es_simhash.retries import running_call

begun = threading.Event()

async def never():
    begun.set()
    await asyncio.get_running_loop().create_future()

def look_up():
    Portal(1).start(lambda: in_event_loop(never()), running_call().another()).result()

loop = asyncio.new_event_loop()
task = loop.create_task({call})
while not begun.is_set():
    loop.run_until_complete(asyncio.sleep(0.01))
print("the end", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "Portal(1).run(lambda: in_event_loop(never()))",
        "Portal(1).run(look_up)",
        "Portal(1).run_short(lambda: in_event_loop(never()))",
    ],
    ids=["a thread of a call", "a thread of a look-up", "a short call"],
)
def test_a_program_ends_though_its_loop_stands_still_while_a_call_waits(call: str) -> None:
    program = PROGRAM.format(call=call)
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "the end\n"), ended.stderr


# --- calls -------------------------------------------------------------------------------------------------


def test_another_call_goes_on_when_one_is_cancelled() -> None:
    async def main() -> str:
        call = AsyncCall(loop=asyncio.get_running_loop())
        other = call.another()
        call.cancel()
        with pytest.raises(Cancelled):
            call.run(asyncio.sleep(0))
        return await asyncio.to_thread(other.run, asyncio.sleep(0, "answer"))

    assert run(main()) == "answer"


# --- short calls: greenlets in the thread of the event loop ------------------------------------------------


@pytest.mark.parametrize("short", [False, True], ids=["in a thread", "short"])
def test_a_short_call_runs_in_the_thread_of_the_event_loop_and_so_do_the_requests_of_all(short: bool) -> None:
    async def request() -> tuple[Any, ...]:
        await asyncio.sleep(0)
        return threading.get_ident(), name.get(), running_call(), has_event_loop()

    def work() -> tuple[Any, ...]:
        assert has_event_loop()
        return threading.get_ident(), name.get(), in_event_loop(request()), in_event_loop(request())

    async def main() -> None:
        name.set("ann")
        here = threading.get_ident()
        requested = (here, "ann", None, False)
        ran, *seen = await (Portal(1).run_short if short else Portal(1).run)(work)
        assert (ran == here, seen) == (short, ["ann", requested, requested])
        assert not has_event_loop()

    run(main())


def test_each_short_call_has_its_own_context() -> None:
    def work(own: str) -> tuple[str, ...]:
        before = name.get()
        name.set(own)
        in_event_loop(asyncio.sleep(0.01))
        return before, name.get()

    async def main() -> None:
        name.set("ann")
        portal = Portal(1)
        seen = await asyncio.gather(*(portal.run_short(partial(work, str(n))) for n in range(5)))
        assert seen == [("ann", str(n)) for n in range(5)]
        assert name.get() == "ann"

    run(main())


def test_short_calls_need_no_place_in_the_pool() -> None:
    portal = Portal(1)
    begun: list[int] = []
    go = threading.Event()

    async def request(number: int) -> int:
        begun.append(number)
        while len(begun) < 50:
            await asyncio.sleep(0.001)
        return number

    async def main() -> list[int]:
        busy = asyncio.ensure_future(portal.run(lambda: go.wait(LONG)))
        calls = await asyncio.gather(*(portal.run_short(lambda n=n: in_event_loop(request(n))) for n in range(50)))  # type: ignore[misc]
        go.set()
        assert await busy
        return calls

    assert run(main()) == list(range(50))


@pytest.mark.parametrize("run_call", [Portal.run, Portal.run_short], ids=["in a thread", "short"])
@pytest.mark.parametrize("error", [KeyError("x"), TimeoutError("late"), asyncio.TimeoutError("late")])
def test_an_error_of_a_request_is_raised_in_a_call_and_at_its_await(run_call: Any, error: Exception) -> None:
    caught: list[BaseException] = []

    async def request() -> None:
        await asyncio.sleep(0)
        raise error

    def work() -> None:
        try:
            in_event_loop(request())
        except type(error) as raised:
            caught.append(raised)
        in_event_loop(request())

    with pytest.raises(type(error)) as raised:
        run(run_call(Portal(1), work))
    assert [(type(each), str(each)) for each in (*caught, raised.value)] == [(type(error), str(error))] * 2


def test_the_event_loop_goes_on_while_a_short_call_waits_to_retry() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    async def main() -> None:
        ticking = asyncio.ensure_future(tick())
        await Portal(1).run_short(lambda: pause(0.2))
        ticking.cancel()

    begun = time.monotonic()
    run(main())
    assert time.monotonic() - begun >= 0.2
    assert ticks > 5


@pytest.mark.parametrize("waits", ["for a response", "to retry", "for a thread"])
def test_a_cancelled_short_call_ends_at_once_and_sends_nothing_more(waits: str) -> None:
    begun, go, ended, sent = threading.Event(), threading.Event(), [], []

    async def request() -> None:
        sent.append("a request")

    def computed() -> None:
        begun.set()
        go.wait(LONG)

    def work() -> None:
        try:
            if waits == "to retry":
                asyncio.get_running_loop().call_soon(begun.set)
                pause(10 * LONG)
            elif waits == "for a thread":
                compute(computed, MOST_AT_ONCE + 1)
            else:
                in_event_loop(never(begun))
        finally:
            ended.append(running_call())
            in_event_loop(request())

    async def main() -> None:
        task = asyncio.ensure_future(Portal(1).run_short(work))
        await asyncio.to_thread(begun.wait, LONG)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        go.set()

    run(main())
    assert len(ended) == 1
    assert sent == []


def test_a_short_call_that_lasts_too_long_ends_with_a_timeout() -> None:
    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(Portal(1).run_short(lambda: in_event_loop(never(threading.Event()))), 0.05)

    run(main())


def test_a_request_that_something_else_cancels_cancels_its_short_call() -> None:
    async def request() -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        with pytest.raises(asyncio.CancelledError):
            await Portal(1).run_short(lambda: in_event_loop(request()))

    run(main())


def test_closing_waits_for_short_calls() -> None:
    begun, done = threading.Event(), []

    async def request(go: asyncio.Event) -> None:
        begun.set()
        await go.wait()

    def work(go: asyncio.Event) -> None:
        in_event_loop(request(go))
        done.append("it")

    async def main() -> None:
        portal, go = Portal(1), asyncio.Event()
        task = asyncio.ensure_future(portal.run_short(lambda: work(go)))
        await asyncio.to_thread(begun.wait, LONG)
        finished = asyncio.ensure_future(portal.finish())
        await asyncio.sleep(0.02)
        assert not finished.done()
        go.set()
        await finished
        assert done
        await task

    run(main())


def test_closing_does_not_wait_for_short_calls_of_an_event_loop_that_was_closed_by_hand() -> None:
    begun = threading.Event()
    portal = Portal(1)
    loop = asyncio.new_event_loop()
    task = loop.create_task(portal.run_short(lambda: in_event_loop(never(begun))))
    while not begun.is_set():
        loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    run(portal.finish())
    assert not task.done()
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left on purpose


def test_a_short_call_whose_coroutine_is_closed_ends() -> None:
    begun, ended = threading.Event(), []

    def work() -> None:
        try:
            in_event_loop(never(begun))
        finally:
            ended.append("it")
            in_event_loop(never(begun))

    async def main() -> None:
        awaited = Portal(1).run_short(work)
        awaited.send(None)  # as a task does
        awaited.close()

    run(main())
    assert ended == ["it"]


def test_a_short_call_computes_in_a_thread_what_is_much() -> None:
    def work() -> tuple[int, int, str]:
        return (
            compute(threading.get_ident, MOST_AT_ONCE),
            compute(threading.get_ident, MOST_AT_ONCE + 1),
            compute(name.get, MOST_AT_ONCE + 1),
        )

    async def main() -> None:
        name.set("ann")
        here, there, seen = await Portal(1).run_short(work)
        assert here == threading.get_ident() != there
        assert seen == "ann"

    run(main())
    assert compute(threading.get_ident, MOST_AT_ONCE + 1) == threading.get_ident()
