"""How an async program runs plain calls: in worker threads, or as greenlets of the event loop's own thread.

The async classes do no work of their own. Each call runs a method of the sync class. An async client belongs to its
event loop, so the call hands each request to it, and waits for the response (:func:`in_event_loop`). Everything else is
the code of the sync classes.

- A call runs in a thread of a pool (:meth:`Portal.run`), unless it is known to be short.
- A short call runs in the thread of the event loop, as a greenlet (:meth:`Portal.run_short`). A greenlet has a stack of
  its own. While it waits, for a response or to retry, the event loop goes on. While it computes, the event loop stands
  still. Threads pass the interpreter from core to core at each request. A short call does not: of 200 calls at the same
  time, on two free cores, each takes some 60 % of the processor time. One that waits takes 40 KB, in place of 8 KB.

So a short call waits for nothing but requests and :func:`es_simhash.retries.pause`, and holds no lock meanwhile. What
takes long to compute, it computes in a thread (:func:`compute`). :class:`es_simhash.client.clients.AsyncClient` says
which calls are short.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from concurrent.futures import CancelledError, Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import greenlet

from es_simhash.errors import InputError
from es_simhash.retries import Call, Cancelled, context_outside_of_calls, running_call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")

THREADS = 32
"""Calls of one object that run at the same time, if the caller does not say."""
MOST_AT_ONCE = 3_000
"""Characters, or items, that a short call computes with in the thread of the event loop.

To compare that much text takes some 5 ms. A thread that computes keeps the interpreter for 5 ms too, before another one
gets its turn (``sys.getswitchinterval``).
"""
LOOK = 1.0
"""Seconds after which a thread that waits for the event loop looks whether the loop still exists."""


class AsyncCall(Call):
    """A call whose requests an event loop sends.

    :param portal: whose thread runs the call; None for another thread.
    :param loop: the event loop; None if :meth:`use_running_loop` says it later.
    :param look: seconds after which a thread that waits for the event loop looks whether the loop still exists.
    """

    def __init__(
        self, portal: Portal | None = None, loop: asyncio.AbstractEventLoop | None = None, *, look: float = LOOK
    ) -> None:
        super().__init__()
        self._portal = portal
        self._loop = loop
        self._look = look
        self._requests: set[Future[Any]] = set()

    def use_running_loop(self) -> None:
        """Let the event loop that runs now send the requests."""
        self._loop = asyncio.get_running_loop()

    def cancel(self) -> None:
        """End the waits and the requests of the call. Its thread sends no further request."""
        super().cancel()
        with self._lock:
            requests = list(self._requests)
        if self._loop is not None and not self._loop.is_closed():
            for future in requests:
                future.cancel()

    def another(self) -> AsyncCall:
        """Return a new call with this event loop, which is not cancelled together with this one."""
        return AsyncCall(loop=self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T], *, of_caller: bool = False) -> T:
        """Let the event loop run a coroutine, and return its result.

        The coroutine sees the context variables of the caller.

        :param of_caller: it is the caller's own code. It may wait for other calls, so another call may run meanwhile.
        :raises Cancelled: if the call is cancelled, or the event loop ends.
        """
        with self._portal.lend() if of_caller and self._portal is not None else nullcontext():
            with self._lock:
                loop = self._loop
                if loop is None or self.cancelled:
                    coroutine.close()
                    raise Cancelled
                future = _start(coroutine, loop)
                self._requests.add(future)
            try:
                return _wait(future, loop, self._look)
            finally:
                with self._lock:
                    self._requests.discard(future)


class ShortCall(AsyncCall):
    """A call that runs as a greenlet in the thread of the event loop that awaits it.

    :param pool: whose threads compute what takes long.
    """

    def __init__(self, pool: Portal) -> None:
        super().__init__()
        self._pool = pool

    async def result(self, work: Callable[[], T]) -> T:
        """Do some work, and return its result. Whatever the work waits for is awaited here.

        If the awaiting task is cancelled, the work ends, and sends no further request.
        """
        runner = greenlet.greenlet(self.do)
        runner.gr_context = contextvars.copy_context()
        returned = runner.switch(work)
        while not runner.dead:
            try:
                response = await returned
            except (asyncio.CancelledError, GeneratorExit):
                self.cancel()
                with suppress(Cancelled):
                    runner.throw(Cancelled)
                raise
            except BaseException as error:
                returned = runner.throw(error)
            else:
                returned = runner.switch(response)
        return returned  # type: ignore[no-any-return]  # what the work returned

    def run(self, coroutine: Coroutine[Any, Any, T], *, of_caller: bool = False) -> T:
        """Let the event loop run a coroutine, and return its result. Other tasks run meanwhile.

        :raises Cancelled: if the call is cancelled.
        """
        if self.cancelled:
            coroutine.close()
            raise Cancelled
        parent = greenlet.getcurrent().parent
        assert parent is not None
        return parent.switch(coroutine)  # type: ignore[no-any-return]  # what result() switches back with

    def compute(self, work: Callable[[], T]) -> T:
        """Let a thread do some work, and return its result. Other tasks run meanwhile."""
        return self.run(self._pool.run(work))

    def wait(self, seconds: float) -> None:
        """Wait for some seconds. Other tasks run meanwhile.

        :raises Cancelled: at once when the call is cancelled.
        """
        self.run(asyncio.sleep(seconds))


def _start(coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> Future[T]:
    """Let an event loop run a coroutine. Code in the event loop belongs to no call, because it must not wait for it."""
    try:
        return context_outside_of_calls().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
    except RuntimeError:  # the event loop is closed
        coroutine.close()
        raise Cancelled from None


def _wait(future: Future[T], loop: asyncio.AbstractEventLoop, look: float) -> T:
    while True:
        try:
            return future.result(look)
        except (FutureTimeoutError, TimeoutError):
            if future.done():
                return future.result()  # or the coroutine's own error
            if (
                loop.is_closed() or not threading.main_thread().is_alive()
            ):  # the program ends, and waits for its threads
                raise Cancelled from None
        except CancelledError:
            raise Cancelled from None


def in_event_loop(coroutine: Coroutine[Any, Any, T], *, of_caller: bool = False) -> T:
    """Let the event loop of the running call run a coroutine, and return its result.

    :param of_caller: it is the caller's own code.
    :raises RuntimeError: if no call of an async class is running.
    :raises Cancelled: if the call is cancelled.
    """
    call = running_call()
    if not isinstance(call, AsyncCall):
        coroutine.close()
        raise RuntimeError("a store with an async client is used outside of an async class")
    return call.run(coroutine, of_caller=of_caller)


def compute(work: Callable[[], T], size: int) -> T:
    """Do some work without requests, and return its result. If it is much work of a short call, a thread does it.

    :param size: characters, or items, that the work reads.
    """
    call = running_call()
    return call.compute(work) if isinstance(call, ShortCall) and size > MOST_AT_ONCE else work()


def has_event_loop() -> bool:
    """Return whether this code belongs to a call of an async class."""
    return isinstance(running_call(), AsyncCall)


class Portal:
    """Runs the calls of one object, and has the threads for them. A thread ends when no call waits for it.

    :param threads: the most calls that run at the same time. Others wait for a thread. A call that waits for its input
        does not count, because the input may come from another call.
    :raises InputError: if it is no whole number from 1.
    """

    def __init__(self, threads: int) -> None:
        if type(threads) is not int or threads < 1:
            raise InputError(f"threads is {threads!r}: use a whole number from 1")
        self._free = threads
        """Threads that may be started. It is negative while more calls run than allowed, because some had lent their
        threads and have their input now."""
        self._lock = threading.Lock()
        self._queue: deque[Callable[[], None]] = deque()
        self._started: set[Future[Any]] = set()
        self._short_calls: set[asyncio.Future[None]] = set()
        """One for each short call. It is done when the call ends."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in a thread, and return its result.

        If the awaiting task is cancelled, this returns at once, and the thread sends no further request.
        """
        call = AsyncCall(self, asyncio.get_running_loop())
        return await self.result(self.start(work, call), call)

    async def run_short(self, work: Callable[[], T]) -> T:
        """Run a function as a greenlet in the thread of the event loop, and return its result.

        It needs no place in the pool. If the awaiting task is cancelled, it ends, and sends no further request.
        """
        ended = asyncio.get_running_loop().create_future()
        self._short_calls.add(ended)
        try:
            return await ShortCall(self).result(work)
        finally:
            self._short_calls.discard(ended)
            ended.set_result(None)

    async def run_to_end(self, work: Callable[[], object], seconds: float | None = None) -> None:
        """Run a function in a thread, also if the awaiting task is cancelled meanwhile.

        :param seconds: wait no longer than that.
        """
        done = asyncio.wrap_future(self.start(work, AsyncCall(self, asyncio.get_running_loop())))
        done.add_done_callback(_take_error)
        await asyncio.wait([done], timeout=seconds)
        if done.done() and isinstance(error := _take_error(done), Exception):
            raise error

    def start(self, work: Callable[[], T], call: Call) -> Future[T]:
        """Start to run a function in a thread, with the context variables of the caller."""
        future: Future[T] = Future()
        context = contextvars.copy_context()
        self._started.add(future)
        future.add_done_callback(self._started.discard)
        with self._lock:
            self._queue.append(lambda: _perform(future, lambda: context.run(call.do, work)))
        self._start_threads()
        return future

    async def result(self, future: Future[T], call: Call) -> T:
        """Await the result of a function that was started. If the awaiting task is cancelled, so is the call."""
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            call.cancel()
            raise
        except Cancelled:  # something else has cancelled a request of the call
            raise asyncio.CancelledError from None

    async def finish(self) -> None:
        """Wait until nothing runs. The short calls of another event loop go on, if that loop does."""
        loop = asyncio.get_running_loop()
        running: list[asyncio.Future[Any]] = [asyncio.wrap_future(future) for future in tuple(self._started)]
        running += [ended for ended in self._short_calls if ended.get_loop() is loop]
        if running:
            for future in running:
                future.add_done_callback(_take_error)
            await asyncio.wait(running)

    def wait(self) -> None:
        """Let this thread wait until nothing runs."""
        wait(tuple(self._started))

    @contextmanager
    def lend(self) -> Iterator[None]:
        """Let another call run while this thread waits."""
        with self._lock:
            self._free += 1
        self._start_threads()
        try:
            yield
        finally:
            with self._lock:
                self._free -= 1

    def _start_threads(self) -> None:
        """Start a thread for each call that waits, as far as allowed."""
        with self._lock:
            for _ in range(min(len(self._queue), self._free)):
                threading.Thread(target=self._work, name="es-simhash").start()
                self._free -= 1

    def _work(self) -> None:
        """Do what waits. Then the thread ends."""
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            if self._queue and self._free >= 0:
                return self._queue.popleft()
            self._free += 1
            return None


def _perform(future: Future[T], work: Callable[[], T]) -> None:
    """Give a future the result of a function, unless it is cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
        del future, work  # the error has this frame, so it would hold itself
    else:
        future.set_result(result)


def _take_error(future: asyncio.Future[Any]) -> BaseException | None:
    """Return the error of a future. So asyncio does not warn that nobody took it."""
    return None if future.cancelled() else future.exception()
