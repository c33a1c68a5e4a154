"""Group commit: calls that come while others are at work wait, and then go to the store together.

The work says which calls can be done together, and which groups at the same time. A call that finds that a group can
begin does the work for the group, in its own thread. So ten threads that add a document each need fewer than ten
look-ups and writes, and each call knows what the calls before it wrote. The idea is the group commit of databases
(D. J. DeWitt et al., "Implementation Techniques for Main Memory Database Systems", SIGMOD 1984).
"""

from __future__ import annotations

import threading
from collections import deque
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from es_simhash.errors import SimhashError, StoreError
from es_simhash.retries import Call, Cancelled, check_not_cancelled, running_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

A = TypeVar("A")
R = TypeVar("R")


@dataclass(eq=False)
class _Waiting(Generic[A, R]):
    """One argument that waits for its turn, and then its result or its error.

    :param call: that it belongs to.
    """

    argument: A
    call: Call | None
    result: R | None = None
    error: Exception | None = None
    done: bool = False


class GroupCommit(Generic[A, R]):
    """Does the work of several calls together.

    :param count: returns how many of the first arguments can be done together now; 0 if they must wait for a group that
        is at work. Its parameters are the arguments that wait, and those of each group that is at work. If there is no
        such group, the count is not 0.
    :param perform: returns the result for each argument of a group.
    """

    def __init__(
        self,
        count: Callable[[Iterable[A], Sequence[Sequence[A]]], int],
        perform: Callable[[Sequence[A]], Sequence[R]],
    ) -> None:
        self._count = count
        self._perform = perform
        self._waiting: deque[_Waiting[A, R]] = deque()
        self._at_work: list[list[_Waiting[A, R]]] = []
        self._changed = threading.Condition()

    def do(self, arguments: Sequence[A]) -> list[R]:
        """Return the result for each argument. The first error is raised; calls that share it get a copy each.

        :raises Cancelled: if the call is cancelled. What no group has begun is dropped. A group that has begun with
            arguments of other calls goes on to its end.
        """
        call = running_call()
        mine = [_Waiting[A, R](argument, call) for argument in arguments]
        with self._changed:
            self._waiting.extend(mine)
        try:
            while group := self._next_group(mine):
                self._work(group, call)
        except BaseException:
            with self._changed:
                self._waiting = deque(each for each in self._waiting if each not in mine)
            raise
        for each in mine:
            if isinstance(each.error, SimhashError):
                raise copy(each.error) from each.error
            if each.error is not None:
                raise each.error
        return [cast("R", each.result) for each in mine]

    def _next_group(self, mine: Sequence[_Waiting[A, R]]) -> list[_Waiting[A, R]]:
        """Wait until these arguments are done, and return nothing; or until a group can begin, and return that."""
        with self._changed:
            while not all(each.done for each in mine):
                check_not_cancelled()
                if group := self._begin():
                    return group
                self._changed.wait()
        return []

    def _begin(self) -> list[_Waiting[A, R]]:
        """Return the next group, which is at work from now on; nothing if none can begin.

        Arguments of cancelled calls are dropped.
        """
        self._waiting = deque(each for each in self._waiting if each.call is None or not each.call.cancelled)
        if not self._waiting:
            return []
        at_work = [[each.argument for each in group] for group in self._at_work]
        count = self._count((each.argument for each in self._waiting), at_work)
        group = [self._waiting.popleft() for _ in range(count)]
        if group:
            self._at_work.append(group)
        return group

    def _work(self, group: list[_Waiting[A, R]], call: Call | None) -> None:
        """Do the work of a group.

        It ends early if the call is cancelled, unless the group has arguments of other calls.
        """
        shared = any(each.call is not call for each in group)
        try:
            arguments = [each.argument for each in group]
            work = partial(self._perform, arguments)
            results = Call().do(work) if shared else work()  # shared work goes on if this call is cancelled
            for each, result in zip(group, results, strict=True):
                each.result = result
        except Exception as error:
            for each in group:
                each.error = error
        except BaseException as stop:
            for each in group:
                each.error = StoreError(f"another call that did the work for this one was stopped: {stop!r}; repeat it")
            if not isinstance(stop, Cancelled) or not shared:
                raise
        finally:
            with self._changed:
                for each in group:
                    each.done = True
                self._at_work.remove(group)
                self._changed.notify_all()
