"""How a store was set up. A program asks at most once a second, and goes on only under the same set-up."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from es_simhash.errors import StoreChanged
from es_simhash.retries import held

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.rows import Description
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")
T = TypeVar("T")

KNOWN = 1.0
"""Seconds for which what the store said is known."""


class SetUp:
    """Knows how a store was set up."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.known: Description | None = None
        """What it said before. Another store at its address goes on only if it was set up in the same way."""
        self._until = 0.0
        self._lock = threading.RLock()

    def read(self) -> Description:
        """Return how the store was set up, as it said within the last second. A warning tells of another store, once.

        :raises NotSetUp: if it was not set up.
        :raises StoreChanged: if it is another store, and was set up in another way.
        :raises StoreUnavailable: if other calls ask the store until the deadline of this one.
        """
        with held(self._lock, "were still asking how the store was set up"):
            if self.known is None or time.monotonic() >= self._until:
                former, self.known = self.known, self._store.describe()
                self._until = time.monotonic() + KNOWN
                if former is not None and former.instance != self.known.instance:
                    _log.warning(
                        "%s is another store now, which was set up in the same way. What this program wrote before is "
                        "not there",
                        self._store.name,
                    )
            return self.known

    def forget(self) -> None:
        """Ask the store again at the next call."""
        self._until = 0.0

    def going_on(self, call: Callable[[], T]) -> T:
        """Return what a call returns. If it meets another store, it is repeated there.

        :param call: it reads how the store was set up, and may be repeated.
        :raises StoreChanged: if the other store was set up in another way.
        """
        try:
            return call()
        except StoreChanged:
            self.forget()
            return call()
