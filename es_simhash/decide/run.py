"""Take documents: decide what each is, and write it.

A batch goes through rounds. A round looks its documents up, decides them, and writes them. A document that another
program wrote meanwhile goes into the next round. At last, what was linked to former texts is decided again.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from es_simhash.decide.choose import Asker, choose
from es_simhash.decide.decider import ATTEMPTS
from es_simhash.decide.outcome import Outcome, failed
from es_simhash.errors import InputError
from es_simhash.filters import check_filter_of_heads
from es_simhash.machine import free_memory
from es_simhash.rows import Entry, Hits, Row, Scan, Written
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from es_simhash.decide.choose import Original
    from es_simhash.decide.decider import Choice, Decider
    from es_simhash.decide.outcome import Document, OutcomeName
    from es_simhash.store.protocol import Filter

SHARE = 20
"""The documents of a store are held if they are at most so many times those that the run has taken."""
CHANGED = f"other programs changed it or its original each of the {ATTEMPTS} times that it was decided: ingest it again"
MOVED = "another program changed or removed it meanwhile: run the backfill again"

OnDuplicate = Literal["index", "skip"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = get_args(OnDuplicate)
OnUpdate = Literal["write", "keep"]
ON_UPDATE: tuple[OnUpdate, ...] = get_args(OnUpdate)


@value
class Options:
    """How documents are taken.

    :param on_duplicate: what to do with a *new* document that is a duplicate: ``index`` (write it, linked to its head)
        or ``skip`` (do not write it).
    :param on_update: what to do with another text for a stored id: ``write`` it, or ``keep`` the stored document if the
        text is a copy of its text.
    :param filter: only documents that match it become heads of others.
    :raises InputError: for a value that is not allowed; for a filter that the program cannot evaluate.
    """

    on_duplicate: OnDuplicate = "index"
    on_update: OnUpdate = "write"
    filter: Filter | None = None

    def __post_init__(self) -> None:
        if self.on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {self.on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        if self.on_update not in ON_UPDATE:
            raise InputError(f"on_update is {self.on_update!r}: use one of {', '.join(ON_UPDATE)}")
        check_filter_of_heads(self.filter)


@value
class LookedUp:
    """A batch, and what the store has about it.

    :param epoch: of the pending rows when the look-up began.
    :param former: by id, the stored documents that it replaces.
    :param known: by id, the rows that were pending before ``former`` was read.
    :param askers: by id, the documents whose text is not stored yet.
    :param hits: by id, what may be near these.
    :param heads: ids of documents that others are copies of, and that get another text.
    """

    documents: Sequence[Document]
    epoch: int
    former: Mapping[str, Row]
    known: Mapping[str, Row | None]
    askers: Mapping[str, Asker]
    hits: Mapping[str, Hits]
    heads: frozenset[str]


@value
class _Decision:
    """What was decided for a document.

    :param entry: what is written; None if nothing is.
    :param leaves_copies: the stored document has copies, and another text now, or another time where times count, or
        it is no head any more. So its copies are decided again.
    :param original: what it was found to be a copy of.
    """

    document: Document
    outcome: Outcome
    entry: Entry | None = None
    leaves_copies: bool = False
    original: Original | None = None


class Run:
    """Takes batches of documents.

    :param is_load: very many documents may come. Then all documents of the store are held in memory, while they fit
        into a quarter of the free memory.
    """

    def __init__(self, decider: Decider, options: Options, *, is_load: bool = False) -> None:
        self._decider, self._options = decider, options
        self._store, self._rule, self._pending = decider.store, decider.rule, decider.pending
        self._may_hold_all = is_load and not self._store.in_memory and options.filter is None
        self._room = (free_memory() or 0) // (4 * self._rule.bytes_of_row) if self._may_hold_all else 0
        self._stored: int | None = None
        self._taken = 0
        self._backfilled = -(1 << 62)
        """The order of the last document that has its time as order. A backfill reads them by their time."""

    # --- look up ----------------------------------------------------------------------------------------------------

    def look_up(self, documents: Sequence[Document]) -> LookedUp:
        """Ask the store about documents with different ids. Another thread may do it for the next batch."""
        epoch = self._pending.epoch
        former = {document.id: document.stored for document in documents if document.stored is not None}
        ids = [document.id for document in documents if document.stored is None]
        known = {id: self._pending.memory.row(id) for id in ids}
        former |= {id: stored.row for id, stored in self._store.read(ids).items()} if ids else {}
        askers = {
            document.id: self._asker(document)
            for document in documents
            if document.stored is not None or not self._is_same(document, former.get(document.id))
        }
        if self._options.on_update == "keep" and self._rule.min_similarity is not None:
            self._decider.texts.read_ahead(former[id] for id in askers if id in former)
        hits = self._decider.search(list(askers.values()), self._options.filter)
        replaced = [id for id in askers if id in former and former[id].duplicate_of is None]
        members = self._store.members(replaced) if replaced else []
        heads = frozenset(row.duplicate_of for row in members if row.duplicate_of is not None)
        return LookedUp(documents, epoch, former, known, askers, dict(zip(askers, hits, strict=True)), heads)

    def _is_same(self, document: Document, former: Row | None) -> bool:
        """Return whether the text of a document is stored under its id, and its time, where times count."""
        if former is None or former.digest != document.fingerprint.digest:
            return False
        return self._rule.window is None or former.time == document.time

    def _asker(self, document: Document) -> Asker:
        """Return a document that asks what it is a copy of."""
        fingerprint, keys = document.fingerprint, document.keys
        values = () if keys is None else keys.values
        row = Row(
            document.id,
            fingerprint.value,
            fingerprint.digest,
            length=None if keys is None else keys.length,
            time=document.time,
            content=document.content,
        )
        features = None
        if self._rule.min_similarity is not None:
            features = TextFeatures(document.text, self._rule.fingerprinter, is_normalised=True)
        return Asker(row, values, self._rule.probe(row, keys), features, source=document.source)

    def _in_order(self, asker: Asker, former: Row | None, is_backfill: bool) -> Asker:
        """Return a document with its place in the order: a small change keeps it, else it comes now.

        A backfill takes the time of a document that has one.
        """
        row, now = asker.row, self._decider.tick()
        order, keeps_order = now, False
        if former is not None and former.digest and (former.digest == row.digest or self._rule.is_near(former, row)):
            order, keeps_order = former.order, True
        elif is_backfill and row.time is not None:
            self._backfilled = max(row.time * 1000, self._backfilled + 1)
            order, keeps_order = self._backfilled, True
        row = row._replace(order=order, written=now, version=None if former is None else former.version)
        return replace(asker, row=row, keeps_order=keeps_order)

    # --- take -------------------------------------------------------------------------------------------------------

    def take(self, looked: LookedUp) -> list[Outcome]:
        """Decide and write a batch that was looked up, and return an Outcome for each document, in their order.

        A document of a backfill that another program changes meanwhile is an Outcome ``failed``.
        """
        outcomes: dict[str, Outcome] = {}
        attempts: Counter[str] = Counter()
        documents = looked.documents
        if self._may_hold_all and self._taken:  # of a few documents there is no second batch
            self._hold_all_if_it_pays()
        while True:
            late: list[Document] = []
            for part in self._parts(looked):
                rest = part
                while rest:
                    rest, changed = self._take_part(rest, looked, outcomes, attempts)
                    late += changed
            if not late:
                break
            outcomes |= {d.id: failed(d, CHANGED) for d in late if attempts[d.id] == ATTEMPTS}
            self._store.refresh()
            looked = self.look_up([document for document in late if attempts[document.id] < ATTEMPTS])
        self._taken += len(documents)
        self._decider.forget()
        return [outcomes[document.id] for document in documents]

    def empty(self, rows: Sequence[Row]) -> None:
        """Take the fingerprints from stored documents that have no text any more, and decide their copies again.

        One that another program changes meanwhile stays as it is.
        """
        entries = [Entry(row._replace(fingerprint=None, digest="", length=None, duplicate_of=None), ()) for row in rows]
        with self._decider.turn():
            emptied = self._store.write(entries).versions
            for id in emptied:
                self._pending.remove(id)  # a search may still find it
            self._decider.again(sorted(emptied), self._options.filter)

    def _hold_all_if_it_pays(self) -> None:
        """Hold the documents of the store in memory, if they are few beside those that come, while there is room."""
        if self._stored is None:
            self._stored = self._store.count(Scan())
        fits = self._stored + self._taken <= self._room
        if self._pending.is_whole and not fits:
            self._pending.end_whole()
            self._decider.forget(now=True)
        elif not self._pending.is_whole and fits and self._stored <= SHARE * self._taken:
            self._decider.hold_all()

    def _parts(self, looked: LookedUp) -> Iterator[list[Document]]:
        """Yield the documents in parts: after a document with copies these are decided again, before the next part."""
        part: list[Document] = []
        for document in looked.documents:
            part.append(document)
            if document.id in looked.askers and self._has_copies(document.id, looked):
                yield part
                part = []
        if part:
            yield part

    def _take_part(
        self, part: Sequence[Document], looked: LookedUp, outcomes: dict[str, Outcome], attempts: Counter[str]
    ) -> tuple[list[Document], list[Document]]:
        """Decide and write documents, then decide what was linked to them.

        :param attempts: by id, how often a document was decided in vain.
        :returns: the documents that come after these, and those to look up again.
        """
        heads: list[str] = []
        with self._decider.turn():
            if looked.epoch != self._pending.epoch:
                return [], list(part)
            decisions, late, rest = self._decide(part, looked)
            outcomes |= {decision.document.id: decision.outcome for decision in decisions}
            in_vain = self._write(decisions, looked, outcomes, heads)
            if heads:
                self._decide_linked(heads, outcomes, {document.id for document in in_vain})
        attempts.update(document.id for document in in_vain)
        return rest, [*late, *in_vain]

    def _has_copies(self, id: str, looked: LookedUp) -> bool:
        """Return whether others are copies of a document."""
        return id in looked.heads or bool(self._pending.memory.members([id]))

    # --- decide -----------------------------------------------------------------------------------------------------

    def _decide(
        self, part: Sequence[Document], looked: LookedUp
    ) -> tuple[list[_Decision], list[Document], list[Document]]:
        """Return what was decided, the documents to look up again, and those that are not decided yet.

        A document of the part may become a copy of a later one that gets another text. It is decided again before those
        behind that one.
        """
        decisions: dict[str, _Decision] = {}
        late: list[Document] = []
        askers: list[Asker] = []
        documents = {document.id: document for document in part}
        former_rows = {id: self._former(id, looked) for id in documents}
        for id, document in documents.items():
            former = former_rows[id]
            if document.stored is not None and former is not None and former.digest != document.stored.digest:
                decisions[id] = _Decision(document, failed(document, MOVED))
            elif document.stored is None and former is not None and self._is_same(document, former):
                decisions[id] = self._same_text(document, former)
            elif id in looked.askers and (kept := self._kept(document, looked.askers[id], former)) is not None:
                decisions[id] = kept
            elif id in looked.askers:
                askers.append(self._in_order(looked.askers[id], former, document.stored is not None))
            else:
                late.append(document)  # another call changed its text since it was looked up
        hits = [looked.hits[asker.row.id] for asker in askers]
        with closing(self._decider.decide(askers, hits, self._options.filter)) as choices:
            for choice in choices:
                id = choice.row.id
                decisions[id] = self._decision(documents[id], choice, former_rows[id], looked)
                if decisions[id].entry is None:
                    self._pending.drop(id)
                if decisions[id].leaves_copies:
                    break
        rest = [documents[asker.row.id] for asker in askers if asker.row.id not in decisions]
        return [decisions[id] for id in documents if id in decisions], late, rest

    def _former(self, id: str, looked: LookedUp) -> Row | None:
        """Return what is stored under an id: as it was read, or as it was decided since."""
        row = self._pending.memory.row(id)
        return looked.former.get(id) if row is None or row is looked.known.get(id) else row

    def _same_text(self, document: Document, former: Row) -> _Decision:
        """Return the decision for a document whose text is stored under its id."""
        row = former._replace(content=document.content, time=document.time)
        if row == former:
            return _Decision(document, _outcome(document, "unchanged", former.duplicate_of))
        keys = () if document.keys is None else document.keys.values
        outcome = _outcome(document, "updated", former.duplicate_of)
        return _Decision(document, outcome, Entry(row, keys, document.source))

    def _kept(self, document: Document, asker: Asker, former: Row | None) -> _Decision | None:
        """Return the decision for a copy of the text that is stored under its id; None if it is written."""
        if self._options.on_update != "keep" or former is None or not former.digest:
            return None
        copied = choose(asker, None, [former], self._rule, self._decider.texts.of_rows)
        if copied is None:
            return None
        return _Decision(document, _outcome(document, "kept", former.duplicate_of, copied))

    def _decision(self, document: Document, choice: Choice, former: Row | None, looked: LookedUp) -> _Decision:
        """Return the decision for a document whose text is not stored under its id."""
        original, row = choice.original, choice.row
        if former is not None and not former.digest:
            former = None  # it has no text yet
        name = _name(original)
        if former is not None:
            same = document.stored is not None and former.digest == row.digest
            name = "unchanged" if same and former.duplicate_of == row.duplicate_of else "updated"
        outcome = _outcome(document, name, row.duplicate_of, original, choice.left_out)
        if original is not None and former is None and document.stored is None and self._options.on_duplicate == "skip":
            return _Decision(document, replace(outcome, stored=False))
        if former is not None and former == row._replace(written=former.written, content=former.content):
            return _Decision(document, outcome)
        entry = Entry(row, choice.asker.keys, document.source)
        is_left = former is not None and (original is not None or not self._is_same(document, former))
        leaves_copies = is_left and self._has_copies(document.id, looked)
        return _Decision(document, outcome, entry, leaves_copies, original)

    # --- write ------------------------------------------------------------------------------------------------------

    def _write(
        self, decisions: Sequence[_Decision], looked: LookedUp, outcomes: dict[str, Outcome], heads: list[str]
    ) -> list[Document]:
        """Write documents. Return those that must be looked up again.

        :param heads: gets the ids of heads that have changed or are gone. What is linked to them is decided again.
        """
        own = {decision.document.id for decision in decisions if decision.entry is not None}
        lost = self._decider.lost_heads([d.original for d in decisions if d.entry is not None], own)
        heads += lost
        entries = [d.entry for d in decisions if d.entry is not None and d.outcome.duplicate_of not in lost]
        written = self._store.write(entries) if entries else Written({}, frozenset(), {})
        late = []
        for decision in decisions:
            id, entry = decision.document.id, decision.entry
            if entry is None:
                continue
            if id in written.versions:
                self._settle(entry, written.versions[id])
                heads += [id] if decision.leaves_copies else []
                continue
            heads += [id] if self._has_copies(id, looked) else []
            self._pending.drop(id)
            if id in written.refused:
                outcomes[id] = failed(decision.document, written.refused[id])
            elif decision.document.stored is not None:
                outcomes[id] = failed(decision.document, MOVED)
            else:
                late.append(decision.document)
        self._decider.read_again(decision.document.id for decision in decisions if decision.outcome.stored)
        return late

    def _settle(self, entry: Entry, version: Any) -> None:
        """Say that a document is written. One with the same text as before need not be pending."""
        row = entry.row._replace(version=version)
        if (asker := self._pending.unwritten.get(row.id)) is not None:
            if asker.features is not None:
                self._decider.texts.keep(row.digest, asker.features)
            self._pending.write(row)
        elif row.id in self._pending:
            self._pending.enter_stored([row], [entry.keys or ()])

    def _decide_linked(self, heads: Sequence[str], outcomes: dict[str, Outcome], in_vain: Collection[str]) -> None:
        """Decide again what is linked to documents whose text changed, or that the store did not take.

        :param in_vain: ids of documents that are decided again later.
        """
        for id, choice in self._decider.again(heads, self._options.filter).items():
            former = outcomes.get(id)
            head = None if former is None else outcomes.get(former.duplicate_of or "")
            if former is not None and head is not None and (head.id in in_vain or head.outcome == "failed"):
                outcomes[id] = _with_original(former, choice.original)


def _outcome(
    document: Document, name: OutcomeName, duplicate_of: str | None, original: Original | None = None, left_out: int = 0
) -> Outcome:
    """Return the Outcome of a document that is stored.

    :param original: what it is a copy of, if that was looked for.
    """
    return Outcome(
        document.id,
        name,
        duplicate_of=duplicate_of,
        distance=None if original is None else original.distance,
        similarity=None if original is None else original.similarity,
        stored=True,
        fingerprinted=document.fingerprint.value is not None,
        place=document.place,
        left_out=left_out,
    )


def _with_original(outcome: Outcome, original: Original | None) -> Outcome:
    """Return the Outcome of a duplicate whose head the store did not take."""
    return replace(
        outcome,
        outcome="updated" if outcome.outcome == "updated" else _name(original),
        duplicate_of=None if original is None else original.id,
        distance=None if original is None else original.distance,
        similarity=None if original is None else original.similarity,
    )


def _name(original: Original | None) -> OutcomeName:
    """Return the outcome of a document that is not stored yet."""
    if original is None:
        return "new"
    return "exact_duplicate" if original.exact else "near_duplicate"
