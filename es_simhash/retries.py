"""How long a call may take, how long to wait between two attempts of a request, and how a call is cancelled."""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

DEADLINE = 300.0
"""Seconds for which a request is retried while the store is busy or away."""


class Cancelled(BaseException):
    """Nobody takes the result of this call any more. It is raised in the thread that runs the call, to end it."""


class Call:
    """A call that a thread runs, and that another thread may cancel.

    :ivar waited: the seconds for which it waited for a thread. They are a part of its deadline.
    """

    def __init__(self) -> None:
        self.waited = 0.0
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Nobody takes the result."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """End the waits of the call. Its thread sends no further request."""
        self._cancelled.set()

    def do(self, work: Callable[[], T]) -> T:
        """Do some work as a part of this call.

        :raises Cancelled: if the call is cancelled.
        """
        token = _running.set(self)
        try:
            check_not_cancelled()
            return work()
        finally:
            _running.reset(token)


_running: ContextVar[Call | None] = ContextVar("es_simhash_call", default=None)


def check_not_cancelled() -> None:
    """Raise Cancelled if the running call was cancelled. It is called before each request."""
    if (call := _running.get()) is not None and call.cancelled:
        raise Cancelled


def pause(seconds: float) -> None:
    """Wait for some seconds.

    :raises Cancelled: at once when the running call is cancelled.
    """
    if (call := _running.get()) is None:
        time.sleep(seconds)
    elif call._cancelled.wait(seconds):
        raise Cancelled


_end: ContextVar[float | None] = ContextVar("es_simhash_end", default=None)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let all requests in this block end within some seconds, less those that the running call waited. 0: no limit."""
    call = _running.get()
    waited = 0.0 if call is None else call.waited
    token = _end.set(time.monotonic() + seconds - waited if seconds else None)
    try:
        yield
    finally:
        _end.reset(token)


def end_after(seconds: float) -> float:
    """Return the time that is some seconds away, or the end of the running call if that is earlier."""
    end, own = _end.get(), time.monotonic() + seconds
    return own if end is None else min(own, end)


@dataclass
class Waits:
    """The waits between attempts, until a deadline.

    Each wait has a random length between 0 and a maximum, and the maximum doubles after each wait. So programs that
    fail at the same moment do not retry at the same moment. This is the "full jitter" of M. Brooker, "Exponential
    Backoff And Jitter", AWS Architecture Blog, 2015. The defaults suit a server that is busy or unavailable.

    :param deadline: seconds from the first wait. There is no wait if it is 0 or less, or if the running call ends.
    :param maximum: of the next wait in seconds.
    :param longest: maximum of every wait in seconds.
    :param end: when the deadline is over; it is set by the first wait.
    """

    deadline: float
    maximum: float = 0.05
    longest: float = 10.0
    end: float | None = None

    def wait(self) -> bool:
        """Wait. Return False if the deadline is over then.

        :raises Cancelled: at once when the running call is cancelled.
        """
        now = time.monotonic()
        if self.end is None:
            self.end = end_after(self.deadline)
        if (left := self.end - now) <= 0:
            return False
        pause(min(random.uniform(0, self.maximum), left))
        self.maximum = min(2 * self.maximum, self.longest)
        return time.monotonic() < self.end
