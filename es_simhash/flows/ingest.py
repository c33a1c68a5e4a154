"""Ingest: decide for each document what it is, and write it.

Which document a new one is said to duplicate: an exact copy before a near one, then the nearest, then the one
that was written first. The answer is the same whatever the size of the batches: each document is compared with
the store as the documents before it in the run left it, whether or not those can be found by search yet.

A batch costs three requests: the stored versions of its ids, all candidates at once, and one bulk write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from es_simhash.errors import DuplicateFound, InputError
from es_simhash.flows.similar import within
from es_simhash.ops import Candidates, Entry, Fetch, Probe, Refresh, Row, Write, ask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.core.fingerprint import Fingerprint
    from es_simhash.ops import Flow

WINDOW = 5_000
"""How many documents are compared in memory at most before the store is asked to make them searchable."""

OnDuplicate = Literal["index", "skip", "fail"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = ("index", "skip", "fail")
OUTCOMES = ("new", "updated", "unchanged", "exact_duplicate", "near_duplicate", "rejected", "failed")


@dataclass(frozen=True)
class Document:
    """A document on its way in: checked and fingerprinted.

    :param source: the whole document as JSON.
    :param place: where it came from, for messages: ``news.jsonl:12``.
    """

    id: str
    fingerprint: Fingerprint
    source: str
    place: str


@dataclass(frozen=True)
class Outcome:
    """What became of one document.

    :param id: None if it could not be read.
    :param outcome: ``new``, ``updated`` (the id was there, with another text), ``unchanged`` (the same text; nothing
        was written), ``exact_duplicate``, ``near_duplicate``, ``rejected`` (the document is at fault) or ``failed``
        (the store would not take it).
    :param duplicate_of: id of what it duplicates; also for an updated document.
    :param distance: Hamming distance from that in bits.
    :param stored: the store holds this document now.
    :param fingerprinted: False if its text has too little to say: only exact copies of it can be found.
    :param reason: of ``rejected`` and ``failed``, with the place and the fix.
    :param place: where the document came from.
    """

    id: str | None
    outcome: str
    duplicate_of: str | None = None
    distance: int | None = None
    stored: bool = False
    fingerprinted: bool = False
    reason: str | None = None
    place: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without ``reason`` where there is none."""
        values = asdict(self)
        return values if self.reason else {key: value for key, value in values.items() if key != "reason"}


class Ingest:
    """One run: :meth:`batch` for each batch, in order, then :meth:`finish`.

    No id may come twice in a run.

    :param max_distance: how near a near-duplicate is, in bits.
    :param on_duplicate: what to do with a *new* document that duplicates another: ``index`` (write it, with what
        it duplicates), ``skip`` (don't write it) or ``fail`` (end the run before it). An update is always written.
    """

    def __init__(self, max_distance: int, on_duplicate: OnDuplicate) -> None:
        if on_duplicate not in ON_DUPLICATE:
            raise InputError(f"on_duplicate is {on_duplicate!r}: use one of {', '.join(ON_DUPLICATE)}")
        self.max_distance = max_distance
        self.on_duplicate = on_duplicate
        self.stopped: DuplicateFound | None = None
        self._recent: dict[str, Row] = {}  # written in this run, perhaps not searchable yet, in the order of the run
        self._replaced: set[str] = set()  # ids whose searchable version may be out of date
        self._unrefreshed = False

    def batch(self, items: Sequence[Document | Outcome]) -> Flow[list[Outcome]]:
        """Decide and write a batch.

        :param items: documents, and the Outcomes of those that were rejected on the way here.
        :returns: an Outcome for each item, in their order. After a duplicate under ``fail`` the rest of the batch is
            not looked at, and ``stopped`` holds the error to raise.
        """
        documents = [item for item in items if isinstance(item, Document)]
        stored = yield from ask(Fetch(tuple(document.id for document in documents)))
        changed = [d for d in documents if d.id not in stored or stored[d.id].digest != d.fingerprint.digest]
        neighbours = yield from self._neighbours(changed, stored)
        outcomes: dict[str, Outcome] = {}
        entries: dict[str, Entry] = {}
        pending: Sequence[Document] = documents
        while pending:
            new: list[Entry] = []
            for document in pending:
                outcomes[document.id], entry = self._decide(document, stored.get(document.id), neighbours, entries)
                if entry:
                    entries[document.id] = entry
                    new.append(entry)
                if self.stopped:
                    break
            refused = yield from self._write(new, stored)
            for id, reason in refused.items():
                del entries[id]
                outcomes[id] = _failed(outcomes[id], reason)
            pending = self._unsettled(documents, outcomes, entries, refused) if refused else []
        if len(self._recent) >= WINDOW:
            yield from self._refresh()
        reached = takewhile(lambda item: isinstance(item, Outcome) or item.id in outcomes, items)
        return [item if isinstance(item, Outcome) else outcomes[item.id] for item in reached]

    def _unsettled(
        self,
        documents: Sequence[Document],
        outcomes: dict[str, Outcome],
        entries: dict[str, Entry],
        refused: Mapping[str, str],
    ) -> list[Document]:
        """Documents that were taken for duplicates of what the store refused, or come after one that stopped there."""
        gone = set(refused)
        pending = []
        for document in documents:
            outcome, entry = outcomes.get(document.id), entries.get(document.id)
            if outcome is None and self.stopped is None:
                pending.append(document)
            elif outcome and (outcome.duplicate_of in gone or (entry and entry.group in gone)):
                pending.append(document)
                gone.add(document.id)
                entries.pop(document.id, None)
                self.stopped = None
        return pending

    def finish(self) -> Flow[None]:
        """Make everything that was written visible to search."""
        if self._unrefreshed:
            yield from self._refresh()

    def _refresh(self) -> Flow[None]:
        yield from ask(Refresh())
        self._recent.clear()
        self._replaced.clear()
        self._unrefreshed = False

    def _neighbours(self, documents: Sequence[Document], stored: Mapping[str, Row]) -> Flow[_Neighbours]:
        """What may be near these documents: in the store, in memory, and among themselves."""
        if not documents:
            return _Neighbours([], [], [], self.max_distance)
        probes = tuple(
            Probe(d.fingerprint.value, None if d.fingerprint.blank else d.fingerprint.digest) for d in documents
        )
        # What search has of these is out of date, or will be in the course of this batch: both versions are at hand.
        before = [stored[document.id] for document in documents if document.id in stored]
        without = tuple(sorted(self._replaced | {row.id for row in before}))
        found = yield from ask(Candidates(probes, self.max_distance, None, without, one_per_digest=True))
        return _Neighbours(
            documents, probes, [*sorted([*found, *before], key=_age), *self._recent.values()], self.max_distance
        )

    def _decide(
        self, document: Document, before: Row | None, neighbours: _Neighbours, entries: Mapping[str, Entry]
    ) -> tuple[Outcome, Entry | None]:
        fingerprint = document.fingerprint
        about: dict[str, Any] = {"fingerprinted": fingerprint.value is not None, "place": document.place}
        if before is not None and before.digest == fingerprint.digest:
            about |= {"duplicate_of": before.duplicate_of, "stored": True}
            return Outcome(document.id, "unchanged", **about), None
        original, distance = neighbours.nearest(document, entries)
        if original is None:
            outcome = "new"
        else:
            outcome = "exact_duplicate" if original.digest == fingerprint.digest else "near_duplicate"
            about |= {"duplicate_of": original.id, "distance": distance}
        if before is not None:
            outcome = "updated"
        elif original is not None and self.on_duplicate != "index":
            if self.on_duplicate == "fail":
                self.stopped = DuplicateFound(
                    f"{document.place}: {document.id!r} duplicates {original.id!r} at a distance of {distance} bits, "
                    "and duplicates are to fail: the documents before it are stored, it and those after it are not"
                )
            return Outcome(document.id, outcome, **about), None
        entry = Entry(
            id=document.id,
            fingerprint=fingerprint.value,
            digest=fingerprint.digest,
            group=original.group if original else document.id,
            # The head of a group does not duplicate a member of it: after an update the link would run in a circle.
            duplicate_of=original.id if original and original.group != document.id else None,
            source=document.source,
        )
        return Outcome(document.id, outcome, stored=True, **about), entry

    def _write(self, entries: Sequence[Entry], stored: Mapping[str, Row]) -> Flow[Mapping[str, str]]:
        if not entries:
            return {}
        written = yield from ask(Write(tuple(entries)))
        if not written.searchable:
            self._unrefreshed = True
            kept = [entry for entry in entries if entry.id not in written.refused]
            self._recent |= {entry.id: _row(entry) for entry in kept}
            self._replaced |= {entry.id for entry in kept if entry.id in stored}
        return written.refused


class _Neighbours:
    """Which rows are near which documents of a batch, and which of those count when it is a document's turn."""

    def __init__(
        self, documents: Sequence[Document], probes: Sequence[Probe], earlier: Sequence[Row], max_distance: int
    ) -> None:
        self._places = {document.id: place for place, document in enumerate(documents)}
        self._earlier = len(earlier)
        self._rows = [*earlier, *(_row_of(document) for document in documents)]
        self._near = within(probes, self._rows, max_distance)
        self._copies: dict[str, list[int]] = defaultdict(list)
        for place, row in enumerate(self._rows):
            self._copies[row.digest].append(place)

    def nearest(self, document: Document, entries: Mapping[str, Entry]) -> tuple[Row | None, int | None]:
        """What a document duplicates, and the distance.

        :param entries: what the documents before it in the batch will be written as.
        """
        place = self._places[document.id]
        digest = document.fingerprint.digest
        found = [(True, distance, at) for at, distance in self._near[place]]
        if not document.fingerprint.blank:
            found += [(False, 0, at) for at in self._copies[digest]]
        for _, distance, at in sorted(found):
            row = self._rows[at]
            if row.id == document.id:
                continue
            if at >= self._earlier:  # of this batch: counts from its turn on, if it is written
                if row.id in entries:
                    return _row(entries[row.id]), distance
            elif row.id not in entries:  # a version that this batch has not replaced yet
                return row, distance
        return None, None


class Counts:
    """How many documents had which outcome."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.without_fingerprint = 0

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.outcomes[outcome.outcome] += 1
        self.without_fingerprint += outcome.stored and not outcome.fingerprinted

    @property
    def total(self) -> int:
        """All of them."""
        return self.outcomes.total()

    @property
    def not_taken(self) -> int:
        """Rejected ones and failed ones."""
        return self.outcomes["rejected"] + self.outcomes["failed"]

    def to_dict(self) -> dict[str, int]:
        """``total``, each of OUTCOMES, and ``without_fingerprint``: stored, with too little to say for one."""
        counts = {name: self.outcomes[name] for name in OUTCOMES}
        return {"total": self.total, **counts, "without_fingerprint": self.without_fingerprint}


def _failed(outcome: Outcome, reason: str) -> Outcome:
    reason = f"{outcome.place}: {reason}"
    return Outcome(outcome.id, "failed", fingerprinted=outcome.fingerprinted, reason=reason, place=outcome.place)


def _age(row: Row) -> tuple[int, str]:
    return row.written, row.id


def _row(entry: Entry) -> Row:
    return Row(entry.id, entry.fingerprint, entry.digest, entry.group, entry.duplicate_of, written=0)


def _row_of(document: Document) -> Row:
    return Row(document.id, document.fingerprint.value, document.fingerprint.digest, document.id, None, written=0)
