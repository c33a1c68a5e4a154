"""How an async program runs plain calls: each in a worker thread, whose requests go back to the event loop.

The async classes do no work of their own. Each call runs a method of the sync class in a thread of a pool
(:class:`Portal`). An async client belongs to its event loop, so the thread hands each request to it, and waits for
the response (:func:`in_event_loop`). Everything else is the code of the sync classes.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import InputError
from es_simhash.retries import Call, Cancelled, running_call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

THREADS = 32
"""Threads of a pool, if the caller does not say."""
_LOOK = 1.0
"""Seconds after which a thread that waits for the event loop looks whether the loop still exists."""


class AsyncCall(Call):
    """A call whose requests an event loop sends.

    :param loop: the event loop; None if :meth:`use_running_loop` says it later.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__()
        self._loop = loop
        self._requests: set[Future[Any]] = set()

    def use_running_loop(self) -> None:
        """Let the event loop that runs now send the requests."""
        self._loop = asyncio.get_running_loop()

    def cancel(self) -> None:
        """End the waits and the requests of the call. Its thread sends no further request."""
        super().cancel()
        with self._lock:
            requests = list(self._requests)
        for future in requests:
            future.cancel()

    def another(self) -> AsyncCall:
        """Return a new call with this event loop, which is not cancelled together with this one."""
        return AsyncCall(self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Let the event loop run a coroutine, and return its result.

        The coroutine sees the context variables of the caller.

        :raises Cancelled: if the call is cancelled, or the event loop ends.
        """
        with self._lock:
            loop = self._loop
            if loop is None or self.cancelled or loop.is_closed():
                coroutine.close()
                raise Cancelled
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            self._requests.add(future)
        try:
            while True:
                try:
                    return future.result(_LOOK)
                except (FutureTimeoutError, TimeoutError):
                    if future.done():
                        raise  # the coroutine's own
                    if loop.is_closed() or not threading.main_thread().is_alive():
                        raise Cancelled from None
        except CancelledError:
            raise Cancelled from None
        finally:
            with self._lock:
                self._requests.discard(future)


def in_event_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Let the event loop of the running call run a coroutine, and return its result.

    :raises RuntimeError: if no call of an async class is running.
    :raises Cancelled: if the call is cancelled.
    """
    call = running_call()
    if not isinstance(call, AsyncCall):
        coroutine.close()
        raise RuntimeError("a store with an async client is used outside of an async class")
    return call.run(coroutine)


def has_event_loop() -> bool:
    """Return whether this code belongs to a call of an async class."""
    return isinstance(running_call(), AsyncCall)


class Portal:
    """A pool of threads for the calls of one object.

    :param threads: the most calls that run at the same time. Others wait for a thread.
    :raises InputError: if it is no whole number from 1.
    """

    def __init__(self, threads: int) -> None:
        if type(threads) is not int or threads < 1:
            raise InputError(f"threads is {threads!r}: use a whole number from 1")
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._started: set[Future[Any]] = set()

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in a thread, and return its result.

        If the awaiting task is cancelled, this returns at once, and the thread sends no further request.
        """
        call = AsyncCall(asyncio.get_running_loop())
        return await self.result(self.start(work, call), call)

    async def run_to_end(self, work: Callable[[], T]) -> T:
        """Run a function in a thread, also if the awaiting task is cancelled meanwhile."""
        call = AsyncCall(asyncio.get_running_loop())
        return await asyncio.shield(asyncio.wrap_future(self.start(work, call)))

    def start(self, work: Callable[[], T], call: Call) -> Future[T]:
        """Start to run a function in a thread, with the context variables of the caller."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "es-simhash")
        future = self._pool.submit(contextvars.copy_context().run, call.do, work)
        self._started.add(future)
        future.add_done_callback(self._started.discard)
        return future

    async def result(self, future: Future[T], call: Call) -> T:
        """Await the result of a function that was started. If the awaiting task is cancelled, so is the call."""
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            call.cancel()
            raise

    async def finish(self) -> None:
        """Wait until nothing runs."""
        if running := [asyncio.wrap_future(future) for future in tuple(self._started)]:
            await asyncio.wait(running)

    def close(self) -> None:
        """End the threads. The next call starts others."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None
