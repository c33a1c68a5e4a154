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
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, eq=False)
class Work:
    """What is done for several calls at once.

    :param at_once: how many groups of calls may be at work at the same time.
    :param count: returns how many of the first calls can be done together, one at least. Its parameter is their
        arguments.
    :param perform: returns the result of each call.
    """

    at_once: int
    count: Callable[[Iterable[Any]], int]
    perform: Callable[[Sequence[Any]], Flow[Sequence[Any]]]


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
        self._waiting: defaultdict[Work, deque[Call]] = defaultdict(deque)
        self._at_work: Counter[Work] = Counter()
        self._changed = threading.Condition()

    def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        work = request.work
        calls = [Call(argument) for argument in request.arguments]
        with self._changed:
            self._waiting[work].extend(calls)
        while (some := self._next(calls, work)) is not None:
            try:
                with _Finished(some) as finished:
                    finished.results = self._run(work.perform([call.argument for call in some]))
            finally:
                with self._changed:
                    self._at_work[work] -= 1
                    self._changed.notify_all()
        return replies(calls)

    def _next(self, calls: Sequence[Call], work: Work) -> list[Call] | None:
        """Wait until these calls are done, and return None; or until there is work to do, and return that."""
        with self._changed:
            while not all(call.done for call in calls):
                if self._waiting[work] and self._at_work[work] < work.at_once:
                    self._at_work[work] += 1
                    return take(self._waiting[work], work)
                self._changed.wait()
        return None


class AsyncGroupCommit:
    """Answers Together in an event loop.

    :param run: performs a flow.
    """

    def __init__(self, run: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._run = run
        self._waiting: defaultdict[Work, deque[Call]] = defaultdict(deque)
        self._at_work: defaultdict[Work, set[asyncio.Task[None]]] = defaultdict(set)

    async def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        work = request.work
        calls = [Call(argument) for argument in request.arguments]
        self._waiting[work].extend(calls)
        at_work = self._at_work[work]
        while not all(call.done for call in calls):
            at_work -= {task for task in at_work if task.done()}
            if self._waiting[work] and len(at_work) < work.at_once:
                at_work.add(asyncio.create_task(self._work(work)))
            await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED)
        return replies(calls)

    async def finish(self) -> None:
        """Wait until no task is at work."""
        for tasks in self._at_work.values():
            if tasks:
                await asyncio.wait(tasks)

    async def _work(self, work: Work) -> None:
        with _Finished(take(self._waiting[work], work)) as finished:
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
    count = work.count(call.argument for call in waiting) if waiting else 0
    return [waiting.popleft() for _ in range(count)]


def replies(calls: Sequence[Call]) -> list[Any]:
    """Return the result or the error of each call."""
    return [call.result if call.error is None else call.error for call in calls]
