"""The only place where sync and async differ: one generator of requests, answered by calls or by awaits.

It is used twice: a flow asks a store, and inside the Elasticsearch store a request asks the client.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

Q = TypeVar("Q")
T = TypeVar("T")

_log = logging.getLogger("es_simhash")


@dataclass(frozen=True)
class Pause:
    """A request that the driver answers itself: by waiting."""

    seconds: float


def pauses(deadline: float, first: float = 0.05, longest: float = 10.0) -> Generator[Pause, None, None]:
    """Pauses between attempts, until a deadline: each of random length, from nothing up to one that doubles each time.

    Several programs that were turned away together don't come back together: "full jitter" of M. Brooker, "Exponential
    Backoff And Jitter", AWS Architecture Blog, 2015. The defaults are for a server that is busy or away.

    :param deadline: seconds from when the first pause is asked for.
    :param first: seconds that the first pause lasts at most.
    :param longest: seconds that any pause lasts at most.
    """
    end = time.monotonic() + deadline
    most = first
    while (left := end - time.monotonic()) > 0:
        yield Pause(min(random.uniform(0, most), left))
        most = min(2 * most, longest)


def pauses_after_conflicts(deadline: float) -> Generator[Pause, None, None]:
    """:func:`pauses` for whoever was beaten by another writer: short ones, since that one is done already."""
    return pauses(deadline, first=0.01, longest=0.5)


def patiently(
    work: Generator[Q | Pause, Any, T], deadline: float, ended: Callable[[], bool] = lambda: False
) -> Generator[Q | Pause, Any, T]:
    """The same work, whose requests are repeated while they fail for a reason that passes.

    :param deadline: seconds for which one request is repeated; then its error is raised.
    :param ended: tells that nobody waits for the result any more.
    """
    try:
        request = next(work)
        while True:
            waits, began = None, time.monotonic()
            while True:
                try:
                    reply = yield request
                except SimhashError as error:
                    if waits is None and error.retryable and deadline:
                        _log.warning("%s; it is tried again for up to %g s", error, deadline)
                    waits = waits or pauses(deadline)
                    if error.retryable and not ended() and (pause := next(waits, None)) is not None:
                        yield pause
                        continue
                    request = work.throw(error)
                else:
                    if waits is not None:
                        _log.warning("the store answers again, after %.1f s", time.monotonic() - began)
                    request = work.send(reply)
                break
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def run(
    work: Generator[Q | Pause, Any, T], answer: Callable[[Q], Any], wait: Callable[[float], object] = time.sleep
) -> T:
    """Run to the end, and return what the generator returns. Errors of ``answer`` are raised inside it.

    :param wait: waits for some seconds. It may return earlier.
    """
    reply: Any = None
    error: SimhashError | None = None
    while True:
        request = _step(work, reply, error)
        if isinstance(request, _End):
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
    """:func:`run`, awaiting the answers.

    :param aside: what is done between two requests takes long: it is done in a thread, while other tasks go on.
    """
    reply: Any = None
    error: SimhashError | None = None
    while True:
        step = partial(_step, work, reply, error)
        request = await asyncio.to_thread(step) if aside else step()
        if isinstance(request, _End):
            return request.value
        reply = error = None
        try:
            reply = await (asyncio.sleep(request.seconds) if isinstance(request, Pause) else answer(request))
        except SimhashError as failure:
            error = failure


@dataclass(frozen=True)
class _End(Generic[T]):
    """What the work returned: a StopIteration can't leave a thread."""

    value: T


def _step(work: Generator[Q | Pause, Any, T], reply: Any, error: SimhashError | None) -> Q | Pause | _End[T]:
    try:
        return work.send(reply) if error is None else work.throw(error)
    except StopIteration as end:
        return _End(end.value)
