"""Ingest: decide for each document what it is, and write it.

The rule is in ``neighbours``. The answer is the same whatever the size of the batches: each document is compared with
the store as the documents before it in the run left it, whether or not those can be found by search yet.

A batch is looked up (its stored versions, and all candidates at once) and then settled: decided, written, and last of
all the links mended that led to former texts. The next batch may be looked up before this one is settled: what it then
misses is in the memory of the run.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.contract import Candidates, Entry, Fetch, Refresh, Row, Write, ask
from es_simhash.drive import pauses
from es_simhash.errors import DuplicateFound, InputError, TooLarge, TooManyCandidates
from es_simhash.search.filters import matches
from es_simhash.verbs.neighbours import Neighbours, are_near, as_row, probe
from es_simhash.verbs.outcome import Document, Outcome
from es_simhash.verbs.relink import Memory, relink, up_to_date
from es_simhash.verbs.texts import Recent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_simhash.contract import Flow
    from es_simhash.verbs.neighbours import Near
    from es_simhash.verbs.outcome import OutcomeName

WINDOW = 20_000
"""How many documents are compared in memory at most before the store is asked to make them searchable."""
DEADLINE = 300.0
"""Seconds for which a request is repeated while the store is busy or away."""

OnDuplicate = Literal["index", "skip", "fail"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = ("index", "skip", "fail")


@dataclass(frozen=True)
class Looked:
    """A batch and what the store knew of it when it was looked up.

    :param stored: by id, what the batch may replace.
    :param found: candidates.
    :param memory: of the run at that time; it goes on to be filled.
    """

    items: Sequence[Document | Outcome]
    stored: Mapping[str, Row]
    found: Sequence[Row]
    memory: Memory

    @property
    def documents(self) -> list[Document]:
        return [item for item in self.items if isinstance(item, Document)]

    @property
    def replaced(self) -> dict[str, str]:
        """The digest of what search may find, once this batch is settled, in place of what it wrote; by id."""
        stored = {d.id: self.stored[d.id] for d in self.documents if d.id in self.stored}
        return {d.id: stored[d.id].digest for d in self.documents if d.id in stored and _differs(d, stored[d.id])}


@dataclass(frozen=True)
class Decision:
    """What was decided for a document: enough to write it again, if its Document is at hand."""

    outcome: Outcome
    group: str | None = None
    duplicate_of: str | None = None
    written: int = 0


class Ingest:
    """One run: for each batch, in order, :meth:`look_up` and :meth:`settle`; then :meth:`finish`.

    :param near: the rule by which a document duplicates another. Where texts confirm, a document that may duplicate one
        without a text in the store has failed.
    :param on_duplicate: what to do with a *new* document that duplicates another: ``index`` (write it, with what
        it duplicates), ``skip`` (don't write it) or ``fail`` (end the run before it). An update is always written.
    :param clause: only documents that satisfy it can be duplicated.
    :param deadline: seconds for which single documents are sent again while the store is too busy for them.
    """

    def __init__(
        self,
        near: Near,
        on_duplicate: OnDuplicate,
        clause: Mapping[str, Any] | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        if on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        self.on_duplicate = on_duplicate
        self.stopped: DuplicateFound | None = None
        self.conflicts: list[str] = []
        """Ids of documents that others wrote between their reading and their writing; they have no outcome."""
        self._near = near
        self._clause = clause
        self._deadline = deadline
        self._memory = Memory()
        self._recent = Recent()
        self._unrefreshed = False
        self._clock = 0

    # --- look up -------------------------------------------------------------------------------------------

    def look_up(self, items: Sequence[Document | Outcome], unsettled: Looked | None = None) -> Flow[Looked]:
        """Ask the store about a batch.

        :param items: documents, and the Outcomes of those that were rejected on the way here.
        :param unsettled: the batch before, if it is not settled yet.
        """
        hidden = self._memory.hidden | (unsettled.replaced if unsettled else {})
        return self._look_up(items, self._memory, hidden)

    def _look_up(self, items: Sequence[Document | Outcome], memory: Memory, hidden: Mapping[str, str]) -> Flow[Looked]:
        documents = [item for item in items if isinstance(item, Document)]
        stored = yield from ask(Fetch(tuple(document.id for document in documents)))
        changed = [d for d in documents if d.id not in stored or _differs(d, stored[d.id])]
        # What search has of these will be out of date in the course of the batch: both versions are at hand.
        before = [stored[document.id] for document in changed if document.id in stored]
        found, problems = yield from self._found(changed, {**hidden, **{row.id: row.digest for row in before}})
        if self._clause is None:
            found += before  # else only the store can say whether they satisfy the clause
        if problems:
            items = [failed(item, problems[item.id]) if item.id in problems else item for item in items]
        return Looked(items, stored, found, memory)

    def _found(
        self, documents: Sequence[Document], hidden: Mapping[str, str]
    ) -> Flow[tuple[list[Row], dict[str, str]]]:
        """What may be near the documents; and why that can't be known of some."""
        if not documents:
            return [], {}
        try:
            return (yield from self._candidates(documents, hidden)), {}
        except (TooManyCandidates, TooLarge) as error:
            if len(documents) == 1:
                return [], {documents[0].id: str(error)}
        # One document that the store has no answer for is not to stop the others.
        middle = len(documents) // 2
        first, problems = yield from self._found(documents[:middle], hidden)
        second, more = yield from self._found(documents[middle:], hidden)
        return [*first, *second], problems | more

    def _candidates(self, documents: Sequence[Document], hidden: Mapping[str, str]) -> Flow[list[Row]]:
        probes = tuple(probe(self._alone(document)) for document in documents)
        if self._clause is not None:
            # It names those too that we know better: that they are found is how we know that they satisfy the clause.
            return (yield from ask(Candidates(probes, self._near.max_distance, self._clause)))
        return (yield from up_to_date(Candidates(probes, self._near.max_distance, one_per_digest=True), hidden))

    # --- settle --------------------------------------------------------------------------------------------

    def decide(self, looked: Looked) -> Flow[dict[str, Decision]]:
        """What each document of a batch is, before anything is written."""
        neighbours = yield from self._neighbours(looked)
        return (yield from self._decide(looked, neighbours, looked.documents, {}))

    def settle(self, looked: Looked, decided: Mapping[str, Decision], *, again: bool = False) -> Flow[list[Outcome]]:
        """Write a batch as it was decided.

        :param again: it may have been written already, by a run that then broke off.
        :returns: an Outcome for each item, in their order, without those of which others wrote another version
            meanwhile. After a duplicate under ``fail`` the rest of the batch is not looked at, and ``stopped`` holds
            the error to raise.
        """
        documents = {document.id: document for document in looked.documents}
        entries: dict[str, Entry] = {}
        written: dict[str, Entry] = {}
        decisions, pending = dict(decided), decided
        neighbours: Neighbours | None = None
        conflicts: set[str] = set()
        while True:
            new = {id: _entry(documents[id], decision) for id, decision in pending.items() if decision.group}
            new = yield from self._once_more(new, written)
            written |= new
            entries |= new
            refused, lost = yield from self._write(list(new.values()))
            conflicts |= lost
            for id in [*refused, *lost]:
                del entries[id]
                outcome = _failed(decisions[id].outcome, documents[id], refused.get(id, "others wrote it meanwhile"))
                decisions[id] = Decision(outcome)
            if not refused and not lost:
                break
            unsettled = self._unsettled(looked, decisions, entries, {*refused, *lost})
            if not unsettled:
                break
            neighbours = neighbours or (yield from self._neighbours(looked))
            pending = yield from self._decide(looked, neighbours, unsettled, entries)
            decisions |= pending
        self.conflicts += conflicts
        yield from self._remember(looked, documents, entries, again)
        reached = takewhile(lambda item: isinstance(item, Outcome) or item.id in decisions, looked.items)
        return [
            item if isinstance(item, Outcome) else _with_document(decisions[item.id].outcome, item)
            for item in reached
            if isinstance(item, Outcome) or item.id not in conflicts
        ]

    def _once_more(self, entries: dict[str, Entry], written: Mapping[str, Entry]) -> Flow[dict[str, Entry]]:
        """The entries, with the versions that our own writing gave to those that were written before."""
        again = {id for id, entry in entries.items() if id in written and entry.version is not None}
        if not again:
            return entries
        stored = yield from ask(Fetch(tuple(sorted(again))))
        ours = {
            id: row.version
            for id, row in stored.items()
            if replace(row, written=written[id].written) == as_row(written[id])
        }
        return {id: replace(entry, version=ours.get(id, entry.version)) for id, entry in entries.items()}

    def finish(self) -> Flow[None]:
        """Make everything that was written visible to search."""
        if self._unrefreshed:
            yield from self._refresh()

    def _refresh(self) -> Flow[None]:
        yield from ask(Refresh())
        self._forget()
        self._unrefreshed = False

    def _forget(self) -> None:
        # A new one: a batch that is being looked up holds on to the one before.
        self._memory = Memory()

    def _neighbours(self, looked: Looked) -> Flow[Neighbours]:
        others = self._memory.over(looked.memory.over({row.id: row for row in looked.found}))
        neighbours = Neighbours([self._alone(d) for d in looked.documents], others.values(), self._near.max_distance)
        if self._near.texts is not None:
            sources = [document.source for document in looked.documents]
            yield from neighbours.confirm_given(self._near.texts, sources, self._recent)
        return neighbours

    def _alone(self, document: Document) -> Row:
        fingerprint = document.fingerprint
        digest = fingerprint.copy_digest or ""
        return Row(document.id, fingerprint.value, digest, document.id, None, written=0, bits=fingerprint.bits)

    def _decide(
        self,
        looked: Looked,
        neighbours: Neighbours,
        documents: Iterable[Document],
        entries: Mapping[str, Entry],
    ) -> Flow[dict[str, Decision]]:
        written = dict(entries)
        decisions: dict[str, Decision] = {}
        known = {**looked.stored, **looked.memory.known, **self._memory.known}
        outside = {d.id for d in looked.documents if not self._matches(d)} if self._clause is not None else set()
        for document in documents:
            decision = yield from self._decide_one(document, looked.stored, known, neighbours, written, outside)
            decisions[document.id] = decision
            if decision.group:
                written[document.id] = _entry(document, decision)
            if self.stopped:
                break
        return decisions

    def _decide_one(
        self,
        document: Document,
        stored: Mapping[str, Row],
        known: Mapping[str, Row],
        neighbours: Neighbours,
        written: Mapping[str, Entry],
        outside: set[str],
    ) -> Flow[Decision]:
        fingerprint = document.fingerprint
        about: dict[str, Any] = {"fingerprinted": fingerprint.value is not None, "place": document.place}
        before = known[document.id] if document.id in stored else None
        if before is not None and not _differs(document, before):
            about |= {"duplicate_of": before.duplicate_of, "stored": True}
            return Decision(Outcome(document.id, "unchanged", **about))
        place = self._kept_place(document, before)
        try:
            found = yield from neighbours.nearest(document.id, written, place, outside)
        except InputError as error:
            return Decision(_failed(Outcome(document.id, "failed", **about), document, str(error)))
        original = found.row if found else None
        if found is None or original is None:
            outcome: OutcomeName = "new"
        else:
            outcome = "exact_duplicate" if original.digest == fingerprint.digest else "near_duplicate"
            about |= {"duplicate_of": original.id, "distance": found.distance, "similarity": found.similarity}
        if before is not None and before.digest:
            outcome = "updated"
        elif before is not None and document.version is None:
            outcome = "updated"  # it was there, without a fingerprint
        elif original is not None and self.on_duplicate != "index":
            if self.on_duplicate == "fail":
                self.stopped = DuplicateFound(
                    f"{document.place}: {document.id!r} duplicates {original.id!r} at a distance of "
                    f"{about['distance']} bits, "
                    "and duplicates are to fail: the documents before it are stored, it and those after it are not"
                )
            return Decision(Outcome(document.id, outcome, **about))
        return Decision(
            Outcome(document.id, outcome, stored=True, **about),
            group=original.group if original else document.id,
            duplicate_of=original.id if original else None,
            written=self._tick(original) if place is None else place,
        )

    def _kept_place(self, document: Document, before: Row | None) -> int | None:
        """Where in the order of writing a document stays, whose text changes only a little."""
        if before is None or not before.written:
            return None
        near = are_near(before, self._alone(document), self._near.max_distance, self._near.blank)
        return before.written if near else None

    def _tick(self, original: Row | None) -> int:
        """Now, and after everything of this run, and after the original: other machines' clocks may be ahead."""
        self._clock = max(self._clock + 1, time.time_ns() // 1000, original.written + 1 if original else 0)
        return self._clock

    def _matches(self, document: Document) -> bool:
        if self._clause is None or document.version is not None:  # found by it
            return True
        return matches(json.loads(document.source), document.id, self._clause)

    def _unsettled(
        self, looked: Looked, decisions: dict[str, Decision], entries: dict[str, Entry], refused: set[str]
    ) -> list[Document]:
        """Documents that were taken for duplicates of what was not written, or come after one that stopped there."""
        gone = set(refused)
        pending = []
        for document in looked.documents:
            decision = decisions.get(document.id)
            if decision is None and self.stopped is None:
                pending.append(document)
            elif decision and document.id not in refused and {decision.outcome.duplicate_of, decision.group} & gone:
                pending.append(document)
                gone.add(document.id)
                entries.pop(document.id, None)
                self.stopped = None
        return pending

    def _write(self, entries: Sequence[Entry]) -> Flow[tuple[dict[str, str], frozenset[str]]]:
        """Write, again and again what the store is too busy for; the reasons of what was refused, and the conflicts."""
        refused: dict[str, str] = {}
        conflicts: frozenset[str] = frozenset()
        waits = pauses(self._deadline)
        while entries:
            written = yield from ask(Write(tuple(entries)))
            self._unrefreshed |= not written.searchable
            refused |= written.refused
            conflicts |= written.conflicts
            entries = [entry for entry in entries if entry.id in written.busy]
            if entries:
                pause = next(waits, None)
                if pause is None:
                    reason = f"the server has been too busy for {self._deadline:g} s: ingest it again"
                    return refused | {entry.id: reason for entry in entries}, conflicts
                yield pause
        return refused, conflicts

    def _remember(
        self, looked: Looked, documents: Mapping[str, Document], entries: Mapping[str, Entry], again: bool
    ) -> Flow[None]:
        memory = self._memory
        for id, entry in entries.items():
            memory.keep(as_row(entry), replaces=looked.stored.get(id))
            if self._near.texts is not None:
                self._recent.keep(id, entry.digest, entry.source)
            if not self._matches(documents[id]):
                memory.outside.add(id)
        if self._clause is None:
            for id in looked.replaced - entries.keys():  # not written after all: search was told to leave it out
                memory.keep(looked.stored[id])
        moved = [id for id in entries if id in looked.stored and looked.stored[id].digest]
        if moved:
            # A head that stays one keeps its members; once written, what was before can't be told any more.
            stay = [id for id in moved if entries[id].group == id and looked.stored[id].written == entries[id].written]
            heads = set(moved) - set(() if again else stay)
            yield from relink(moved, memory, self._near, heads=heads, clause=self._clause)
        if not self._unrefreshed:
            self._forget()  # the store finds what is written at once
        elif len(memory.known) >= WINDOW:
            yield from self._refresh()


def _differs(document: Document, stored: Row) -> bool:
    return stored.digest != document.fingerprint.digest


def _entry(document: Document, decision: Decision) -> Entry:
    fingerprint = document.fingerprint
    assert decision.group is not None
    return Entry(
        id=document.id,
        fingerprint=fingerprint.value,
        digest=fingerprint.digest,
        group=decision.group,
        duplicate_of=decision.duplicate_of,
        source=document.source,
        written=decision.written,
        version=document.version,
        bits=fingerprint.bits,
    )


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
    """What was decided by a run that then broke off has the document no more."""
    if outcome.outcome != "failed" or outcome.document is not None:
        return outcome
    return replace(outcome, document=json.loads(document.source))


def failed(item: Document | Outcome, reason: str) -> Outcome:
    """The Outcome of an item that the run broke off before."""
    if isinstance(item, Outcome):
        return item
    outcome = Outcome(item.id, "failed", fingerprinted=item.fingerprint.value is not None, place=item.place)
    return _failed(outcome, item, reason)
