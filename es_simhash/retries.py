"""How long a call may take, how long to wait between two attempts of a request, and how a call is cancelled."""

from __future__ import annotations

import math
import random
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from es_simhash.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

DEADLINE = 300.0
"""Seconds for which a request is retried while the store is busy or away."""
_LOOK_UP = 0.5
"""Seconds after which a call that waits for a lock sees that it was cancelled."""


class Cancelled(BaseException):
    """Nobody takes the result of this call any more. It is raised in the thread that runs the call, to end it."""


@dataclass(frozen=True)
class Call:
    """A call that a thread runs. Another thread may cancel it, and its requests have a common end.

    :param cancelled: nobody takes the result: its waits end, and its thread sends no further request.
    :param end: when all requests of the call must have ended, by ``time.monotonic``.
    """

    cancelled: threading.Event = field(default_factory=threading.Event)
    end: float = math.inf

    def do(self, work: Callable[[], T]) -> T:
        """Do some work as a part of this call. It ends with Cancelled at the next request or wait after a cancel."""
        token = _running.set(self)
        try:
            return work()
        finally:
            _running.reset(token)


_running: ContextVar[Call] = ContextVar("es_simhash_call", default=Call())  # noqa: B039  # nobody cancels it


def uncancelled(work: Callable[[], T]) -> T:
    """Do some work that goes on if the running call is cancelled, because others wait for it."""
    return Call(end=_running.get().end).do(work)


def pause(seconds: float) -> None:
    """Wait for some seconds.

    :raises Cancelled: at once when the running call is cancelled.
    """
    if _running.get().cancelled.wait(seconds):
        raise Cancelled


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let all requests in this block end within some seconds. 0: no limit."""
    end = time.monotonic() + seconds if seconds else math.inf
    token = _running.set(replace(_running.get(), end=end))
    try:
        yield
    finally:
        _running.reset(token)


def end_after(seconds: float) -> float:
    """Return the time that is some seconds away, or the end of the running call if that is earlier.

    It is called before each request.

    :raises Cancelled: if the running call was cancelled.
    """
    call = _running.get()
    if call.cancelled.is_set():
        raise Cancelled
    return min(call.end, time.monotonic() + seconds)


@contextmanager
def held(lock: threading.RLock, others: str, seconds: float = DEADLINE) -> Iterator[None]:
    """Hold a lock in this block.

    :param others: what the calls do that hold it meanwhile, for the message.
    :param seconds: for which to wait for it at most.
    :raises StoreUnavailable: if they hold it until then, or until the running call ends.
    :raises Cancelled: soon after the running call is cancelled.
    """
    end = end_after(seconds)
    while not lock.acquire(timeout=max(0.0, min(_LOOK_UP, end - time.monotonic()))):
        end_after(seconds)  # raises Cancelled
        if time.monotonic() >= end:
            raise StoreUnavailable(f"other calls of this program {others} at the deadline: try again")
    try:
        yield
    finally:
        lock.release()


@dataclass
class Waits:
    """The waits between attempts, until a deadline.

    Each wait has a random length between 0 and a maximum, and the maximum doubles after each wait. So programs that
    fail at the same moment do not retry at the same moment. This is the "full jitter" of M. Brooker, "Exponential
    Backoff And Jitter", AWS Architecture Blog, 2015. The defaults suit a server that is busy or unavailable.

    :param end: when the deadline is over (:func:`end_after`).
    :param maximum: of the next wait in seconds.
    :param longest: maximum of every wait in seconds.
    """

    end: float
    maximum: float = 0.05
    longest: float = 10.0

    def wait(self) -> bool:
        """Wait. Return False if the deadline is over then.

        :raises Cancelled: at once when the running call is cancelled.
        """
        if (left := self.end - time.monotonic()) <= 0:
            return False
        pause(min(random.uniform(0, self.maximum), left))
        self.maximum = min(2 * self.maximum, self.longest)
        return time.monotonic() < self.end
