"""Stored documents are decided again: all of them, or the copies of documents that changed or are gone."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from es_simhash.decide.batch import Batch, following
from es_simhash.decide.look_up import look_up
from es_simhash.decide.outcome import Document
from es_simhash.errors import StoreError, count_of
from es_simhash.filters import parse_filter
from es_simhash.parts import in_parts
from es_simhash.rows import Entry, Row, Written
from es_simhash.text.keys import keys_of_words
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from es_simhash.decide.batch import Decision
    from es_simhash.decide.choose import Original
    from es_simhash.decide.eligible import Eligible
    from es_simhash.decide.turn import Turn
    from es_simhash.rows import Stored

_log = logging.getLogger("es_simhash")

AT_ONCE = 500
"""Stored documents that are decided again, or removed, together."""
ATTEMPTS = 5
"""How often a document is decided if other programs write it meanwhile."""


@value
class Decided:
    """What was decided for stored documents.

    :param decisions: for each document that was decided.
    :param written: by id, the rows whose link was written, as they are stored now.
    :param conflicts: ids of those that another program changes meanwhile: they stay as they are.
    :param lost: ids of originals that are not as they were compared, with the names of their groups.
    """

    decisions: Sequence[Decision]
    written: Mapping[str, Row]
    conflicts: Collection[str]
    lost: Mapping[str, str]

    @property
    def changed(self) -> dict[str, Decision]:
        """By id, what was decided for each document whose link was written."""
        return {one.row.id: one for one in self.decisions if one.row.id in self.written}


def decide_stored(
    turn: Turn, stored: Sequence[Stored], eligible: Eligible, left: Mapping[str, str] | None = None
) -> Decided:
    """Decide stored documents, in the order given, and write the links that differ. The caller has the turn.

    :param stored: with their text fields, where texts decide.
    :param left: as for :func:`relink`: documents that may lose the name of their group.
    :raises StoreError: if the store refuses a link.
    """
    stored = _writable(turn, stored)
    documents = documents_of_stored(turn, _pinned_anew(turn, stored, eligible), eligible)
    queries = eligible.queries(documents)
    batch = Batch(documents, queries, eligible)
    found = look_up(turn, documents, queries, eligible)
    decisions = [batch.decide(document, one) for document, one in zip(documents, found, strict=True)]
    for one in decisions:
        if one.original is None and (text := one.document.features) is not None:
            turn.texts.keep(text.digest, text)  # documents behind it are compared with it
    rows, renamed = _named(turn, decisions, eligible, left or {})
    keys = [one.keys.values if one.keys is not None and turn.rule.by == "keys" else None for one in documents]
    before = {one.row.id: one.row for one in stored}
    entries = [Entry(row, own) for row, own in zip(rows, keys, strict=True) if row != before[row.id]]
    entries += [Entry(row, None) for row in renamed]
    written = turn.store.write(entries) if entries else Written({}, frozenset(), {})
    refused = turn.store.read(sorted(written.refused)) if written.refused else {}
    conflicts = written.conflicts | {id for id, one in refused.items() if one.row.blocked}
    for id, reason in written.refused.items():
        if id not in conflicts:
            raise StoreError(f"{turn.store.name} did not take the link of {id}: {reason}")
    taken = {
        one.row.id: one.row._replace(version=written.versions[one.row.id])
        for one in entries
        if one.row.id in written.versions
    }
    lost = lost_originals(turn, [one.original for one in decisions], {one.row.id for one in decisions})
    lost |= {one.row.id: one.row.group for one in decisions if one.row.id in conflicts}
    return Decided(decisions, taken, conflicts, lost)


def _writable(turn: Turn, stored: Sequence[Stored]) -> list[Stored]:
    """Return the documents whose link can be written. A warning tells of others, once: they stay as they are."""
    writable = [one for one in stored if not one.row.blocked]
    if len(writable) < len(stored):
        turn.texts.warn_once(
            "%s: documents of indices that have a write block stay as they are: remove the block, which `es-simhash "
            "doctor` names, then run group",
            turn.store.name,
        )
    return writable


def relink(
    turn: Turn, left: Mapping[str, str], eligible: Eligible, passed: tuple[int, int] | None = None
) -> dict[str, Decision]:
    """Decide the copies of documents that changed or are gone again. Only what differs is written.

    One that another program changes meanwhile is read and decided once more, at most five times. The caller has the
    turn.

    :param left: ids of documents that are gone, or have another text or another original now, with the names of the
        groups that they had.
    :param passed: only what stands up to the first in the order, or was written or ordered at the second or later: the
        others are decided anyway.
    :returns: what was decided for each document whose link was written.
    """
    changed: dict[str, Decision] = {}
    for attempt in range(ATTEMPTS):
        if attempt:
            turn.store.refresh()
        members = turn.store.members(sorted(set(left.values()))) if left else []
        copies = [row for row in members if row.duplicate_of in left and row.id not in eligible.without]
        if passed is not None:
            last, start = passed
            copies = [row for row in copies if row.order <= last or start <= max(row.order, row.written)]
        copies.sort(key=lambda row: row.order)
        again: dict[str, str] = {}
        for part in in_parts([row.id for row in copies], AT_ONCE):
            read = turn.store.read(part, eligible.fields)
            decided = decide_stored(turn, [read[id] for id in part if id in read], eligible, left)
            changed |= decided.changed
            again |= decided.lost
            again |= {row.duplicate_of: row.group for row in copies if row.id in decided.conflicts and row.duplicate_of}
        left = again
        if not left:
            return changed
    _log.warning(
        "%s: the copies of %s could not be decided again: run group", turn.store.name, count_of(len(left), "document")
    )
    return changed


def decide_again(turn: Turn, ids: Collection[str], eligible: Eligible) -> dict[str, Decision]:
    """Decide stored documents again. Return what was decided for each document whose link was written."""
    if not ids:
        return {}
    read = turn.store.read(sorted(ids), eligible.fields)
    decided = decide_stored(turn, list(read.values()), eligible)
    return decided.changed | relink(turn, decided.lost, eligible)


def lost_originals(turn: Turn, originals: Iterable[Original | None], own: Collection[str]) -> dict[str, str]:
    """Return the originals that are not as they were compared, with the names of their groups.

    One may have been refused. Another program may have removed it, made it a copy, or given it another text.

    :param own: ids of the documents that this call writes itself.
    """
    compared = {(one.id, one.digest, one.group) for one in originals if one is not None and one.id not in own}
    stored = turn.store.read(sorted({id for id, _, _ in compared})) if compared else {}
    digests = {id: one.row.digest for id, one in stored.items() if one.row.duplicate_of is None}
    return {id: group for id, digest, group in compared if id not in digests or digest not in (None, digests[id])}


def documents_of_stored(turn: Turn, stored: Sequence[Stored], eligible: Eligible) -> list[Document]:
    """Return stored documents to decide again. One without a text that is needed is left out, with a warning."""
    matches = None if eligible.filter is None else parse_filter(eligible.filter)
    chosen, features = [], []
    for one in stored:
        text = turn.texts.of_stored(one) if turn.rule.compares_texts else None
        if one.row.digest and (text is not None or not turn.rule.compares_texts):
            chosen.append(one)
            features.append(text)
    keys = iter(keys_of_words([text.words for text in features if text is not None]))
    return [
        Document(
            one.row if one.row.pinned else one.row._replace(duplicate_of=None, named=None),
            "" if text is None else text.normalised,
            keys=None if text is None else next(keys),
            stored=one.row,
            features=text,
            keeps_order=True,
            may_lead=matches is None or matches(one.source or {}, one.row.id),
        )
        for one, text in zip(chosen, features, strict=True)
    ]


def _pinned_anew(turn: Turn, stored: Sequence[Stored], eligible: Eligible) -> list[Stored]:
    """Return stored documents, of which pinned copies have an original that is there.

    A pinned copy whose original became a copy follows it. One whose original is gone is decided as any other.
    """
    ids = {one.row.duplicate_of for one in stored if one.row.pinned and one.row.duplicate_of is not None}
    originals = turn.store.read(sorted(ids - eligible.without)) if ids else {}
    rows = []
    for one in stored:
        row = one.row
        if row.pinned and row.duplicate_of is not None:
            original = originals.get(row.duplicate_of)
            row = row._replace(pinned=False) if original is None else following(row, original.row)
        rows.append(replace(one, row=row))
    return rows


# --- a group keeps its name ------------------------------------------------------------------------------------------


def _named(
    turn: Turn, decisions: Sequence[Decision], eligible: Eligible, left: Mapping[str, str]
) -> tuple[list[Row], list[Row]]:
    """Return the rows of decided documents in their groups, and rows of other documents that lose the name of theirs.

    A group keeps its name: if its original is gone, or has another text that none of the others follows, the first
    copy that becomes an original has the name.
    """
    stored = {one.row.id: one.document.stored for one in decisions}
    names = {
        name
        for one in decisions
        if (former := stored[one.row.id]) is not None
        and former.duplicate_of is not None
        and one.row.duplicate_of is None
        for name in (former.group, one.row.id)
    }
    followed = {one.row.duplicate_of for one in decisions}
    holders = [
        row
        for row in (turn.store.members(sorted(names)) if names else ())
        if row.duplicate_of is None and row.id not in stored and row.id not in eligible.without
    ]
    losing = {row.group: row for row in holders if row.id in left.keys() - followed and not row.blocked}
    held = {row.group for row in holders} - losing.keys()
    held |= {
        f.group
        for one in decisions
        if (f := stored[one.row.id]) and f.duplicate_of is None and one.row.duplicate_of is None
    }
    rows: dict[str, Row] = {}
    for one in decisions:
        row, former = one.row, stored[one.row.id]
        if row.duplicate_of in rows:
            rows[row.id] = row.in_group(rows[row.duplicate_of].group)
        elif row.duplicate_of is not None or former is None:
            rows[row.id] = row
        else:
            keeps = former.duplicate_of is None or former.group not in held
            rows[row.id] = row.in_group(former.group if keeps else own_name(row, held))
            held.add(rows[row.id].group)
    taken = [row.id for name, row in losing.items() if name in held]
    now = turn.store.read(taken) if taken else {}
    return list(rows.values()), [now[id].row.in_group(own_name(now[id].row, {id})) for id in taken if id in now]


def own_name(row: Row, held: Collection[str]) -> str:
    """Return the name of a new group: the id of its original; with a part of its digest, if another group has that."""
    return row.id if row.id not in held else f"{row.id}~{row.digest[:8]}"
