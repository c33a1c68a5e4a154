"""Group commit: calls that come while others are at work wait, and then go to the store together.

The work says which calls can be done together, and which groups at the same time. A call that finds that a group can
begin does the work for the group. So ten threads that add a document each need fewer than ten look-ups and writes, and
each call knows what the calls before it wrote. The idea is the group commit of databases (D. J. DeWitt et al.,
"Implementation Techniques for Main Memory Database Systems", SIGMOD 1984).

In a thread the caller itself does the work. In an event loop a task does it: then a caller that is cancelled does not
stop the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
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

    :param count: returns how many of the first calls can be done together now; 0 if they must wait for a group that is
        at work. Its parameters are the arguments of the calls that wait, and those of each group that is at work. If
        there is no such group, the count is not 0.
    :param perform: returns the result of each call.
    """

    count: Callable[[Iterable[Any], Sequence[Sequence[Any]]], int]
    perform: Callable[[Sequence[Any]], Flow[Sequence[Any]]]


@dataclass(frozen=True)
class Together(Request["list[Any]"]):
    """Do these calls, together with those of others. The client answers this request, not the store.

    It replies with a result or an error for each. An error is not raised, because it was retried already.
    """

    work: Work
    arguments: Sequence[Any]


class _Queue:
    """The calls that wait, and the groups of calls that are at work."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._waiting: deque[Call] = deque()
        self._at_work: list[list[Call]] = []

    def wait(self, request: Together) -> list[Call]:
        """Return the calls of a request. They wait from now on."""
        calls = [Call(argument) for argument in request.arguments]
        self._waiting.extend(calls)
        return calls

    def drop(self, calls: Sequence[Call]) -> None:
        """Take those of the calls that still wait out of the queue: their caller was stopped."""
        dropped = set(calls)
        self._waiting = deque(call for call in self._waiting if call not in dropped)

    def begin(self) -> list[Call]:
        """Return the next group. It is at work from now on. The group is empty if none can begin."""
        if not self._waiting:
            return []
        at_work = [[call.argument for call in group] for group in self._at_work]
        count = self._work.count((call.argument for call in self._waiting), at_work)
        group = [self._waiting.popleft() for _ in range(count)]
        if group:
            self._at_work.append(group)
        return group

    def end(self, group: list[Call]) -> None:
        """Take a group from those that are at work."""
        self._at_work = [other for other in self._at_work if other is not group]


class GroupCommit:
    """Answers Together in a program with threads.

    :param run: performs a flow.
    """

    def __init__(self, run: Callable[[Flow[Any]], Any]) -> None:
        self._run = run
        self._queues: dict[Work, _Queue] = {}
        self._changed = threading.Condition()

    def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        work = request.work
        with self._changed:
            queue = self._queues.setdefault(work, _Queue(work))
            calls = queue.wait(request)
        try:
            while group := self._next(calls, queue):
                try:
                    with _Finished(group) as finished:
                        finished.results = self._run(work.perform([call.argument for call in group]))
                finally:
                    with self._changed:
                        queue.end(group)
                        self._changed.notify_all()
        except BaseException:
            with self._changed:
                queue.drop(calls)
            raise
        return replies(calls)

    def _next(self, calls: Sequence[Call], queue: _Queue) -> list[Call]:
        """Wait until these calls are done, and return nothing; or until a group can begin, and return that."""
        with self._changed:
            while not all(call.done for call in calls):
                if group := queue.begin():
                    return group
                self._changed.wait()
        return []


class AsyncGroupCommit:
    """Answers Together in an event loop.

    :param run: performs a flow.
    """

    def __init__(self, run: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._run = run
        self._queues: dict[Work, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, request: Together) -> list[Any]:
        """Return the reply to Together."""
        queue = self._queues.setdefault(request.work, _Queue(request.work))
        calls = queue.wait(request)
        try:
            while not all(call.done for call in calls):
                if group := queue.begin():
                    task = asyncio.create_task(self._perform(request.work, queue, group))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:  # cancelled
            queue.drop(calls)
            raise
        return replies(calls)

    async def finish(self) -> None:
        """Wait until no task is at work."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _perform(self, work: Work, queue: _Queue, group: list[Call]) -> None:
        try:
            with _Finished(group) as finished:
                finished.results = await self._run(work.perform([call.argument for call in group]))
        finally:
            queue.end(group)


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


def replies(calls: Sequence[Call]) -> list[Any]:
    """Return the result or the error of each call."""
    return [call.result if call.error is None else call.error for call in calls]
