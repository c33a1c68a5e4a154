"""Group commit: calls that come while another one is at work wait, and then go to the store together.

The first call that finds nobody at work does the work for all that wait. So ten threads that add a document each need
one look-up and one write, not ten; and each call knows what the calls before it wrote. The idea is the group commit of
databases (D. J. DeWitt et al., "Implementation Techniques for Main Memory Database Systems", SIGMOD 1984).

In a thread the caller itself does the work. In an event loop a task does it: then a caller that is cancelled does not
stop the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from es_simhash.contract import Request
from es_simhash.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from es_simhash.contract import Flow


@dataclass(eq=False)
class Call:
    """One call that waits, and then its result or its error."""

    argument: Any
    result: Any = None
    error: Exception | None = None
    done: bool = False


class Work(Protocol):
    """What is done for several calls at once."""

    def count_together(self, waiting: Iterable[Any]) -> int:
        """Return how many of the first calls can be done together, one at least.

        :param waiting: their arguments.
        """

    def perform(self, arguments: Sequence[Any]) -> Flow[Sequence[Any]]:
        """Return the result of each call."""


@dataclass(frozen=True)
class Together(Request["list[Any]"]):
    """Do these calls, together with those of others. The client answers this request, not the store.

    It replies with a result or an error for each. An error is not raised, because it was retried already.
    """

    work: Work
    arguments: Sequence[Any]


class GroupCommit:
    """Answers Together in a program with threads.

    :param run: performs a flow.
    """

    def __init__(self, run: Callable[[Flow[Any]], Any]) -> None:
        self._run = run
        self._waiting: deque[Call] = deque()
        self._changed = threading.Condition()
        self._at_work = False

    def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        calls = [Call(argument) for argument in request.arguments]
        with self._changed:
            self._waiting.extend(calls)
        while (some := self._next(calls, request.work)) is not None:
            try:
                with _Finished(some) as finished:
                    finished.results = self._run(request.work.perform([call.argument for call in some]))
            finally:
                with self._changed:
                    self._at_work = False
                    self._changed.notify_all()
        return replies(calls)

    def _next(self, calls: Sequence[Call], work: Work) -> list[Call] | None:
        """Wait until these calls are done, and return None; or until nobody is at work, and return what is to do."""
        with self._changed:
            while not all(call.done for call in calls):
                if not self._at_work:
                    self._at_work = True
                    return take(self._waiting, work)
                self._changed.wait()
        return None


class AsyncGroupCommit:
    """Answers Together in an event loop.

    :param run: performs a flow.
    """

    def __init__(self, run: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._run = run
        self._waiting: deque[Call] = deque()
        self._at_work: asyncio.Task[None] | None = None

    async def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        calls = [Call(argument) for argument in request.arguments]
        self._waiting.extend(calls)
        while not all(call.done for call in calls):
            if self._at_work is None or self._at_work.done():
                self._at_work = asyncio.create_task(self._work(request.work))
            await asyncio.shield(self._at_work)
        return replies(calls)

    async def finish(self) -> None:
        """Wait until no task is at work."""
        if self._at_work is not None and not self._at_work.done():
            await asyncio.shield(self._at_work)

    async def _work(self, work: Work) -> None:
        with _Finished(take(self._waiting, work)) as finished:
            finished.results = await self._run(work.perform([call.argument for call in finished.calls]))


class _Finished:
    """Gives calls their results at the end of a block, or its error. Only an interruption is raised."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.results: Sequence[Any] = ()

    def __enter__(self) -> _Finished:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        for number, call in enumerate(self.calls):
            if error is None:
                call.result = self.results[number]
            elif isinstance(error, Exception):
                call.error = error
            else:
                call.error = StoreError(
                    f"another call that did the work for this one was stopped: {error!r}; repeat it"
                )
            call.done = True
        return isinstance(error, Exception)


def take(waiting: deque[Call], work: Work) -> list[Call]:
    """Remove and return the calls at the front that can be done together; none if none wait."""
    count = work.count_together(call.argument for call in waiting) if waiting else 0
    return [waiting.popleft() for _ in range(count)]


def replies(calls: Sequence[Call]) -> list[Any]:
    """Return the result or the error of each call."""
    return [call.result if call.error is None else call.error for call in calls]
