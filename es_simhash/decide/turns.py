"""Whose turn is it? Calls that write documents go together. One that removes documents, or decides what was linked to
changed or removed ones again, goes alone.

So nothing changes while a call decides stored documents again, and calls that only write do not wait for each other.
Calls go in the order in which they came.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.errors import StoreUnavailable
from es_simhash.retries import DEADLINE, end_after

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator


class Turns:
    """The turns of the calls of one program.

    :param lock: is held for a moment only, and notified when a turn ends.
    """

    def __init__(self, lock: threading.Condition) -> None:
        self._lock = lock
        self._queue: list[object] = []
        self._together = 0
        self._alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Go beside other calls that write documents."""
        with self._lock:
            self._wait_in_queue(lambda: not self._alone)
            self._together += 1
        try:
            yield
        finally:
            with self._lock:
                self._together -= 1
                self._lock.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until all other turns have ended, and let no other one begin before this one ends."""
        with self._lock:
            self._wait_in_queue(lambda: not self._alone and not self._together)
            self._alone = True
        try:
            yield
        finally:
            with self._lock:
                self._alone = False
                self._lock.notify_all()

    def _wait_in_queue(self, is_free: Callable[[], bool]) -> None:
        place = object()
        self._queue.append(place)
        try:
            wait_for(self._lock, lambda: self._queue[0] is place and is_free())
        finally:
            self._queue.remove(place)
            self._lock.notify_all()


def wait_for(lock: threading.Condition, is_done: Callable[[], bool]) -> None:
    """Wait until other calls have done something. The caller holds the lock.

    :raises StoreUnavailable: if they have not until the deadline of this call.
    """
    if not lock.wait_for(is_done, end_after(DEADLINE) - time.monotonic()):
        raise StoreUnavailable("other calls of this program were still writing at the deadline: try again")
