"""Ingest: decide for each document whether it is new or what it duplicates, and write it.

The rule for the original is in :mod:`es_simhash.deciding.original`. The outcomes do not depend on the size of the
batches: each document is compared with the store as the documents before it in the run left it, whether or not search
finds those yet.

A batch is looked up (its stored versions, and all candidates at once), then decided, then written. At last the links
that led to former texts are changed. The next batch may be looked up before this one is written. The memory of the
run adds the documents that it could not see yet.
"""

from __future__ import annotations

import json
import time
from collections import ChainMap
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.contract import Row
from es_simhash.deciding.candidates import BatchLookUp, LookedUp, differs
from es_simhash.deciding.limits import LIMITS, Limits
from es_simhash.deciding.memory import Memory, RecentSources
from es_simhash.deciding.original import Neighbours, Original
from es_simhash.deciding.outcome import Document, Outcome, as_failed, failed
from es_simhash.deciding.relink import relink
from es_simhash.deciding.stored_fingerprints import StoredFingerprints
from es_simhash.deciding.write import DocumentWriter
from es_simhash.errors import DuplicateFound, InputError
from es_simhash.search.filters import matches
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.outcome import OutcomeName
    from es_simhash.deciding.rule import ResolvedRule

ATTEMPTS = 5
"""How often a document is decided if other programs write or remove it between the look-up and the write."""
CHANGED = f"another program wrote or removed it each of the {ATTEMPTS} times that it was decided: ingest it again"

OnDuplicate = Literal["index", "skip", "fail"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = ("index", "skip", "fail")


@value
class Decision:
    """What was decided for a document."""

    outcome: Outcome
    group: str | None = None
    duplicate_of: str | None = None
    write_order: int = 0


class Ingest:
    """One run: for each batch, in order, :meth:`look_up`, :meth:`decide` and :meth:`write`; then :meth:`finish`.

    :param rule: the rule by which a document is a duplicate. Where texts confirm, a document near a stored document
        without a text has failed.
    :param on_duplicate: what to do with a *new* document that is a duplicate: ``index`` (write it, linked to its
        original), ``skip`` (do not write it) or ``fail`` (end the run before it). An update is always written.
    :param filter: only documents that match it become originals.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    :param stored: a backfill: the documents are stored, and the filter has selected them. Our fields are written into
        those that nobody changed in the meantime, also if their fields are damaged.
    :param single: documents come from several callers, a few at a time. Others may write between two of them, so the
        fingerprints of the store are not held in memory. Each caller gets the reason of its own document, so the run
        does not end if the store refuses the first ones.
    :param limits: of what is held in memory.
    """

    def __init__(
        self,
        store: Store,
        rule: ResolvedRule,
        on_duplicate: OnDuplicate,
        filter: Mapping[str, Any] | None,
        deadline: float,
        *,
        stored: bool = False,
        single: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        self._store = store
        self.on_duplicate = on_duplicate
        self.stopped: DuplicateFound | None = None
        self.conflicts: list[str] = []
        """Ids of documents of a backfill, or of ``single``, that other programs wrote or removed before they were
        written. They have no outcome."""
        self.rule = rule
        self.filter = filter
        self.writer = DocumentWriter(store, rule.bits, deadline, stored=stored, ends_if_refused=not single)
        self.memory = Memory()
        self._stored = stored
        self._single = single
        self._limits = limits
        self._recent = RecentSources(limits.recent, limits.features)
        self._fingerprints = None if single else StoredFingerprints(store, rule, limits)
        self._clock = 0
        self._difference = 0

    # --- look up -------------------------------------------------------------------------------------------

    def look_up(self, items: Sequence[Document | Outcome]) -> LookedUp:
        """Ask the store about a batch.

        :param items: Documents, and the Outcomes of those that were rejected before.
        """
        return self.prepare_look_up(items, None)()

    def prepare_look_up(
        self, items: Sequence[Document | Outcome], unwritten: LookedUp | None
    ) -> Callable[[], LookedUp]:
        """Return a function that asks the store about a batch. Another thread may call it while the run goes on.

        :param items: Documents, and the Outcomes of those that were rejected before.
        :param unwritten: the batch before, if it is not written yet.
        """
        self.compare_clocks()
        # Taken now: the search may come before the next refresh, after which the run forgets what it wrote.
        memory = self.memory
        hidden = memory.hidden | (unwritten.replaced if unwritten else {})
        batch = BatchLookUp(self._store, self.rule, self.filter, self._fingerprints)
        return partial(batch.look_up, items, memory, hidden)

    def compare_clocks(self) -> None:
        """Ask the store how far its clock is ahead. The write order of what is decided from now on is by that clock."""
        self._difference = self._store.clock_difference()

    # --- decide --------------------------------------------------------------------------------------------

    def decide(self, batch: LookedUp) -> dict[str, Decision]:
        """Return the decision for each document of a batch. Nothing is written yet."""
        neighbours = self._neighbours(batch)
        return self._decide(batch, neighbours, batch.documents, {})

    def _neighbours(self, batch: LookedUp) -> Neighbours:
        rule = self.rule
        alone = [self._alone(document) for document in batch.documents]
        queries = [rule.queries(document.keys) for document in batch.documents]
        stored = {row.id: row for row in batch.candidates}
        if batch.memory is not self.memory:
            stored = batch.memory.over(stored, alone, rule, queries)
        stored = self.memory.over(stored, alone, rule, queries)
        unsearched = ChainMap(self.memory.rows, batch.memory.rows)
        outside = {document.id for document in batch.documents if not self._matches_filter(document)}
        neighbours = Neighbours(
            alone, stored.values(), rule, queries, batch.left_out, unsearched, outside, self._limits
        )
        if self.rule.texts is not None:
            sources = [document.source for document in batch.documents]
            neighbours.confirm_new(self._store, self.rule.texts, sources, self._recent)
        return neighbours

    def _alone(self, document: Document) -> Row:
        """Return the Row of a document that duplicates nothing. The digest of an empty text is empty."""
        return _row_of(document, document.fingerprint.copy_digest or "", document.id, None, 0)

    def _decide(
        self,
        batch: LookedUp,
        neighbours: Neighbours,
        documents: Iterable[Document],
        decided_rows: Mapping[str, Row],
    ) -> dict[str, Decision]:
        """Return decisions for some documents of a batch.

        :param decided_rows: by id, the Rows of the documents of the batch that are decided already.
        """
        decided_rows = dict(decided_rows)
        decisions: dict[str, Decision] = {}
        for document in documents:
            if document.id not in batch.stored and neighbours.has_none(document.id):
                decision = decisions[document.id] = self._new(document)  # most documents
                if self.rule.keys:  # a later one may find it by its keys, although it has not found that one
                    decided_rows[document.id] = _row(document, decision)
                continue
            decision = self._decide_one(document, batch, neighbours, decided_rows)
            decisions[document.id] = decision
            if decision.group:
                decided_rows[document.id] = _row(document, decision)
            if self.stopped:
                break
        return decisions

    def _new(self, document: Document) -> Decision:
        """Return the decision for a document that is not stored and duplicates nothing."""
        fingerprinted = document.fingerprint.value is not None
        outcome = Outcome(document.id, "new", stored=True, fingerprinted=fingerprinted, place=document.place)
        return Decision(outcome, group=document.id, write_order=self._tick(None))

    def _decide_one(
        self, document: Document, batch: LookedUp, neighbours: Neighbours, decided_rows: Mapping[str, Row]
    ) -> Decision:
        fingerprint = document.fingerprint
        about: dict[str, Any] = {"fingerprinted": fingerprint.value is not None, "place": document.place}
        stored = batch.stored.get(document.id)
        before = stored and _latest(stored, self.memory.get(document.id) or batch.memory.get(document.id))
        if before is not None and before.damaged and not self._stored:
            return Decision(failed(document, before.damaged))
        if stored is not None and before is not None and not differs(document, before):
            about |= {"duplicate_of": before.duplicate_of, "stored": True}
            if document.content in (None, stored.content):
                return Decision(Outcome(document.id, "unchanged", **about))
            updated = Outcome(document.id, "updated", **about)
            return Decision(updated, before.group, before.duplicate_of, before.written)
        kept = self._kept_write_order(document, before)
        try:
            found = neighbours.original_of(self._store, document.id, decided_rows, kept)
        except InputError as error:
            return Decision(failed(document, str(error)))
        original = found.row if found else None
        about["left_out"] = neighbours.left_out.get(document.id, 0)
        outcome: OutcomeName = "new"
        if found is not None and original is not None:
            outcome = "exact_duplicate" if original.digest == fingerprint.digest else "near_duplicate"
            about |= {"duplicate_of": original.id, "distance": found.distance, "similarity": found.similarity}
        # A stored document without a fingerprint gets its first outcome.
        if before is not None and (before.digest or not self._stored):
            outcome = "updated"
        elif found is not None and self.on_duplicate != "index":
            self._check_duplicate(document, found)
            return Decision(Outcome(document.id, outcome, **about))
        return Decision(
            Outcome(document.id, outcome, stored=True, **about),
            group=original.group if original else document.id,
            duplicate_of=original.id if original else None,
            write_order=self._tick(original) if kept is None else kept,
        )

    def _check_duplicate(self, document: Document, found: Original) -> None:
        if self.on_duplicate == "fail":
            near = ""
            if found.distance is not None:  # one of the two may have no fingerprint
                near = f" at a distance of {found.distance} bit{'' if found.distance == 1 else 's'}"
            self.stopped = DuplicateFound(
                f"{document.place}: {document.id!r} is a duplicate of {found.row.id!r}{near}. "
                "The documents before it are stored; it and those after it are not (on_duplicate is 'fail')"
            )

    def _kept_write_order(self, document: Document, before: Row | None) -> int | None:
        """Return the write order that a document keeps because its text changes little; else None."""
        if before is None or not before.written:
            return None
        return before.written if self.rule.are_near(before, self._alone(document)) else None

    def _tick(self, original: Row | None) -> int:
        """Return the write order for now: after all of this run, and after the original.

        The clock by which the original was written may have been ahead.
        """
        now = time.time_ns() // 1000 + self._difference
        self._clock = max(self._clock + 1, now, original.written + 1 if original else 0)
        return self._clock

    def _matches_filter(self, document: Document) -> bool:
        if self.filter is None or self._stored:
            return True
        return matches(json.loads(document.source), document.id, self.filter)

    # --- write ---------------------------------------------------------------------------------------------

    def write(self, batch: LookedUp, decided: Mapping[str, Decision]) -> list[Outcome]:
        """Write a batch as it was decided.

        A document that the store refuses has failed. Documents that were taken for its duplicates are decided again.
        A document that another program wrote or removed since it was decided is looked up and decided again, after the
        others of the batch.

        :returns: an Outcome for each item, in their order, without ``conflicts``. After a duplicate under ``fail`` the
            rest of the batch is left out, and ``stopped`` holds the error.
        """
        decisions, changed = self._write(batch, decided)
        left_out: set[str] = set()
        if self._stored or self._single:
            self.conflicts += changed
            left_out = changed
        else:
            self._decide_again(batch, changed, decisions)
        outcomes: list[Outcome] = []
        for item in batch.items:
            if isinstance(item, Outcome):
                outcomes.append(item)
            elif item.id not in decisions:
                break  # the run stopped before it
            elif item.id not in left_out:
                outcomes.append(decisions[item.id].outcome)
        return outcomes

    def _decide_again(self, batch: LookedUp, changed: set[str], decisions: dict[str, Decision]) -> None:
        """Look up and write documents again, each as often as another program changes it before it is written.

        :param changed: their ids.
        :param decisions: of the batch. The new ones are put there.
        """
        for _ in range(ATTEMPTS - 1):
            if not changed:
                return
            again = self.look_up([document for document in batch.documents if document.id in changed])
            decisions |= {item.id: Decision(item) for item in again.items if isinstance(item, Outcome) and item.id}
            written, changed = self._write(again, self.decide(again))
            decisions |= written

    def _write(self, batch: LookedUp, decided: Mapping[str, Decision]) -> tuple[dict[str, Decision], set[str]]:
        """Write a batch, and return its decisions, and the ids that other programs have written or removed."""
        documents = {document.id: document for document in batch.documents}
        rows: dict[str, Row] = {}
        sent: dict[str, Row] = {}
        decisions = dict(decided)
        pending: Mapping[str, Decision] = decided
        neighbours: Neighbours | None = None
        conflicts: set[str] = set()
        while True:
            new = {
                id: _row(documents[id], decision, self._version(documents[id], batch.stored.get(id)))
                for id, decision in pending.items()
                if decision.group
            }
            new = self._with_new_versions(new, batch, sent)
            sent |= new
            rows |= new
            refused, lost = self.writer.write(list(new.values()), documents)
            conflicts |= lost
            for id in [*refused, *lost]:
                rows.pop(id, None)
                reason = refused.get(id, CHANGED)
                decisions[id] = Decision(as_failed(decisions[id].outcome, documents[id], reason))
            undecided = self._undecided(batch, decisions, rows, {*refused, *lost})
            if not undecided:
                break
            neighbours = neighbours or self._neighbours(batch)
            pending = self._decide(batch, neighbours, undecided, rows)
            decisions |= pending
        self._remember(batch, documents, rows, conflicts)
        return decisions, conflicts

    def _version(self, document: Document, stored: Row | None) -> Any:
        """Return the version of what a document replaces; None if it is new."""
        if self._stored:
            return document.version
        return None if stored is None else stored.version

    def _with_new_versions(self, rows: dict[str, Row], batch: LookedUp, sent: Mapping[str, Row]) -> dict[str, Row]:
        """Return the Rows with the versions that this run's own writes gave them since the look-up.

        :param sent: by id, what it wrote of this batch. It may also have changed links of the batch's stored documents.
        """
        known = {id: self.memory.get(id) or batch.memory.get(id) for id in batch.stored}
        relinked = {
            id: row
            for id, row in known.items()
            if row and (row.group, row.duplicate_of) != (batch.stored[id].group, batch.stored[id].duplicate_of)
        }
        own = {**relinked, **sent}
        again = tuple(sorted(rows.keys() & own.keys()))
        if not again:
            return rows
        stored = self._store.fetch(again)
        # A store may move the write order of a Row, so it is not compared.
        ours = {id: row.version for id, row in stored.items() if replace(row, written=own[id].written) == own[id]}
        return {id: replace(row, version=ours.get(id, row.version)) for id, row in rows.items()}

    def _undecided(
        self, batch: LookedUp, decisions: dict[str, Decision], rows: dict[str, Row], not_written: set[str]
    ) -> list[Document]:
        """Return the documents to decide again, because what they duplicate was not written.

        If the run was stopped at one of them, those after it are decided too.

        :param not_written: ids of documents that were not written.
        """
        gone = set(not_written)
        pending: list[Document] = []
        if not gone:
            return pending
        for document in batch.documents:
            decision = decisions.get(document.id)
            if decision is None and self.stopped is None:
                pending.append(document)
            elif decision and document.id not in not_written and {decision.outcome.duplicate_of, decision.group} & gone:
                pending.append(document)
                gone.add(document.id)
                rows.pop(document.id, None)
                self.stopped = None
        return pending

    # --- after the write -----------------------------------------------------------------------------------

    def _remember(
        self, batch: LookedUp, documents: Mapping[str, Document], rows: Mapping[str, Row], conflicts: set[str]
    ) -> None:
        """Remember what was written, and change the links that led to former texts.

        :param conflicts: ids of documents that other programs have written or removed.
        """
        memory = self.memory
        for id, row in rows.items():
            memory.keep(row, replaces=batch.stored.get(id))
            if self.rule.texts is not None:
                self._recent.keep(id, row.digest, documents[id].source)
            if self._matches_filter(documents[id]):
                memory.outside.discard(id)  # a former state may not have matched
            else:
                memory.outside.add(id)
        present = self._store.fetch(tuple(conflicts), self.rule.time_field) if conflicts else {}
        for id in conflicts & batch.stored.keys():
            memory.hidden[id] = batch.stored[id]
        if self.filter is None:
            # Not written after all; search results leave them out.
            for id in (batch.replaced.keys() | conflicts & batch.stored.keys()) - rows.keys():
                if id not in conflicts or id in present:
                    memory.keep(present.get(id, batch.stored[id]))
        before = batch.stored
        changed = [id for id in rows if id in before and before[id].digest and differs(documents[id], before[id])]
        changed += conflicts  # others of the batch may have been linked to the text that it had
        if changed:
            # A head that stays a head keeps its members.
            stay = [
                id
                for id in changed
                if id in rows and rows[id].group == id and batch.stored[id].written == rows[id].written
            ]
            heads = set(changed) - set(stay)
            gone = conflicts - present.keys()
            relink(self._store, changed, memory, self.rule, gone, heads, self.filter, self._limits.links)
            self.writer.unrefreshed |= not self.writer.searchable
        self._bound_memory()

    def _bound_memory(self) -> None:
        """Forget what search finds. If too much is left, let search find it too."""
        memory = self.memory
        if not self.writer.unrefreshed:
            self._forget()  # search finds everything
            if self._fingerprints is not None and self.writer.searchable:
                self._fingerprints.drop()
        elif len(memory) >= self._limits.window:
            writes = self.writer.writes
            self.refresh()
            if self._fingerprints is not None:
                self._fingerprints.refreshed(memory.rows.values(), writes)

    def finish(self) -> None:
        """Make everything that was written visible to search."""
        if self.writer.unrefreshed:
            self.refresh()

    def refresh(self) -> None:
        """Make everything that was written visible to search, and forget it."""
        self._store.refresh()
        self._forget()
        self.writer.refreshed()

    def _forget(self) -> None:
        # A new object: a batch that is being looked up holds the old one.
        self.memory = Memory()


def _latest(stored: Row, known: Row | None) -> Row:
    """Return the latest state of a stored document.

    :param known: what the run wrote, or linked. Its links are newer if it has the same text. Another text is newer in
        the store: another program wrote it.
    """
    if known is None or (known.digest, known.written) != (stored.digest, stored.written):
        return stored
    return known


def _row(document: Document, decision: Decision, version: Any = None) -> Row:
    """Return the Row of a document as it was decided."""
    assert decision.group is not None
    digest = document.fingerprint.digest
    return _row_of(document, digest, decision.group, decision.duplicate_of, decision.write_order, version)


def _row_of(
    document: Document, digest: str, group: str, duplicate_of: str | None, write_order: int, version: Any = None
) -> Row:
    """Return the Row of a document with its keys and its time."""
    text_keys = document.keys
    keys, length = ((), None) if text_keys is None else (text_keys.values, text_keys.length)
    # By position: there are two Rows for each document, and names take a quarter more time.
    value, time = document.fingerprint.value, document.time
    return Row(
        document.id,
        value,
        digest,
        group,
        duplicate_of,
        write_order,
        version,
        keys,
        length,
        None,
        time,
        document.content,
    )
