"""What all calls of a program share that decide and write: the store, the rule, and whose turn it is."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from es_simhash.decide.texts import Texts
from es_simhash.machine import free_memory
from es_simhash.retries import held
from es_simhash.store.fresh import fresh
from es_simhash.store.held import HeldStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.store.protocol import Store

_log = logging.getLogger("es_simhash")

SHARE = 20
"""A store is held in memory if it has at most so many times the documents that the call decides."""


class Turn:
    """One call at a time decides and writes. Meanwhile others check and normalise their documents.

    One object serves all threads of a program, by one rule, for one store.

    :param check: raises if another store is at its address now.
    """

    def __init__(self, store: Store, rule: ResolvedRule, check: Callable[[], object] = lambda: None) -> None:
        self.rule, self.texts = rule, Texts(store, rule)
        self._plain, self._found_by = store, {"keys": rule.by == "keys", "fingerprints": rule.by == "fingerprint"}
        self.store = fresh(store, **self._found_by)
        """The store, whose search finds at once what this program wrote. Only the call that has the turn uses it."""
        self._holding = self._room = 0
        self._lock = threading.RLock()
        self._clock, self._check = 0, check

    @contextmanager
    def take(self) -> Iterator[None]:
        """Let no other call decide or write in this block.

        :raises StoreUnavailable: if other calls have the turn until the deadline of this one.
        :raises StoreChanged: if it is another store than before.
        """
        with held(self._lock, "were still writing"):
            self._check()
            if isinstance(self.store, HeldStore) and len(self.store) > self._room:
                _log.warning(
                    "%s: more than %s documents do not fit into a quarter of the free memory: they are searched from "
                    "now on, which is slower",
                    self.store.name,
                    f"{self._room:,}",
                )
                self.store = fresh(self._plain, **self._found_by)
            yield

    def tick(self) -> int:
        """Return the order for now: after all that this process has decided."""
        self._clock = max(self._clock + 1, time.time_ns() // 1000)
        return self._clock

    @property
    def room(self) -> int:
        """How many documents fit into a quarter of the free memory. None of a store that is in memory already."""
        return 0 if self._plain.in_memory else free_memory() // (4 * self.rule.bytes_of_row)

    def pays(self, decided: int, stored: int) -> bool:
        """Return whether to hold the store in memory: it fits, and the call decides enough of it."""
        return decided > 0 and stored <= min(self.room, SHARE * decided)

    @contextmanager
    def holding(self, room: int) -> Iterator[None]:
        """Hold all documents of the store in memory in this block, so that none is searched for."""
        with self.take():
            self._holding += 1
            if self._holding == 1:
                self.store, self._room = HeldStore(self._plain, **self._found_by), room
        try:
            yield
        finally:
            with self._lock:
                self._holding -= 1
                if not self._holding:
                    self.store = fresh(self._plain, **self._found_by)
