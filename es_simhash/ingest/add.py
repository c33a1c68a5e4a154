"""The verb add. Calls that wait for their turn go together: the first of them takes the documents of all as one batch.

So many threads that add a document each need few requests, and of equal texts one is new, as in any batch.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from es_simhash.decide.run import Run
from es_simhash.errors import StoreUnavailable
from es_simhash.ingest.batches import BATCH, parts_by_id
from es_simhash.retries import uncancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from es_simhash.decide.outcome import Document, Outcome
    from es_simhash.decide.run import Options
    from es_simhash.decide.turn import Turn


@dataclass(eq=False)
class _Call:
    """A call of ``add``.

    :param items: Documents, and the Outcomes of those that were rejected.
    :param outcomes: of the items, once they are taken.
    """

    items: Sequence[Document | Outcome]
    options: Options
    outcomes: Future[list[Outcome]] = field(default_factory=Future)


class Adds:
    """The calls of ``add`` of all threads of a program."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._waiting: list[_Call] = []
        self._lock = threading.Lock()

    def add(self, items: Sequence[Document | Outcome], options: Options) -> list[Outcome]:
        """Decide and write documents in their order, and return their Outcomes.

        :param items: Documents, and the Outcomes of those that were rejected.
        :raises StoreUnavailable: if other calls have the turn until the deadline of this one.
        """
        own = _Call(items, options)
        with self._lock:
            self._waiting.append(own)
        try:
            with self.turn.take():
                if not own.outcomes.done():
                    self._add_all(own)
        except StoreUnavailable:
            if not own.outcomes.done():
                raise
        finally:
            with self._lock:
                self._waiting = [call for call in self._waiting if call is not own]
        return own.outcomes.result()

    def _add_all(self, own: _Call) -> None:
        """Add the documents of a call, and of those that wait with equal options.

        If the store does not answer until the deadline of this call, the others still have time: each begins anew when
        it has its turn.
        """
        calls, count = [own], len(own.items)
        with self._lock:
            for call in self._waiting:
                is_free = call is not own and not call.outcomes.done()
                if is_free and call.options == own.options and count + len(call.items) <= BATCH:
                    calls.append(call)
                    count += len(call.items)
        items, run = [item for call in calls for item in call.items], Run(self.turn, own.options)
        try:
            outcomes = chain.from_iterable(uncancelled(lambda: list(map(run.take, parts_by_id(items)))))
        except Exception as error:
            for call in [own] if isinstance(error, StoreUnavailable) else calls:
                call.outcomes.set_exception(error)
            return
        for call in calls:
            call.outcomes.set_result(list(islice(outcomes, len(call.items))))
