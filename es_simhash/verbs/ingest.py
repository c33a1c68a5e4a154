"""Ingest: decide for each document whether it is new or what it duplicates, and write it.

The rule for the original is in ``neighbours``. The outcomes do not depend on the size of the batches: each document is
compared with the store as the documents before it in the run left it, whether or not search finds those yet.

A batch is looked up (its stored versions, and all candidates at once), then decided, then written. At last the links
that led to former texts are changed. The next batch may be looked up before this one is written. What it misses then
is in the memory of the run.
"""

from __future__ import annotations

import json
import time
from collections import ChainMap
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.contract import Candidates, Entry, Fetch, Refresh, Row, Write, Written, ask
from es_simhash.drive import DEADLINE, pauses
from es_simhash.errors import DuplicateFound, InputError, StoreError, TooLarge, TooManyCandidates
from es_simhash.search.filters import matches
from es_simhash.values import value
from es_simhash.verbs.memory import Memory, RecentSources, candidates_without_stale
from es_simhash.verbs.neighbours import Neighbours, Original
from es_simhash.verbs.outcome import Document, Outcome
from es_simhash.verbs.relink import relink
from es_simhash.verbs.stored_fingerprints import StoredFingerprints

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_simhash.contract import Flow
    from es_simhash.verbs.outcome import OutcomeName
    from es_simhash.verbs.rule import ResolvedRule

WINDOW = 20_000
"""The largest number of written documents that are compared in memory. Then the store makes them searchable."""

REFUSED_ALIKE = 20
"""If the store refuses the first documents of a run for one reason, and writes none, the run ends after this many."""

OnDuplicate = Literal["index", "skip", "fail"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = ("index", "skip", "fail")


@dataclass(frozen=True)
class LookedUp:
    """A batch, and what the store knew when the batch was looked up.

    :param items: Documents, and the Outcomes of those that were rejected before.
    :param stored: by id, the Rows that the batch may replace.
    :param candidates: the Rows that may be near a document of the batch.
    :param memory: of the run at that time. The run goes on to fill it.
    :param left_out: by id, how many documents the store did not return, because too many share keys or a fingerprint.
    """

    items: Sequence[Document | Outcome]
    stored: Mapping[str, Row]
    candidates: Sequence[Row]
    memory: Memory
    left_out: Mapping[str, int]

    @cached_property
    def documents(self) -> list[Document]:
        return [item for item in self.items if isinstance(item, Document)]

    @property
    def replaced(self) -> dict[str, Row]:
        """By id, the state that search may find after this batch has replaced it."""
        stored = {d.id: self.stored[d.id] for d in self.documents if d.id in self.stored}
        return {d.id: stored[d.id] for d in self.documents if d.id in stored and differs(d, stored[d.id])}


@dataclass(frozen=True)
class _Candidates:
    """The candidates for documents.

    :param left_out: by id, how many were left out.
    :param problems: by id, the reason why a document has no complete answer.
    """

    rows: Sequence[Row]
    left_out: Mapping[str, int]
    problems: Mapping[str, str]


@value
class Decision:
    """What was decided for a document. Together with the Document it is enough to write it again."""

    outcome: Outcome
    group: str | None = None
    duplicate_of: str | None = None
    written: int = 0


@dataclass(frozen=True)
class _Known:
    """What is known when the documents of a batch are decided.

    :param stored: by id, the Rows that the store had.
    :param latest: by id, the latest state of the Rows that the store had.
    :param neighbours: of the batch.
    :param outside: ids of the batch that do not match the filter.
    """

    stored: Mapping[str, Row]
    latest: Mapping[str, Row]
    neighbours: Neighbours
    outside: set[str]


class Ingest:
    """One run: for each batch, in order, :meth:`look_up`, :meth:`decide` and :meth:`write`; then :meth:`finish`.

    :param rule: the rule by which a document is a duplicate. Where texts confirm, a document near a stored document
        without a text has failed.
    :param on_duplicate: what to do with a *new* document that is a duplicate: ``index`` (write it, linked to its
        original), ``skip`` (do not write it) or ``fail`` (end the run before it). An update is always written.
    :param filter: only documents that match it become originals.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    """

    _repairs = False
    """A document is written although the stored one is damaged."""
    _holds_fingerprints = True
    """A large run holds the fingerprints of the store."""

    def __init__(
        self,
        rule: ResolvedRule,
        on_duplicate: OnDuplicate = "index",
        filter: Mapping[str, Any] | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self.on_duplicate = on_duplicate
        self.stopped: DuplicateFound | None = None
        self.conflicts: list[str] = []
        """Ids of documents that other writers changed before they were written. They have no outcome."""
        self._rule = rule
        self._filter = filter
        self._deadline = deadline
        self._memory = Memory()
        self._recent = RecentSources()
        self._fingerprints = StoredFingerprints(rule) if self._holds_fingerprints else None
        self._writes = 0
        """Writes since the last refresh."""
        self._unrefreshed = False
        self._clock = 0
        self._written_any = False
        self._refused = 0
        self._refused_for: set[str] = set()

    # --- look up -------------------------------------------------------------------------------------------

    def look_up(self, items: Sequence[Document | Outcome], unwritten: LookedUp | None = None) -> Flow[LookedUp]:
        """Ask the store about a batch.

        :param items: Documents, and the Outcomes of those that were rejected before.
        :param unwritten: the batch before, if it is not written yet.
        """
        hidden = self._memory.hidden | (unwritten.replaced if unwritten else {})
        return self._look_up(items, self._memory, hidden)

    def _look_up(
        self, items: Sequence[Document | Outcome], memory: Memory, hidden: Mapping[str, Row]
    ) -> Flow[LookedUp]:
        documents = [item for item in items if isinstance(item, Document)]
        stored = yield from ask(Fetch(tuple(document.id for document in documents), self._rule.time_field))
        changed = [d for d in documents if d.id not in stored or differs(d, stored[d.id])]
        # Search results for these ids become stale during this batch. Both states are known here.
        before = [stored[document.id] for document in changed if document.id in stored]
        asked = changed if self._fingerprints is None else self._fingerprints.to_look_up(changed)
        found = yield from self._candidates(asked, {**hidden, **{row.id: row for row in before}})
        rows, problems = found.rows, found.problems
        if self._filter is None:
            rows = [*rows, *before]  # with a filter only the store knows whether they match it
        if problems:
            items = [failed(item, problems[item.id or ""]) if item.id in problems else item for item in items]
        return LookedUp(items, stored, rows, memory, found.left_out)

    def _candidates(self, documents: Sequence[Document], hidden: Mapping[str, Row]) -> Flow[_Candidates]:
        """Return the candidates for documents."""
        if not documents:
            return _Candidates([], {}, {})
        request = candidates_request(documents, self._rule, self._filter)
        # With a filter, Rows with a known newer state are needed too: if they are found, they match the filter.
        keep_stale = self._filter is not None
        try:
            found = yield from candidates_without_stale(request, hidden, keep_stale=keep_stale)
            return _Candidates(found.rows, {documents[index].id: n for index, n in found.left_out.items()}, {})
        except (TooManyCandidates, TooLarge) as error:
            if len(documents) == 1:
                return _Candidates([], {}, {documents[0].id: str(error)})
        # One document without an answer must not stop the others.
        middle = len(documents) // 2
        one = yield from self._candidates(documents[:middle], hidden)
        two = yield from self._candidates(documents[middle:], hidden)
        return _Candidates([*one.rows, *two.rows], {**one.left_out, **two.left_out}, {**one.problems, **two.problems})

    # --- decide --------------------------------------------------------------------------------------------

    def decide(self, batch: LookedUp) -> Flow[dict[str, Decision]]:
        """Return the decision for each document of a batch. Nothing is written yet."""
        neighbours = yield from self._neighbours(batch)
        return (yield from self._decide(batch, neighbours, batch.documents, {}))

    def _neighbours(self, batch: LookedUp) -> Flow[Neighbours]:
        rule = self._rule
        alone = [self._alone(document) for document in batch.documents]
        stored = {row.id: row for row in batch.candidates}
        if batch.memory is not self._memory:
            stored = batch.memory.over(stored, alone, rule)
        stored = self._memory.over(stored, alone, rule)
        queries = [rule.queries(document.keys) for document in batch.documents]
        unsearched = ChainMap(self._memory.rows, batch.memory.rows)
        neighbours = Neighbours(alone, stored.values(), rule, queries, batch.left_out, unsearched)
        if self._rule.texts is not None:
            sources = [document.source for document in batch.documents]
            yield from neighbours.confirm_new(self._rule.texts, sources, self._recent)
        return neighbours

    def _alone(self, document: Document) -> Row:
        """Return the Row of a document that duplicates nothing. The digest of an empty text is empty."""
        return _row_of(document, document.fingerprint.copy_digest or "", document.id, None, 0)

    def _decide(
        self,
        batch: LookedUp,
        neighbours: Neighbours,
        documents: Iterable[Document],
        written: Mapping[str, Row],
    ) -> Flow[dict[str, Decision]]:
        """Return decisions for some documents of a batch.

        :param written: by id, the Rows of the batch that are written already.
        """
        written = dict(written)
        decisions: dict[str, Decision] = {}
        outside = {d.id for d in batch.documents if not self._matches_filter(d)} if self._filter is not None else set()
        memories = self._memory, batch.memory
        latest = {id: memories[0].get(id) or memories[1].get(id) or row for id, row in batch.stored.items()}
        known = _Known(batch.stored, latest, neighbours, outside)
        for document in documents:
            if document.id not in batch.stored and neighbours.has_none(document.id):
                decisions[document.id] = self._new(document)  # most documents: no other one asks for its Row
                continue
            decision = yield from self._decide_one(document, known, written)
            decisions[document.id] = decision
            if decision.group:
                written[document.id] = self._row(document, decision)
            if self.stopped:
                break
        return decisions

    def _new(self, document: Document) -> Decision:
        """Return the decision for a document that is not stored and duplicates nothing."""
        fingerprinted = document.fingerprint.value is not None
        outcome = Outcome(document.id, "new", stored=True, fingerprinted=fingerprinted, place=document.place)
        return Decision(outcome, group=document.id, written=self._tick(None))

    def _decide_one(self, document: Document, known: _Known, written: Mapping[str, Row]) -> Flow[Decision]:
        fingerprint = document.fingerprint
        about: dict[str, Any] = {"fingerprinted": fingerprint.value is not None, "place": document.place}
        before = known.latest[document.id] if document.id in known.stored else None
        if before is not None and before.damaged and not self._repairs:
            return Decision(_failed(Outcome(document.id, "failed", **about), document, before.damaged))
        if before is not None and not differs(document, before):
            about |= {"duplicate_of": before.duplicate_of, "stored": True}
            return Decision(Outcome(document.id, "unchanged", **about))
        kept = self._kept_write_order(document, before)
        try:
            found = yield from known.neighbours.original_of(document.id, written, kept, known.outside)
        except InputError as error:
            return Decision(_failed(Outcome(document.id, "failed", **about), document, str(error)))
        original = found.row if found else None
        about["left_out"] = known.neighbours.left_out.get(document.id, 0)
        outcome: OutcomeName = "new"
        if found is not None and original is not None:
            outcome = "exact_duplicate" if original.digest == fingerprint.digest else "near_duplicate"
            about |= {"duplicate_of": original.id, "distance": found.distance, "similarity": found.similarity}
        if before is not None and self._is_update(before):
            outcome = "updated"
        elif found is not None and self.on_duplicate != "index":
            self._check_duplicate(document, found)
            return Decision(Outcome(document.id, outcome, **about))
        return Decision(
            Outcome(document.id, outcome, stored=True, **about),
            group=original.group if original else document.id,
            duplicate_of=original.id if original else None,
            written=self._tick(original) if kept is None else kept,
        )

    def _is_update(self, before: Row) -> bool:
        """Return whether the document is an update of this stored Row."""
        return True

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
        return before.written if self._rule.are_near(before, self._alone(document)) else None

    def _tick(self, original: Row | None) -> int:
        """Return the write order for now: after all of this run, and after the original.

        The clock of the machine that wrote the original may be ahead.
        """
        self._clock = max(self._clock + 1, time.time_ns() // 1000, original.written + 1 if original else 0)
        return self._clock

    def _matches_filter(self, document: Document) -> bool:
        return self._filter is None or matches(json.loads(document.source), document.id, self._filter)

    # --- write ---------------------------------------------------------------------------------------------

    def write(self, batch: LookedUp, decided: Mapping[str, Decision], *, again: bool = False) -> Flow[list[Outcome]]:
        """Write a batch as it was decided.

        A document that the store refuses has failed. Documents that were taken for its duplicates are decided again.

        :param again: an interrupted run may have written the batch already.
        :returns: an Outcome for each item, in their order, without those that other writers changed in the meantime.
            After a duplicate under ``fail`` the rest of the batch is left out, and ``stopped`` holds the error.
        """
        documents = {document.id: document for document in batch.documents}
        rows: dict[str, Row] = {}
        sent: dict[str, Row] = {}
        decisions, pending = dict(decided), decided
        neighbours: Neighbours | None = None
        conflicts: set[str] = set()
        while True:
            new = {id: self._row(documents[id], decision) for id, decision in pending.items() if decision.group}
            new = yield from self._with_new_versions(new, sent)
            sent |= new
            rows |= new
            refused, lost = yield from self._write_all(list(new.values()), documents)
            conflicts |= lost
            for id in [*refused, *lost]:
                del rows[id]
                reason = refused.get(id, "another writer changed it in the meantime")
                decisions[id] = Decision(_failed(decisions[id].outcome, documents[id], reason))
            again_undecided = self._undecided(batch, decisions, rows, {*refused, *lost})
            if not again_undecided:
                break
            neighbours = neighbours or (yield from self._neighbours(batch))
            pending = yield from self._decide(batch, neighbours, again_undecided, rows)
            decisions |= pending
        self.conflicts += conflicts
        yield from self._remember(batch, documents, rows, again)
        reached = takewhile(lambda item: isinstance(item, Outcome) or item.id in decisions, batch.items)
        return [
            item if isinstance(item, Outcome) else _with_document(decisions[item.id].outcome, item)
            for item in reached
            if isinstance(item, Outcome) or item.id not in conflicts
        ]

    def _row(self, document: Document, decision: Decision) -> Row:
        """Return the Row to write for a document."""
        assert decision.group is not None
        return _row_of(document, document.fingerprint.digest, decision.group, decision.duplicate_of, decision.written)

    def _with_new_versions(self, rows: dict[str, Row], sent: Mapping[str, Row]) -> Flow[dict[str, Row]]:
        """Return the Rows with the versions that this run's own writes gave to those that were sent before."""
        yield from ()  # no request
        return rows

    def _request(self, rows: Sequence[Row], documents: Mapping[str, Document]) -> Flow[Written]:
        entries = tuple(Entry(row, documents[row.id].source) for row in rows)
        return ask(Write(entries, self._rule.bits))

    def _write_all(
        self, rows: Sequence[Row], documents: Mapping[str, Document]
    ) -> Flow[tuple[dict[str, str], frozenset[str]]]:
        """Write Rows, and send again those that the store is too busy for.

        :returns: the reason for each id that the store refuses, and the conflicts.
        :raises StoreError: if the store refuses everything.
        """
        refused: dict[str, str] = {}
        conflicts: frozenset[str] = frozenset()
        waits = pauses(self._deadline)
        while rows:
            written = yield from self._request(rows, documents)
            self._unrefreshed |= not written.searchable
            refused |= written.refused
            conflicts |= written.conflicts
            self._writes += len(rows) - len(written.refused) - len(written.busy) - len(written.conflicts)
            self._check_refused(written, len(rows))
            rows = [row for row in rows if row.id in written.busy]
            if rows:
                pause = next(waits, None)
                if pause is None:
                    reason = f"the server was too busy for {self._deadline:g} s: ingest it again"
                    return refused | {row.id: reason for row in rows}, conflicts
                yield pause
        return refused, conflicts

    def _check_refused(self, written: Written, sent: int) -> None:
        """Check that the store does not refuse every document, for example because of the mapping of its index.

        :param sent: how many documents were sent.
        :raises StoreError: if it refused REFUSED_ALIKE documents of the run for one reason, and wrote none.
        """
        if self._written_any or sent > len(written.refused) + len(written.busy) + len(written.conflicts):
            self._written_any = True
            return
        self._refused += len(written.refused)
        self._refused_for.update(written.refused.values())
        if self._refused >= REFUSED_ALIKE and len(self._refused_for) == 1:
            raise StoreError(
                f"the first {self._refused} documents were refused for the same reason, so the run ends: "
                f"{next(iter(self._refused_for))}: change the index or the documents, then repeat"
            )

    def _undecided(
        self, batch: LookedUp, decisions: dict[str, Decision], rows: dict[str, Row], unwritten: set[str]
    ) -> list[Document]:
        """Return the documents to decide again, because what they duplicate was not written.

        If the run was stopped at one of them, those after it are decided too.

        :param unwritten: ids that were not written.
        """
        gone = set(unwritten)
        pending: list[Document] = []
        if not gone:
            return pending
        for document in batch.documents:
            decision = decisions.get(document.id)
            if decision is None and self.stopped is None:
                pending.append(document)
            elif decision and document.id not in unwritten and {decision.outcome.duplicate_of, decision.group} & gone:
                pending.append(document)
                gone.add(document.id)
                rows.pop(document.id, None)
                self.stopped = None
        return pending

    # --- after the write -----------------------------------------------------------------------------------

    def _remember(
        self, batch: LookedUp, documents: Mapping[str, Document], rows: Mapping[str, Row], again: bool
    ) -> Flow[None]:
        """Remember what was written, and change the links that led to former texts."""
        memory = self._memory
        for id, row in rows.items():
            memory.keep(row, replaces=batch.stored.get(id))
            if self._rule.texts is not None:
                self._recent.keep(id, row.digest, documents[id].source)
            if not self._matches_filter(documents[id]):
                memory.outside.add(id)
        if self._filter is None:
            for id in batch.replaced - rows.keys():  # not written after all; search results leave it out
                memory.keep(batch.stored[id])
        changed = [id for id in rows if id in batch.stored and batch.stored[id].digest]
        if changed:
            # A head that stays a head keeps its members. After a write again the former state is unknown.
            stay = [id for id in changed if rows[id].group == id and batch.stored[id].written == rows[id].written]
            heads = set(changed) - set(() if again else stay)
            yield from relink(changed, memory, self._rule, heads=heads, filter=self._filter)
        if not self._unrefreshed:
            self._forget()  # search finds at once what is written
        elif len(memory) >= WINDOW:
            yield from self._refresh()
            if self._fingerprints is not None:
                yield from self._fingerprints.refreshed(memory.rows.values(), self._writes)
            self._writes = 0

    def finish(self) -> Flow[None]:
        """Make everything that was written visible to search."""
        if self._unrefreshed:
            yield from self._refresh()

    def _refresh(self) -> Flow[None]:
        yield from ask(Refresh())
        self._forget()
        self._unrefreshed = False

    def _forget(self) -> None:
        # A new object: a batch that is being looked up holds the old one.
        self._memory = Memory()


def candidates_request(
    documents: Sequence[Document], rule: ResolvedRule, filter: Mapping[str, Any] | None
) -> Candidates:
    """Return the request for what may be near documents."""
    probes = tuple(
        rule.probe(each.fingerprint.value, each.fingerprint.copy_digest, rule.queries(each.keys), each.time)
        for each in documents
    )
    return Candidates(
        probes,
        rule.search_distance,
        rule.bits,
        filter,
        one_per_digest=True,
        per_fingerprint=rule.per_fingerprint,
        time_field=rule.time_field,
        blocks=rule.blocks,
    )


def _row_of(document: Document, digest: str, group: str, duplicate_of: str | None, written: int) -> Row:
    """Return the Row of a document with its keys and its time."""
    keys, length, text_keys = document.block_keys, None, document.keys
    if text_keys is not None:
        keys, length = text_keys.values + keys, text_keys.length
    # By position: there are two Rows for each document, and names take a quarter more time.
    value, time = document.fingerprint.value, document.time
    return Row(document.id, value, digest, group, duplicate_of, written, None, keys, length, None, time)


def differs(document: Document, stored: Row) -> bool:
    """Return whether a document must be written: its text changed, or the stored document lacks its keys."""
    lacks_keys = document.keys is not None and stored.length is None
    lacks_keys |= not set(stored.keys).issuperset(document.block_keys)
    return stored.digest != document.fingerprint.digest or lacks_keys


def _failed(outcome: Outcome, document: Document, reason: str) -> Outcome:
    return Outcome(
        outcome.id,
        "failed",
        fingerprinted=outcome.fingerprinted,
        reason=f"{outcome.place}: {reason}",
        place=outcome.place,
        document=json.loads(document.source),
    )


def _with_document(outcome: Outcome, document: Document) -> Outcome:
    """Return the Outcome with its document: a decision from the checkpoint of an interrupted run lacks it."""
    if outcome.outcome != "failed" or outcome.document is not None:
        return outcome
    return replace(outcome, document=json.loads(document.source))


def failed(item: Document | Outcome, reason: str) -> Outcome:
    """Return the Outcome of an item that the run could not finish."""
    if isinstance(item, Outcome):
        return item
    outcome = Outcome(item.id, "failed", fingerprinted=item.fingerprint.value is not None, place=item.place)
    return _failed(outcome, item, reason)
