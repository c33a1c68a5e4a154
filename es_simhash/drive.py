"""Drivers: they run a generator that yields requests, and send it the replies. One driver is sync, one is async.

The generator is the same for both; this module is the only place where sync and async differ. There are two users: a
verb (a flow) sends requests to a store, and the Elasticsearch store sends requests to the client.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.errors import SimhashError, StoreUnreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

Q = TypeVar("Q")
T = TypeVar("T")

_log = logging.getLogger("es_simhash")


@dataclass(frozen=True)
class Pause:
    """A request to wait. The driver answers it itself."""

    seconds: float


DEADLINE = 300.0
"""Seconds for which a request is retried while the store is busy or away."""


class Patience:
    """For how long the requests of a client are retried.

    Until the store has answered once, a host that does not answer is an error at once: the address may be mistyped.

    :param deadline: seconds for which one request is retried; 0 if every error is raised at once.
    :param answered: the store has answered already.
    """

    def __init__(self, deadline: float = DEADLINE, *, answered: bool = False) -> None:
        self.deadline = deadline
        self.answered = answered

    def allows(self, error: SimhashError) -> bool:
        """Return whether a request may be retried after an error."""
        self.answered |= not isinstance(error, StoreUnreachable)
        return error.retryable and self.answered


def pauses(deadline: float, first: float = 0.05, longest: float = 10.0) -> Generator[Pause, None, None]:
    """Yield the pauses between attempts until a deadline.

    Each pause has a random length between 0 and a maximum, and the maximum doubles after each pause. So programs that
    fail at the same moment do not retry at the same moment. This is the "full jitter" of M. Brooker, "Exponential
    Backoff And Jitter", AWS Architecture Blog, 2015. The defaults suit a server that is busy or unavailable.

    :param deadline: seconds from the request for the first pause. There is no pause if it is 0 or less.
    :param first: maximum of the first pause in seconds.
    :param longest: maximum of every pause in seconds.
    """
    end = time.monotonic() + deadline
    maximum = first
    while (left := end - time.monotonic()) > 0:
        yield Pause(min(random.uniform(0, maximum), left))
        maximum = min(2 * maximum, longest)


def pauses_after_conflicts(deadline: float) -> Generator[Pause, None, None]:
    """Yield short :func:`pauses` after a conflict with another writer, because that writer has already finished."""
    return pauses(deadline, first=0.01, longest=0.5)


def with_retries(
    work: Generator[Q | Pause, Any, T], patience: Patience, ended: Callable[[], bool] = lambda: False
) -> Generator[Q | Pause, Any, T]:
    """Run ``work``, and retry each of its requests that fails with a retryable error.

    :param patience: for how long one request is retried. Then its error is raised in ``work``.
    :param ended: returns True if the result is no longer needed. Then no request is retried.
    :returns: what ``work`` returns.
    """
    try:
        request = next(work)
        while True:
            waits, started = None, time.monotonic()
            while True:
                try:
                    reply = yield request
                except SimhashError as error:
                    if patience.allows(error) and not ended():
                        if waits is None and patience.deadline:
                            _log.warning("%s; retrying for up to %g s", error, patience.deadline)
                        waits = waits or pauses(patience.deadline)
                        if (pause := next(waits, None)) is not None:
                            yield pause
                            continue
                    request = work.throw(error)
                else:
                    patience.answered = True
                    if waits is not None:
                        _log.warning("the store answers again, after %.1f s", time.monotonic() - started)
                    request = work.send(reply)
                break
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def run(
    work: Generator[Q | Pause, Any, T], answer: Callable[[Q], Any], wait: Callable[[float], object] = time.sleep
) -> T:
    """Run ``work`` to its end, and return what it returns.

    :param answer: returns the reply to a request. If it raises a SimhashError, the error is raised in ``work``.
    :param wait: waits for some seconds. It may return earlier.
    """
    reply: Any = None
    error: SimhashError | None = None
    while True:
        request = _step(work, reply, error)
        if isinstance(request, _Finished):
            return request.value
        reply = error = None
        try:
            if isinstance(request, Pause):
                wait(request.seconds)
            else:
                reply = answer(request)
        except SimhashError as failure:
            error = failure


async def arun(work: Generator[Q | Pause, Any, T], answer: Callable[[Q], Awaitable[Any]], *, aside: bool = False) -> T:
    """Run ``work`` as :func:`run` does, but await the answers.

    :param aside: True if ``work`` computes for a long time between two requests. Then it runs in a thread, and other
        tasks of the event loop continue.
    """
    reply: Any = None
    error: SimhashError | None = None
    while True:
        step = partial(_step, work, reply, error)
        request = await asyncio.to_thread(step) if aside else step()
        if isinstance(request, _Finished):
            return request.value
        reply = error = None
        try:
            reply = await (asyncio.sleep(request.seconds) if isinstance(request, Pause) else answer(request))
        except SimhashError as failure:
            error = failure


@dataclass(frozen=True)
class _Finished(Generic[T]):
    """The result of the work. It replaces StopIteration, which cannot be raised out of a thread."""

    value: T


def _step(work: Generator[Q | Pause, Any, T], reply: Any, error: SimhashError | None) -> Q | Pause | _Finished[T]:
    """Send a reply or an error to the work, and return its next request or its result."""
    try:
        return work.send(reply) if error is None else work.throw(error)
    except StopIteration as end:
        return _Finished(end.value)
