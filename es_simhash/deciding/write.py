"""Write documents, and send again those that the store is too busy for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from es_simhash.contract import Entry, Written
from es_simhash.errors import StoreError
from es_simhash.retries import Waits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.outcome import Document

REFUSED_ALIKE = 20
"""If the store refuses the first documents of a run for one reason, and writes none, the run ends after this many."""


def write_all(write: Callable[[Collection[str]], Written], ids: Collection[str], deadline: float) -> Written:
    """Write documents, and again those that the store is too busy for, until a deadline.

    :param write: writes the documents with some of the ids.
    :param deadline: in seconds.
    :returns: what all the writes did. ``busy`` are the ids for which the store was too busy to the end.
    """
    waits = Waits(deadline)
    written = write(ids)
    refused, conflicts = dict(written.refused), written.conflicts
    while written.busy and waits.wait():
        written = write(written.busy)
        refused |= written.refused
        conflicts |= written.conflicts
    return Written(refused, written.searchable, written.busy, conflicts)


class DocumentWriter:
    """Writes the documents of one run, and knows whether search finds them.

    :param bits: width of the fingerprints.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param stored: our fields are written into stored documents; else whole documents are written.
    :param ends_if_refused: the run ends if the store refuses its first documents for one reason.
    """

    def __init__(self, store: Store, bits: int, deadline: float, *, stored: bool, ends_if_refused: bool) -> None:
        self.pipeline: str | None = None
        """Name of the ingest pipeline of the server that whole documents go through; None for the index's own."""
        self.searchable = False
        """Search finds at once what is written."""
        self.writes = 0
        """How many documents were written since the last refresh."""
        self.unrefreshed = False
        """Search may not find all that was written."""
        self._store = store
        self._bits = bits
        self._stored = stored
        self._deadline = deadline
        self._ends_if_refused = ends_if_refused
        self._wrote_any = False
        self._refused = 0
        self._reasons: set[str] = set()

    def write(self, rows: Sequence[Row], documents: Mapping[str, Document]) -> tuple[dict[str, str], frozenset[str]]:
        """Write Rows, and send again those that the store is too busy for.

        :param documents: by id.
        :returns: the reason for each id that the store refuses, and the conflicts.
        :raises StoreError: if the store refuses everything.
        """
        if not rows:
            return {}, frozenset()

        write = partial(self._write_once, rows, documents)
        written = write_all(write, {row.id for row in rows}, self._deadline)
        reason = f"the server was too busy for {self._deadline:g} s: ingest it again"
        return {**written.refused, **dict.fromkeys(written.busy, reason)}, written.conflicts

    def _write_once(self, every: Sequence[Row], documents: Mapping[str, Document], ids: Collection[str]) -> Written:
        rows = tuple(row for row in every if row.id in ids)
        if self._stored:
            reply = self._store.annotate(rows, self._bits)
        else:
            entries = tuple(Entry(row, documents[row.id].source) for row in rows)
            reply = self._store.write(entries, self._bits, self.pipeline)
        self.searchable = reply.searchable
        self.unrefreshed |= not reply.searchable
        written = len(rows) - len(reply.refused) - len(reply.busy) - len(reply.conflicts)
        self.writes += written
        if self._ends_if_refused:
            self._check_refused(reply, written)
        return reply

    def _check_refused(self, reply: Written, written: int) -> None:
        """Check that the store does not refuse every document, for example because of the mapping of its index.

        :param written: how many documents it has written now.
        :raises StoreError: if it refused REFUSED_ALIKE documents of the run for one reason, and wrote none.
        """
        if self._wrote_any or written > 0:
            self._wrote_any = True
            return
        self._refused += len(reply.refused)
        self._reasons.update(reply.refused.values())
        if self._refused >= REFUSED_ALIKE and len(self._reasons) == 1:
            raise StoreError(
                f"the first {self._refused} documents were refused for the same reason, so the run ends: "
                f"{next(iter(self._reasons))}: change the index or the documents, then repeat"
            )

    def refreshed(self) -> None:
        """Take note that search finds everything that was written."""
        self.unrefreshed = False
        self.writes = 0
