"""Add documents one at a time: an ingest that goes on for as long as the program runs.

The rule for the original is that of an ingest, and so is the memory of what was written and search does not find yet.
Nothing is refreshed after a document. The store is refreshed before the next one

- when the memory reaches one of its limits (:class:`MemoryLimits`);
- when another verb of the program may have changed documents that are in the memory;
- after a failed request, because it is not known what the store wrote;
- when the field with the time changes, because the memory knows the former times.

After a refresh search finds everything, so the memory is empty again. It is never older than ``oldest`` seconds. So if
another program changes a document that was added, this is known after that time at the latest.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Probe
from es_simhash.deciding.candidates import LookedUp, candidates_query
from es_simhash.deciding.ingest import Ingest
from es_simhash.errors import StoreError, TooLarge
from es_simhash.retries import pause
from es_simhash.search.filters import matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.deciding.ingest import OnDuplicate
    from es_simhash.deciding.memory import Memory
    from es_simhash.deciding.outcome import Document, Outcome
    from es_simhash.deciding.rule import ResolvedRule

POLL = 0.1
"""Seconds between two questions whether search finds a document."""


@dataclass(frozen=True, kw_only=True)
class MemoryLimits:
    """The most that the memory holds. When it reaches one of these, a refresh empties it.

    :param documents: how many.
    :param characters: of documents as JSON, which are kept for the filters of later documents: at most 32 MB of Chinese
        text.
    :param oldest: age of its oldest entry, in seconds.
    """

    documents: int = 5_000
    characters: int = 16_000_000
    oldest: float = 10.0


MEMORY_LIMITS = MemoryLimits()


@dataclass(frozen=True)
class AddOptions:
    """How documents are added. Documents with equal options are added by one request.

    :param on_duplicate: ``index`` or ``skip``.
    :param filter: only documents that match it become originals.
    :param pipeline: name of the ingest pipeline of the server that the documents go through; None for the index's own.
    """

    rule: ResolvedRule
    on_duplicate: OnDuplicate
    filter: Mapping[str, Any] | None
    pipeline: str | None = None


@dataclass(frozen=True)
class Searched:
    """What search found for a document that it does not find itself.

    :param memory: of the Adder, before the search.
    :param rows: by id, the Rows that may be near it or near documents that were looked up together with it.
    :param left_out: how many documents were left out.
    """

    memory: Memory
    rows: Mapping[str, Row]
    left_out: int


class Adder:
    """Adds documents, a few at a time, and remembers what search does not find yet.

    Batches that do not depend on each other may be added at the same time: their documents are not near each other,
    and search has said all about them. Batches with other documents, and with other options, are added alone.

    :param options: of the first documents.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param limits: of the memory.
    """

    def __init__(self, store: Store, options: AddOptions, deadline: float, limits: MemoryLimits) -> None:
        self._limits = limits
        self._ingest = Ingest(store, options.rule, options.on_duplicate, options.filter, deadline, single=True)
        self._store = store
        self._options = options
        self._sources: dict[str, str] = {}
        self._characters = 0
        self._since: float | None = None
        self.outdated = False
        """Another verb may have changed or written documents since the last refresh."""

    @property
    def remembers(self) -> bool:
        """It wrote documents that search may not find yet."""
        return self._ingest.writer.unrefreshed

    def search(self, store: Store, documents: Sequence[Document], options: AddOptions) -> list[Searched | None]:
        """Ask search about documents, before it is their turn to be added. Other ones may be added meanwhile.

        :param store: asked without the lock of the writes.
        :returns: what search finds for each; None if that would be of no use.
        """
        # If search finds at once what is written, each write makes a search out of date.
        if self._ingest.writer.searchable or self.is_refresh_due(options):
            return [None] * len(documents)
        memory = self._ingest.memory
        query = candidates_query(documents, options.rule, options.filter, new=True)
        try:
            found = store.candidates(replace(query, ids=tuple(document.id for document in documents)))
        except TooLarge:  # perhaps because of one of them
            return [None] * len(documents)
        rows = {row.id: row for row in found.rows}
        left_out = found.left_out if options.rule.texts is not None else {}
        return [
            None if document.id in found.ids else Searched(memory, rows, left_out.get(index, 0))
            for index, document in enumerate(documents)
        ]

    def add(
        self, documents: Sequence[Document], options: AddOptions, searched: Sequence[Searched | None]
    ) -> list[Outcome | None]:
        """Add documents with different ids, and return their Outcomes.

        :param searched: of each document, from :meth:`search`.
        :returns: None for a document that another program wrote or removed since then. Add it again, without
            ``searched``.
        :raises StoreError: if the store fails for longer than the deadline. It may have written some of the documents.
        """
        ingest, done = self._ingest, False
        try:
            ingest.compare_clocks()
            if self.is_refresh_due(options):
                ingest.refresh()
                self.outdated = False
                self._forget()
            self._use(options)
            looked_up = self._from_search(documents, searched) or ingest.look_up(documents)
            decisions = ingest.decide(looked_up)
            memory = ingest.memory
            outcomes = ingest.write(looked_up, decisions)
            if ingest.memory is memory:
                self._remember(documents, outcomes)
            else:  # search finds everything
                self._forget()
            done = True
        finally:
            self.outdated |= not done
            ingest.conflicts.clear()
        outcome_of = {outcome.id: outcome for outcome in outcomes}
        return [outcome_of.get(document.id) for document in documents]

    def is_up_to_date(self, document: Document, searched: Searched | None) -> bool:
        """Return whether search has said all about a document: it is not stored, and not changed since then.

        Search found other documents as they are now, or as the memory knows them.
        """
        memory = self._ingest.memory
        return (
            searched is not None
            and searched.memory is memory  # otherwise there was a refresh
            and document.id not in memory.rows
            and searched.rows.keys().isdisjoint(memory.hidden)
        )

    def _from_search(self, documents: Sequence[Document], searched: Sequence[Searched | None]) -> LookedUp | None:
        """Return what search found for documents; None if the store must be asked again."""
        rows: dict[str, Row] = {}
        left_out: dict[str, int] = {}
        for document, each in zip(documents, searched, strict=True):
            if each is None or not self.is_up_to_date(document, each):
                return None
            rows |= each.rows
            left_out[document.id] = each.left_out
        if not rows.keys().isdisjoint(left_out):  # another program has stored one of them
            return None
        return LookedUp(documents, {}, list(rows.values()), self._ingest.memory, left_out, {})

    def is_refresh_due(self, options: AddOptions) -> bool:
        """Return whether the store must be refreshed before documents are added."""
        if self.outdated:
            return True
        if not self._ingest.writer.unrefreshed:
            return False
        return (
            len(self._ingest.memory) >= self._limits.documents
            or self._characters >= self._limits.characters
            or (self._since is not None and time.monotonic() - self._since >= self._limits.oldest)
            or options.rule.time_field != self._options.rule.time_field
        )

    def _use(self, options: AddOptions) -> None:
        ingest = self._ingest
        if options.filter != self._options.filter:
            ingest.memory.outside = set() if options.filter is None else _Outside(self._sources, options.filter)
        self._options = options
        ingest.rule, ingest.on_duplicate, ingest.filter = options.rule, options.on_duplicate, options.filter
        ingest.writer.pipeline = options.pipeline

    def _remember(self, documents: Sequence[Document], outcomes: Sequence[Outcome]) -> None:
        """Remember the sources of documents that were written. The filters of later documents look at them."""
        written = {outcome.id for outcome in outcomes if outcome.stored and outcome.outcome != "unchanged"}
        for document in documents:
            if document.id in written:
                self._characters += len(document.source) - len(self._sources.get(document.id, ""))
                self._sources[document.id] = document.source
        if self._since is None and written:
            self._since = time.monotonic()

    def _forget(self) -> None:
        self._sources.clear()
        self._characters = 0
        self._since = None
        if self._options.filter is not None:
            self._ingest.memory.outside = _Outside(self._sources, self._options.filter)


class _Outside(set[str]):
    """The ids of written documents that do not match a filter. It is evaluated when an id is asked for.

    :param sources: the documents as JSON, by id. They go on to change.
    """

    def __init__(self, sources: Mapping[str, str], filter: Mapping[str, Any]) -> None:
        super().__init__()
        self._sources = sources
        self._filter = filter

    def __bool__(self) -> bool:
        """Each of them may be outside."""
        return bool(self._sources)

    def __contains__(self, id: object) -> bool:
        source = self._sources.get(id) if isinstance(id, str) else None
        return source is not None and not matches(json.loads(source), str(id), self._filter)


def wait_for_search(store: Store, document: Document, deadline: float) -> None:
    """Wait until search finds a stored document, as ``refresh="wait_for"`` of Elasticsearch does. No refresh is made.

    It ends too when another program has replaced or removed the document.

    :param deadline: in seconds.
    :raises StoreError: if search does not find it by then.
    """
    end = time.monotonic() + deadline
    probe = Probe(None, document.fingerprint.digest)
    bits = 64  # no fingerprint is looked up
    while True:
        found = store.candidates(Candidates((probe,), -1, bits, {"ids": {"values": [document.id]}}))
        if found.rows:
            return
        row = store.fetch((document.id,)).get(document.id)
        if row is None or row.digest != document.fingerprint.digest:
            return
        if time.monotonic() >= end:
            raise StoreError(
                f"document {document.id!r} is stored, but search does not find it after {deadline:g} s: the index may "
                "not refresh by itself (its refresh_interval); use refresh=True"
            )
        pause(POLL)
