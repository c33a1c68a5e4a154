"""What this process has decided, and search may not find yet.

| a row is | from | to |
|---|---|---|
| undecided | its batch is looked at | it is decided |
| decided | now other documents can be copies of it | the store has answered |
| written | ``read`` finds it | a refresh, after which search finds it too |

A row here replaces any hit with its id, and an id that was removed hides any hit. So batches, a look-up before the
batch in front is written, and the lag of search are one case.

A look-up that began before a refresh may come without what the refresh shows. So a row stays until all look-ups that
were under way at that refresh have ended.
"""

from __future__ import annotations

import threading
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.near.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.decide.choose import Asker
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.similarity.confirm import TextFeatures
    from es_simhash.store.protocol import Filter
    from es_simhash.store.types import Hits, Row


@dataclass(slots=True)
class State:
    """What is known of a row beside it.

    :param features: of its text, until it is written.
    :param source: the document as JSON, until it is written.
    :param keys: of its text, 8 bytes each; none where rows are not found by keys.
    :param epoch: of the write. A refresh begins the next epoch.
    """

    features: TextFeatures | None
    source: str | None
    keys: bytes
    epoch: int


class Pending:
    """The rows that this process has decided. Who changes them has the turn (``Decider.turn``).

    :param rule: says whether rows are found by keys or by fingerprints.
    """

    def __init__(self, rule: ResolvedRule) -> None:
        self._rule = rule
        self._memory = self._new_memory()
        self._states: dict[str, State] = {}
        self._undecided: dict[str, tuple[int, State]] = {}
        self._unwritten: set[str] = set()
        self._removed: dict[str, int] = {}
        self._epoch = 0
        self._look_ups: list[int] = []
        self._lock = threading.Lock()
        """Of ``_look_ups``: a look-up waits for no turn."""
        self.is_whole = False
        """It holds all documents of the store, so nothing needs to be searched."""

    def __len__(self) -> int:
        return len(self._memory)

    def __contains__(self, id: str) -> bool:
        """Return whether a hit of the store with this id does not count: here it is decided or removed."""
        return id in self._states or id in self._removed

    def row(self, id: str) -> Row | None:
        """Return the row with an id, as it was decided."""
        return self._memory.row(id)

    def features(self, row: Row) -> TextFeatures | None:
        """Return the features of a text that is not written yet."""
        state = self._states.get(row.id)
        return None if state is None else state.features

    def source(self, id: str) -> str | None:
        """Return a document that is not written yet, as JSON."""
        state = self._states.get(id)
        return None if state is None else state.source

    def is_unwritten(self, id: str) -> bool:
        """Return whether a document was decided, and is not written."""
        return id in self._unwritten

    def is_removed(self, id: str) -> bool:
        """Return whether a document is hidden, because it is removed."""
        return id in self._removed

    # --- a row from its batch to the store --------------------------------------------------------------------------

    def enter(self, askers: Sequence[Asker]) -> None:
        """Enter documents that are undecided. Until they are decided, their former rows count."""
        positions = self._memory.add([asker.row for asker in askers], [asker.key_values for asker in askers])
        for position, asker in zip(positions, askers, strict=True):
            state = State(asker.features, asker.source, self._packed(asker.key_values), self._epoch)
            self._undecided[asker.row.id] = position, state

    def decide(self, row: Row) -> None:
        """Say what an undecided document is."""
        position, self._states[row.id] = self._undecided.pop(row.id)
        self._unwritten.add(row.id)
        self._removed.pop(row.id, None)
        self._memory.admit(position, row)

    def enter_stored(self, rows: Sequence[Row], keys: Sequence[tuple[int, ...]]) -> None:
        """Enter documents as they are stored."""
        for row, values in zip(rows, keys, strict=True):
            self._states[row.id] = State(None, None, self._packed(values), self._epoch)
            self._removed.pop(row.id, None)
        self._memory.enter(rows, keys)

    def write(self, id: str, version: Any) -> None:
        """Say that the store has taken a document."""
        state = self._states[id]
        row = self._memory.row(id)
        assert row is not None
        self._memory.replace(row._replace(version=version))
        state.features, state.source = None, None
        state.epoch = self._epoch
        self._unwritten.discard(id)

    def drop(self, id: str) -> None:
        """Forget a document: what the store has counts."""
        if self._states.pop(id, None) is not None:
            self._memory.drop(id)

    def drop_unwritten(self) -> set[str]:
        """Forget the documents that are not written, and return the ids of those that were decided."""
        for position, _ in self._undecided.values():
            self._memory.cancel(position)
        dropped = self._unwritten
        for id in dropped:
            self.drop(id)
        self._undecided, self._unwritten = {}, set()
        return dropped

    def remove(self, id: str) -> None:
        """Hide a document that is removed."""
        self.drop(id)
        self._removed[id] = self._epoch

    def restore(self, id: str) -> None:
        """Show a document again that was not removed after all."""
        self._removed.pop(id, None)

    # --- search -----------------------------------------------------------------------------------------------------

    def search(self, askers: Sequence[Asker], filter: Filter | None) -> list[Hits]:
        """Return which of the rows may be near, for each document: those before it.

        :param filter: of the heads. Without one, a copy of a head needs no other candidates.
        """
        before = [asker.row.order for asker in askers]
        probes = [asker.probe for asker in askers]
        asking = frozenset(asker.row.id for asker in askers) if filter is None else None
        return self._memory.search(probes, heads=True, before=before, asking=asking)

    def members(self, heads: Iterable[str]) -> list[Row]:
        """Return the rows that are copies of one of these heads."""
        return self._memory.members(heads)

    # --- refresh ----------------------------------------------------------------------------------------------------

    @contextmanager
    def look_up(self) -> Iterator[None]:
        """While the store is searched: what is written meanwhile stays."""
        with self._lock:
            epoch = self._epoch  # the search may miss the writes of this epoch
            self._look_ups.append(epoch)
        try:
            yield
        finally:
            with self._lock:
                self._look_ups.remove(epoch)

    def begin_epoch(self) -> None:
        """Forget what a refresh has made visible, as far as no look-up that is under way may miss it."""
        with self._lock:
            self._epoch += 1
            oldest = min([*self._look_ups, self._epoch])
        states = {id: state for id, state in self._states.items() if state.epoch >= oldest}
        self._removed = {id: removed for id, removed in self._removed.items() if removed >= oldest}
        if len(states) < len(self._states):
            rows, memory = [row for row in self._memory.rows() if row.id in states], self._new_memory()
            memory.enter(rows, [array("Q", states[row.id].keys) for row in rows])
            self._states, self._memory = states, memory

    def as_decided(self, hits: Iterable[Row]) -> Iterator[Row]:
        """Yield rows that were found here as they are decided now: none whose text is undecided, or another one now."""
        for hit in hits:
            row = self._memory.row(hit.id)
            if row is not None and row.digest == hit.digest:
                yield row

    def _packed(self, keys: Sequence[int]) -> bytes:
        return array("Q", keys).tobytes() if self._rule.by == "keys" else b""

    def _new_memory(self) -> Memory:
        return Memory(keys=self._rule.by == "keys", fingerprints=self._rule.by == "fingerprint")
