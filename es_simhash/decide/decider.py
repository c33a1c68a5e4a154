"""The Decider: what is near a document, which head it is a copy of, and what was linked to documents that changed."""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from es_simhash.decide.choose import Asker, Original, choose, distance_or_more
from es_simhash.decide.pending import Pending
from es_simhash.decide.texts import Texts
from es_simhash.errors import StoreError, count_of
from es_simhash.filters import parse_filter
from es_simhash.parts import in_parts
from es_simhash.retries import held
from es_simhash.rows import MOST_HITS, Entry, Hits, Probe, Row, Scan, Written
from es_simhash.text.keys import keys_of_texts
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.rows import Stored
    from es_simhash.store.protocol import Filter, Store

_log = logging.getLogger("es_simhash")

MOST_PENDING = 20_000
"""Documents that are pending, after which the store is refreshed and they are forgotten."""
OLDEST_PENDING = 10.0
"""Seconds after which they are forgotten: what other programs did to them is known then."""
READ_AHEAD = 10
"""Texts of candidates that are read for a document before it is decided: mostly the nearest is its head."""
CLOCKS_DIFFER = 60_000_000
"""Microseconds by which the clock of another program may be behind, when its documents are read."""
ATTEMPTS = 5
"""How often a document is decided if other programs write it meanwhile."""
AT_ONCE = 500
"""Stored documents that are decided again, or removed, together."""
_NOTHING = Hits([], [])


@value
class Choice:
    """What was chosen for a document.

    :param row: the document as it was decided.
    :param original: None if it is a head.
    :param left_out: at least so many documents that may be near were not compared.
    """

    asker: Asker
    row: Row
    original: Original | None
    left_out: int


@value
class Decided:
    """What was decided for stored documents.

    :param choices: for each document that was decided.
    :param changed: by id, those whose link was written.
    :param former_heads: ids of those of them that were heads, and are copies now.
    :param conflicts: ids of those that another program changes meanwhile: they stay as they are.
    """

    choices: list[Choice]
    changed: dict[str, Choice]
    former_heads: frozenset[str]
    conflicts: set[str]


class Decider:
    """Decides for the documents of one store by one rule. One object serves all threads of a program.

    One call at a time decides and writes: it has the ``turn``. Meanwhile others read their texts, and look up.
    """

    def __init__(self, store: Store, rule: ResolvedRule) -> None:
        self.store, self.rule = store, rule
        self.pending = Pending(rule)
        self.texts = Texts(store, rule, self.pending.unwritten)
        self._heads: dict[str, Row | None] = {}
        """By id, stored heads that were read for the documents that are decided now."""
        self._turn = threading.RLock()
        self._clock = 0
        self._forgotten = time.monotonic()
        self._followed = 0

    def tick(self) -> int:
        """Return the order for now: after all that this process has decided."""
        self._clock = max(self._clock + 1, time.time_ns() // 1000)
        return self._clock

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let no other call decide or write in this block. After an error, what was not written is forgotten.

        :raises StoreUnavailable: if other calls have the turn until the deadline of this one.
        """
        with held(self._turn, "were still writing"):
            try:
                yield
            except BaseException:
                if self.pending.drop_unwritten():
                    self.pending.end_whole()
                raise

    # --- what is near -----------------------------------------------------------------------------------------------

    def search(self, askers: Sequence[Asker], filter: Filter | None) -> list[Hits]:
        """Return what the store finds near each document, and read the texts that will probably be compared."""
        if self.pending.is_whole or not askers:
            return [_NOTHING] * len(askers)
        hits = self.store.search([asker.probe for asker in askers], filter, heads=True)
        self._read_ahead(askers, hits)
        return hits

    def _read_ahead(self, askers: Sequence[Asker], hits: Sequence[Hits]) -> None:
        """Read the stored texts that are compared first, for several documents together."""
        if self.rule.min_similarity is None:
            return
        rows: list[Row] = []
        for asker, found in zip(askers, hits, strict=True):
            if not found.same:
                stored = [row for row in found.rows if row.version is not None and row.id != asker.row.id]
                near = [row for row in stored if self.rule.allows(asker.row, row)]
                rows += sorted(near, key=partial(distance_or_more, asker.row))[:READ_AHEAD]
        self.texts.read_ahead(rows)

    # --- decide -----------------------------------------------------------------------------------------------------

    def decide(
        self, askers: Sequence[Asker], hits: Sequence[Hits], filter: Filter | None
    ) -> Generator[Choice, None, None]:
        """Yield what each document is a copy of, in their order. Each is entered as what it was decided to be.

        The caller has the turn. It may drop the pending row before it takes the next choice, or take no further one.
        """
        self._heads = {}
        self.pending.enter(askers)
        try:
            pending = self.pending.search(askers, filter)
            self._read_ahead(askers, pending)
            for asker, stored, own in zip(askers, hits, pending, strict=True):
                row, original = asker.row, self._original(asker, stored, own, filter)
                if original is not None:
                    order = row.order if asker.keeps_order else max(row.order, original.order + 1)
                    row = row._replace(duplicate_of=original.id, order=order)
                    self._clock = max(self._clock, order)
                self.pending.decide(row)
                yield Choice(asker, row, original, max(stored.left_out, own.left_out))
        finally:
            self.pending.drop_undecided()

    def _original(self, asker: Asker, stored: Hits, own: Hits, filter: Filter | None) -> Original | None:
        """Return the head of which a document is a copy.

        :param stored: what the store has found.
        :param own: what is pending.
        """
        if not (own.same or own.rows or stored.same or stored.rows):
            return None
        same, heads = (
            [row for row in self.pending.as_decided(rows) if self._is_before(row, asker)]
            for rows in (own.same, own.rows)
        )
        if filter is not None:
            matching = self._matching({row.id for row in [*same, *heads]}, filter)
            same, heads = ([row for row in rows if row.id in matching] for rows in (same, heads))
        heads = [row for row in heads if row.duplicate_of is None][: asker.probe.most]
        heads += [row for row in stored.rows if row.id not in self.pending and self._is_before(row, asker)]
        exact = self._exact_copy(asker, same, stored.same, filter)
        return choose(asker, exact, heads, self.rule, self.texts.of_rows)

    def _exact_copy(self, asker: Asker, own: Sequence[Row], hits: Sequence[Row], filter: Filter | None) -> Row | None:
        """Return the first document with an equal text whose head can be that of a document.

        :param own: those that are pending.
        :param hits: the first ones that search has found. If none of them will do, it is asked for more.
        """
        exact = self._leading(asker, own, hits, filter)
        if exact is not None or not self._limits_heads(filter):
            return exact
        if not any(self._is_stale(hit) or self._is_before(hit, asker) for hit in hits):
            return None
        probe = Probe(digest=asker.probe.digest, times=asker.probe.times, most=MOST_HITS)
        [found] = self.store.search([probe], filter, heads=False)
        return self._leading(asker, own, found.same, filter)

    def _leading(self, asker: Asker, own: Sequence[Row], hits: Sequence[Row], filter: Filter | None) -> Row | None:
        """Return the first of the documents with an equal text whose head can be that of a document."""
        stored = [row for row in hits if row.id not in self.pending and self._is_before(row, asker)]
        same = sorted([*own, *stored], key=lambda row: row.order)
        return next((row for row in same if self._may_lead(row, asker, filter)), None)

    def _is_before(self, row: Row, asker: Asker) -> bool:
        """Return whether a row is another document in the window, and no later one if the order says so."""
        window = self.rule.window
        if window is not None and not window.holds(row.time, asker.row.time):
            return False
        return row.id != asker.row.id and (row.order <= asker.row.order or not asker.keeps_order)

    def _may_lead(self, row: Row, asker: Asker, filter: Filter | None) -> bool:
        """Return whether the head of an exact copy can be the head of a document. ``lost_heads`` checks it again."""
        if row.duplicate_of is None:
            return True
        head = self.pending.memory.row(row.duplicate_of)
        if head is None:
            if row.duplicate_of in self.pending or row.duplicate_of == asker.row.id:
                return False
            if not self._limits_heads(filter):
                return True
            head = self._stored_head(row.duplicate_of)
        if head is None or head.duplicate_of is not None or not self._is_before(head, asker):
            return False
        return filter is None or head.id in self._matching({head.id}, filter)

    def _limits_heads(self, filter: Filter | None) -> bool:
        """Return whether the head of a copy may be one that is not allowed, although the copy is."""
        return filter is not None or self.rule.window is not None

    def _stored_head(self, id: str) -> Row | None:
        """Return a head as it is stored. It is read once for the documents that are decided together."""
        if id not in self._heads:
            stored = self.store.read([id]).get(id)
            self._heads[id] = None if stored is None else stored.row
        return self._heads[id]

    def _is_stale(self, hit: Row) -> bool:
        """Return whether a document that search has found has another text now, or is removed."""
        known = self.pending.memory.row(hit.id)
        return hit.id in self.pending and (known is None or known.digest != hit.digest)

    def _matching(self, ids: set[str], filter: Filter) -> set[str]:
        """Return the ids of the pending documents that match a filter."""
        askers = [self.pending.unwritten[id] for id in ids if id in self.pending.unwritten]
        unwritten = {asker.row.id: json.loads(asker.source) for asker in askers if asker.source is not None}
        read = self.store.read(sorted(ids - unwritten.keys()), None)
        documents = {id: stored.source or {} for id, stored in read.items()} | unwritten
        matches = parse_filter(filter)
        return {id for id, document in documents.items() if matches(document, id)}

    # --- decide again -----------------------------------------------------------------------------------------------

    def again(self, heads: Sequence[str], filter: Filter | None) -> dict[str, Choice]:
        """Decide again what is linked to documents that changed or are gone. Only what differs is written.

        One that another program changes meanwhile is read and decided once more, at most five times. The caller has
        the turn.

        :returns: what was chosen for each document whose link changed.
        """
        stored = {row.id for row in self.store.members(heads)}
        own = {row.id for row in self.pending.memory.members(heads)}
        linked = {id for id in stored if id not in self.pending} | own
        changed: dict[str, Choice] = {}
        former_heads: set[str] = set()
        for attempt in range(ATTEMPTS):
            if attempt:
                self.store.refresh()
            read = self._read_texts(sorted(linked))
            read.sort(key=lambda stored: stored.row.order)
            linked = set()
            for part in in_parts(read, AT_ONCE):
                decided = self.decide_stored(part, filter)
                changed |= decided.changed
                linked |= decided.conflicts
                former_heads |= decided.former_heads
            if not linked:
                break
        else:
            about = count_of(len(linked), "linked document")
            _log.warning("%s: %s could not be decided again: run group", self.store.name, about)
        return changed | self.again(sorted(former_heads), filter) if former_heads else changed

    def _read_texts(self, ids: Sequence[str]) -> list[Stored]:
        fields = self.rule.text_fields if self.rule.min_similarity is not None else ()
        read: list[Stored] = []
        for part in in_parts(ids, AT_ONCE):
            read += self.store.read(part, fields).values()
        return [stored for stored in read if stored.row.digest]

    def decide_stored(self, documents: Sequence[Stored], filter: Filter | None) -> Decided:
        """Decide stored documents, in the order given, and write the links that differ.

        The caller has the turn, unless nobody else uses this object.

        :param documents: with their text fields, where texts decide.
        :raises StoreError: if the store refuses a link.
        """
        documents = [stored for stored in documents if stored.row.id not in self.pending.removed]
        former = {stored.row.id: stored.row.duplicate_of for stored in documents}
        askers = self.askers_of_stored(documents)
        choices = list(self.decide(askers, self.search(askers, filter), filter))
        own = {choice.row.id for choice in choices}
        lost = self.lost_heads([choice.original for choice in choices], own)
        kept = {choice.row.id: choice for choice in choices if choice.row.duplicate_of not in lost}
        rows = {id: choice.row for id, choice in kept.items()}
        links = [Entry(row, keys=None) for id, row in rows.items() if row.duplicate_of != former[id]]
        written = self.store.write(links) if links else Written({}, frozenset(), {})
        for id in rows.keys() - written.conflicts - written.refused.keys():
            self.pending.write(rows[id]._replace(version=written.versions.get(id, rows[id].version)))
        conflicts = self.pending.drop_unwritten()
        self.read_again(conflicts)
        for id, reason in written.refused.items():
            raise StoreError(f"{self.store.name} did not take the link of {id}: {reason}")
        self.forget()
        former_heads = frozenset(id for id in written.versions if former[id] is None)
        return Decided(choices, {id: kept[id] for id in written.versions}, former_heads, conflicts)

    def askers_of_stored(self, documents: Sequence[Stored]) -> list[Asker]:
        """Return stored documents as Askers. One without a text that is needed is left out, with a warning."""
        rows = [stored.row._replace(duplicate_of=None) for stored in documents]
        if self.rule.min_similarity is None:
            return [Asker(row, (), self.rule.probe(row, None), None, keeps_order=True) for row in rows]
        texts = map(self.texts.of_stored, documents)
        read = [(row, features) for row, features in zip(rows, texts, strict=True) if features is not None]
        keys = keys_of_texts([features.normalised for _, features in read])
        return [
            Asker(row, key.values, self.rule.probe(row, key), features, keeps_order=True)
            for (row, features), key in zip(read, keys, strict=True)
        ]

    def lost_heads(self, originals: Iterable[Original | None], own: Collection[str]) -> set[str]:
        """Return the heads that are not as they were compared. What is linked to them must be decided again.

        One may have been refused. Another program may have removed it, made it a copy, or given it another text.

        :param own: ids of the documents that this call writes itself.
        """
        compared = {(one.id, one.digest) for one in originals if one is not None and one.id not in own}
        stored = self.store.read(sorted({id for id, _ in compared})) if compared else {}
        heads = {id: one.row.digest for id, one in stored.items() if one.row.duplicate_of is None}
        lost = {id for id, digest in compared if id not in heads or digest not in (None, heads[id])}
        for id in lost:
            self.pending.drop(id)
        self.read_again(lost)
        return lost

    # --- what is visible --------------------------------------------------------------------------------------------

    def forget(self, *, now: bool = False) -> None:
        """Forget what is pending, if it is much or old: the store is refreshed before.

        :param now: also if it is little.
        """
        is_old = time.monotonic() - self._forgotten >= OLDEST_PENDING
        is_much = not self.pending.is_whole and len(self.pending.memory) >= MOST_PENDING
        if not (now or is_old or is_much):
            return
        self._forgotten = time.monotonic()
        if self.pending.is_whole:
            self._follow()
        else:
            with self.turn():
                self.store.refresh()
                self.pending.forget()

    # --- a large load -----------------------------------------------------------------------------------------------

    def hold_all(self) -> None:
        """Hold all documents of the store in memory, so that nothing needs to be searched."""
        self.store.refresh()
        epoch, self._followed = self.pending.epoch, time.time_ns() // 1000
        self._enter(Scan(keys=self.rule.by == "keys"))
        with self._turn:
            self.pending.is_whole = self.pending.epoch == epoch  # unless another call let them be forgotten

    def read_again(self, ids: Iterable[str]) -> None:
        """While all documents are held: enter those of these that were dropped as they are stored, if they are."""
        if self.pending.is_whole and (dropped := [id for id in ids if id not in self.pending]):
            try:
                self.store.refresh()
                self._enter(Scan(filter={"ids": {"values": dropped}}, keys=self.rule.by == "keys"))
            except BaseException:
                self.pending.end_whole()
                raise

    def _follow(self) -> None:
        """Read what other programs wrote since all documents were read. ``group`` reads them itself."""
        if not self._followed:
            return
        self.store.refresh()
        since, self._followed = self._followed, time.time_ns() // 1000
        own = sum(row.written >= since for row in self.pending.memory.rows())
        counts = [self.store.count(Scan(since=start)) for start in (None, since)]
        if counts != [len(self.pending.memory), own]:
            self._enter(Scan(keys=self.rule.by == "keys", since=since - CLOCKS_DIFFER))

    def _enter(self, scan: Scan) -> None:
        """Enter the documents of a scan as they are stored, but for those that this process wrote, or is to write."""
        epoch = self.pending.epoch
        for page in self.store.scan(scan):
            with self._turn:
                if self.pending.epoch != epoch:
                    return  # the page may be older than what was forgotten since
                unknown = [stored for stored in page if not self._knows(stored.row)]
                replaced = [stored.row.id for stored in unknown if stored.row.id in self.pending]
                now = self.store.read(replaced) if replaced else {}
                own = {id for id, stored in now.items() if self._knows(stored.row)}  # written since the scan began
                unknown = [stored for stored in unknown if stored.row.id not in own]
                self.pending.enter_stored([stored.row for stored in unknown], [stored.keys for stored in unknown])

    def _knows(self, stored: Row) -> bool:
        """Return whether a stored document is pending: as it is stored, or as it will be."""
        known = self.pending.memory.row(stored.id)
        if known is None or stored.id in self.pending.unwritten:
            return stored.id in self.pending
        return bool(known.version == stored.version)
