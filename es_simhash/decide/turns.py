"""Whose turn is it? Calls that write documents go together. One that removes documents, or decides what was linked to
changed or removed ones again, goes alone.

So nothing changes while a call decides stored documents again, and calls that only write do not wait for each other.
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
        self._together = 0
        self._alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Go beside other calls that write documents."""
        with self._lock:
            wait_for(self._lock, lambda: not self._alone)
            self._together += 1
        try:
            yield
        finally:
            with self._lock:
                self._together -= 1
                self._lock.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other turn begin, wait until all others have ended, and go."""
        with self._lock:
            wait_for(self._lock, lambda: not self._alone)
            self._alone = True
        try:
            with self._lock:
                wait_for(self._lock, lambda: not self._together)
            yield
        finally:
            with self._lock:
                self._alone = False
                self._lock.notify_all()


def wait_for(lock: threading.Condition, is_done: Callable[[], bool]) -> None:
    """Wait until other calls have done something. The caller holds the lock.

    :raises StoreUnavailable: if they have not until the deadline of this call.
    """
    if not lock.wait_for(is_done, end_after(DEADLINE) - time.monotonic()):
        raise StoreUnavailable("other calls of this program were still writing at the deadline: try again")
