"""What this process has decided, and search may not find yet.

| a row is | from | to |
|---|---|---|
| undecided | its batch is looked at | it is decided |
| decided | now other documents can be copies of it | the store has answered |
| written | ``read`` finds it | a refresh, after which search finds it too |

A row here replaces any hit with its id, and an id that was removed hides any hit. So batches, a look-up before the
batch in front is written, and the lag of search are one case.

After a refresh all rows are forgotten. A look-up that began before may come without what the refresh shows, so it is
made again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from es_simhash.near.memory import Memory
from es_simhash.rows import MOST_HITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.decide.choose import Asker
    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Hits, Row
    from es_simhash.store.protocol import Filter


class Pending:
    """The rows that this process has decided. Who changes them has the turn (``Decider.turn``).

    :param rule: says whether rows are found by keys or by fingerprints.
    """

    def __init__(self, rule: ResolvedRule) -> None:
        self._new_memory = partial(Memory, keys=rule.by == "keys", fingerprints=rule.by == "fingerprint")
        self.memory = self._new_memory()
        """The rows, as they were decided."""
        self._undecided: dict[str, tuple[int, Asker]] = {}
        self.unwritten: dict[str, Asker] = {}
        """By id, the documents that were decided, and are not written."""
        self.removed: set[str] = set()
        """Ids of documents that are hidden, because they are removed."""
        self.is_whole = False
        """It holds all documents of the store, so nothing needs to be searched."""
        self.epoch = 0
        """How often rows were forgotten. A look-up of another epoch does not count."""

    def __contains__(self, id: str) -> bool:
        """Return whether the document was decided or removed here: the store's answer about it may be out of date."""
        return self.memory.row(id) is not None or id in self.removed

    # --- a row from its batch to the store --------------------------------------------------------------------------

    def enter(self, askers: Sequence[Asker]) -> None:
        """Enter documents that are undecided. Until they are decided, their former rows count."""
        positions = self.memory.add([asker.row for asker in askers], [asker.keys for asker in askers])
        for position, asker in zip(positions, askers, strict=True):
            self._undecided[asker.row.id] = position, asker

    def decide(self, row: Row) -> None:
        """Say what an undecided document is."""
        position, self.unwritten[row.id] = self._undecided.pop(row.id)
        self.removed.discard(row.id)
        self.memory.admit(position, row)

    def enter_stored(self, rows: Sequence[Row], keys: Sequence[Sequence[int]]) -> None:
        """Enter documents as they are stored."""
        self.removed.difference_update(row.id for row in rows)
        self.memory.enter(rows, keys)

    def write(self, row: Row) -> None:
        """Say that the store has taken a document, with its new version."""
        del self.unwritten[row.id]
        self.memory.replace(row)

    def drop(self, id: str) -> None:
        """Forget a document: what the store has counts."""
        self.unwritten.pop(id, None)
        self.memory.drop(id)

    def drop_undecided(self) -> None:
        """Forget the documents that are not decided."""
        for position, _ in self._undecided.values():
            self.memory.cancel(position)
        self._undecided = {}

    def drop_unwritten(self) -> set[str]:
        """Forget the documents that were decided and are not written, and return their ids."""
        dropped = set(self.unwritten)
        for id in dropped:
            self.drop(id)
        return dropped

    def remove(self, id: str) -> None:
        """Hide a document that is removed."""
        self.drop(id)
        self.removed.add(id)

    def end_whole(self) -> None:
        """Say that it does not hold all documents any more. A look-up that relied on it is made again."""
        self.epoch += self.is_whole
        self.is_whole = False

    def forget(self) -> None:
        """Forget all rows, because the store has been refreshed."""
        self.epoch += 1
        self.is_whole = False
        self.memory, self.removed = self._new_memory(), set()

    # --- search -----------------------------------------------------------------------------------------------------

    def search(self, askers: Sequence[Asker], filter: Filter | None) -> list[Hits]:
        """Return which of the rows may be near, for each document: those before it.

        :param filter: of the heads. Without a filter, a copy of a head needs no other candidates. With a filter, many
            rows are returned, because most of them may not match it.
        """
        before = [asker.row.order for asker in askers]
        if filter is not None:
            probes = [replace(asker.probe, most=MOST_HITS) for asker in askers]
            return self.memory.search(probes, heads=False, before=before)
        asking = frozenset(asker.row.id for asker in askers)
        return self.memory.search([asker.probe for asker in askers], heads=True, before=before, asking=asking)

    def as_decided(self, hits: Iterable[Row]) -> Iterator[Row]:
        """Yield rows that were found here as they are decided now: none whose text is undecided, or another one now."""
        for hit in hits:
            row = self.memory.row(hit.id)
            if row is not None and row.digest == hit.digest:
                yield row
