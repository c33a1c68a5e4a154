"""Documents are decided and written.

A batch goes through rounds. A round reads what is stored under the ids of its documents, and takes the documents part
by part: look up, decide one after the other, write, check the originals, decide the copies of former texts again. A
part ends at a document that leaves copies behind, so the documents behind it find these as they are then. A document
that another program wrote meanwhile goes into the next round.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from es_simhash.decide.batch import Batch
from es_simhash.decide.choose import choose
from es_simhash.decide.eligible import Eligible
from es_simhash.decide.judge import Side, judge
from es_simhash.decide.look_up import look_up
from es_simhash.decide.outcome import Document, failed
from es_simhash.decide.relink import ATTEMPTS, decide_again, lost_originals, own_name, relink
from es_simhash.decide.result import MOVED, Result, is_same, of_decision, outcome_of, with_original, without_decision
from es_simhash.errors import check_choice, saying_what_is_done
from es_simhash.filters import check_filter_of_originals, parse_filter
from es_simhash.rows import Entry, Row, Written
from es_simhash.similarity.confirm import TextFeatures
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set

    from es_simhash.decide.outcome import Outcome
    from es_simhash.decide.turn import Turn
    from es_simhash.store.protocol import Filter
    from es_simhash.text.fingerprinter import Fingerprinter

CHANGED = f"other programs changed it or its original each of the {ATTEMPTS} times that it was decided: ingest it again"
LINKS_LEFT = (
    "a text that is stored may have been replaced, and its copies may still be linked to it: run `es-simhash group "
    "--since 1d` afterwards"
)
"""The second step after an error. The first, the same call again, finds the text unchanged and links nothing."""

OnDuplicate = Literal["index", "skip"]
ON_DUPLICATE: tuple[OnDuplicate, ...] = get_args(OnDuplicate)
OnUpdate = Literal["write", "keep"]
ON_UPDATE: tuple[OnUpdate, ...] = get_args(OnUpdate)


@value
class Options:
    """How documents are taken.

    :param on_duplicate: what to do with a *new* document that is a duplicate: ``index`` (write it, linked to its
        original) or ``skip`` (do not write it).
    :param on_update: what to do with another text for a stored id: ``write`` it, or ``keep`` the stored document if the
        text is a copy of its text.
    :param filter: only documents that match it become originals of others.
    :raises InputError: for a value that is not allowed; for a filter that the program cannot evaluate.
    """

    on_duplicate: OnDuplicate = "index"
    on_update: OnUpdate = "write"
    filter: Filter | None = None

    def __post_init__(self) -> None:
        check_choice("on_duplicate", self.on_duplicate, ON_DUPLICATE)
        check_choice("on_update", self.on_update, ON_UPDATE)
        check_filter_of_originals(self.filter)


@value
class _Taken:
    """What a part came to.

    :param outcomes: by id.
    :param rows: by id, what was written, with the links that were decided again.
    :param conflicts: documents that other programs wrote meanwhile.
    """

    outcomes: Mapping[str, Outcome]
    rows: Mapping[str, Row]
    conflicts: Sequence[Document]


class Run:
    """Takes batches of documents, one after the other."""

    def __init__(self, turn: Turn, options: Options) -> None:
        self._turn, self._options, self._rule = turn, options, turn.rule
        self._eligible = Eligible(turn.rule, options.filter)
        self._matches = None if options.filter is None else parse_filter(options.filter)
        self._backfilled = -(1 << 62)
        """The order of the last document that has its time as order. A backfill reads them by their time."""

    def take(self, items: Sequence[Document | Outcome]) -> list[Outcome]:
        """Decide and write documents with different ids, and return an Outcome for each, in their order.

        A document of a backfill that another program changes meanwhile is an Outcome ``failed``.

        :param items: Documents, and the Outcomes of those that were rejected, which stay as they are.
        """
        outcomes: dict[str, Outcome] = {}
        left = [item for item in items if isinstance(item, Document)]
        with self._turn.take():
            for attempt in range(ATTEMPTS):
                if attempt:
                    self._turn.store.refresh()
                done, left = self._round(left)
                outcomes |= done
                if not left:
                    break
        outcomes |= {document.row.id: failed(document, CHANGED) for document in left}
        return [outcomes[item.row.id] if isinstance(item, Document) else item for item in items]

    def empty(self, rows: Sequence[Row]) -> None:
        """Take the fingerprints from stored documents that have no text any more, and decide their copies again.

        One that another program changes meanwhile stays as it is.
        """
        emptied = [
            row._replace(fingerprint=None, digest="", length=None, duplicate_of=None, named=None) for row in rows
        ]
        with self._turn.take():
            written = self._turn.store.write([Entry(row, ()) for row in emptied])
            relink(self._turn, {row.id: row.group for row in rows if row.id in written.versions}, self._eligible)

    def _round(self, documents: Sequence[Document]) -> tuple[dict[str, Outcome], list[Document]]:
        """Take documents once. Return their outcomes, and those that other programs wrote meanwhile."""
        store = self._turn.store
        former = {id: stored.row for id, stored in store.read([one.row.id for one in documents]).items()}
        changing = [
            row
            for one in documents
            if (row := former.get(one.row.id)) and (one.stored is not None or not is_same(one, row, self._rule))
        ]
        # The group of a removed original keeps its name, the id of that original. A new document may have this id.
        groups = {one.row.id for one in documents if one.row.id not in former}
        groups |= {name for row in changing for name in (row.group, row.id)}
        members = store.members(sorted(groups)) if groups else []
        originals = {row.duplicate_of for row in members}
        held = {row.group for row in members if row.duplicate_of is None}
        outcomes: dict[str, Outcome] = {}
        conflicts: list[Document] = []
        left = list(documents)
        while left:
            end = next((n for n, one in enumerate(left, 1) if self._ends_part(one, former, originals)), len(left))
            taken = self._take_part(left[:end], former, originals, held)
            outcomes |= taken.outcomes
            conflicts += taken.conflicts
            rows = taken.rows.values()
            originals = originals | {row.duplicate_of for row in rows}
            were_originals = (one for row in rows if (one := former.get(row.id)) and one.duplicate_of is None)
            held = held - {row.group for row in were_originals}
            held |= {row.group for row in rows if row.duplicate_of is None}
            former = {**former, **taken.rows}
            done = {*taken.outcomes, *(one.row.id for one in taken.conflicts)}
            left = [one for one in left if one.row.id not in done]
        return outcomes, conflicts

    def _ends_part(self, document: Document, former: Mapping[str, Row], originals: Collection[str | None]) -> bool:
        """Return whether what a document becomes must be stored before those behind it are decided.

        It may leave copies behind. Or it may match the filter now and not before, or before and not now.
        """
        row = former.get(document.row.id)
        if row is None or not is_same(document, row, self._rule):
            return row is not None and row.id in originals
        return self._matches is not None and row.content != document.row.content

    def _take_part(
        self,
        part: Sequence[Document],
        former: Mapping[str, Row],
        originals: Collection[str | None],
        held: Set[str],
    ) -> _Taken:
        """Take documents up to the first one that leaves copies behind.

        :param former: by id, the stored rows.
        :param originals: ids of documents that have copies.
        :param held: names of groups that cannot be given to another one.
        """
        results: dict[str, Result] = {}
        undecided = []
        for document in part:
            row = former.get(document.row.id)
            result = self._without_decision(document, row)
            if result is not None:
                results[document.row.id] = result
            else:
                undecided.append(self._in_order(document, row))
        queries = self._eligible.queries(undecided)
        batch = Batch(undecided, queries, self._eligible)
        replaced = former.keys() & {one.row.id for one in undecided}
        found = look_up(self._turn, undecided, queries, self._eligible, replaced)
        for document, one in zip(undecided, found, strict=True):
            id = document.row.id
            has_copies = id in former and (id in originals or batch.has_copies(id))
            decision = batch.decide(_named(document, former.get(id), held), one)
            skip = self._options.on_duplicate == "skip"
            result = of_decision(decision, former.get(id), self._rule, skip=skip, has_copies=has_copies)
            results[id] = result
            if result.entry is None:
                batch.leave_out(id)
            elif (row := former.get(id)) is not None and row.duplicate_of is None and row.group != decision.row.group:
                held = held - {row.group}
            if result.left is not None:
                break
        leaves = any(one.left is not None for one in results.values())
        with saying_what_is_done(lambda: LINKS_LEFT if leaves else ""):
            return self._write([results[one.row.id] for one in part if one.row.id in results])

    def _write(self, results: Sequence[Result]) -> _Taken:
        """Write documents, check their originals, and decide the copies of former texts and of lost originals again."""
        turn = self._turn
        entries = {one.document.row.id: one.entry for one in results if one.entry is not None}
        written = turn.store.write(list(entries.values())) if entries else Written({}, frozenset(), {})
        rows = {id: entries[id].row._replace(version=version) for id, version in written.versions.items()}
        outcomes, conflicts = {}, []
        for one in results:
            id = one.document.row.id
            if id in written.refused:
                outcomes[id] = failed(one.document, written.refused[id])
            elif id in written.conflicts and one.document.stored is None:
                conflicts.append(one.document)
            else:
                outcomes[id] = failed(one.document, MOVED) if id in written.conflicts else one.outcome
            if id in rows and one.document.features is not None:
                turn.texts.keep(one.document.row.digest, one.document.features)
        lost = lost_originals(turn, [one.original for one in results], rows.keys())
        conflicts += [
            one.document
            for one in results
            if one.entry is None and one.original is not None and one.original.id in lost and not one.outcome.stored
        ]
        left = {
            one.document.row.id: one.left for one in results if one.left is not None and one.document.row.id in rows
        }
        again = relink(turn, left | lost, self._eligible)
        # A former copy that is an original now may be the original of the new text.
        freed = [Side(one.row, one.document.features) for one in again.values() if one.original is None]
        updated = [one.document for one in results if one.document.row.id in left]
        again |= decide_again(turn, [one.row.id for one in updated if self._is_copy(one, freed)], self._eligible)
        for one in results:
            id = one.document.row.id
            has_lost = one.original is not None and one.original.id in lost
            if id in again and id in outcomes and (has_lost or id in left):
                outcomes[id] = with_original(outcomes[id], again[id].original)
        left_behind = {one.row.id for one in conflicts}
        outcomes = {id: outcome for id, outcome in outcomes.items() if id not in left_behind}
        relinked = turn.store.read(sorted(again)) if again else {}
        return _Taken(outcomes, rows | {id: stored.row for id, stored in relinked.items()}, conflicts)

    def _is_copy(self, document: Document, others: Sequence[Side]) -> bool:
        """Return whether a document is a copy of one of some others."""
        return choose(judge(Side(document.row, document.features), others, self._rule)).original is not None

    def _without_decision(self, document: Document, former: Row | None) -> Result | None:
        """Return what becomes of a document that is stored already, or stays as it is; None if it is to be decided."""
        result = without_decision(document, former, self._rule)
        may_stay = self._options.on_update == "keep" and document.stored is None
        if result is not None or not may_stay or former is None or not former.digest:
            return result
        [text] = self._turn.texts.of_rows([former]) if self._rule.compares_texts else [None]
        if text is None and self._rule.compares_texts:
            return None
        own = Side(document.row, _features(document, self._rule.fingerprinter))
        copied = choose(judge(own, [Side(former._replace(duplicate_of=None), text)], self._rule)).original
        return None if copied is None else Result(document, outcome_of(document, "kept", former.duplicate_of, copied))

    def _in_order(self, document: Document, former: Row | None) -> Document:
        """Return a document as an original, with its place in the order: a small change keeps it, else it comes now.

        If the changed text is a copy of a later original only, it comes behind that one. A backfill takes the time of
        a document that has one, and keeps the order.
        """
        now, row = self._turn.tick(), document.row
        order, keeps_order = now, False
        if former is not None and former.digest and (former.digest == row.digest or self._rule.is_near(former, row)):
            order, keeps_order = former.order, document.stored is not None
        elif document.stored is not None and row.time is not None:
            self._backfilled = max(row.time * 1000, self._backfilled + 1)
            order, keeps_order = self._backfilled, True
        matches = document.source is None or self._matches is None or self._matches(json.loads(document.source), row.id)
        return replace(
            document,
            row=row._replace(order=order, written=now, version=None if former is None else former.version),
            features=_features(document, self._rule.fingerprinter) if self._rule.compares_texts else None,
            keeps_order=keeps_order,
            may_lead=matches,
        )


def _named(document: Document, former: Row | None, held: Collection[str]) -> Document:
    """Return a document in its group: an original keeps the name. Only another text lifts a pin.

    :param held: names of groups that cannot be given to another one.
    """
    row = document.row
    if former is not None and former.pinned and former.digest == row.digest:
        row = row._replace(pinned=True, duplicate_of=former.duplicate_of, named=former.named)
    elif former is not None and former.digest and former.duplicate_of is None:
        row = row.in_group(former.group)
    else:
        row = row.in_group(own_name(row, held))
    return document if row is document.row else replace(document, row=row)


def _features(document: Document, fingerprinter: Fingerprinter) -> TextFeatures:
    words = None if document.keys is None else document.keys.words
    return document.features or TextFeatures(document.text, fingerprinter, is_normalised=True, words=words)
