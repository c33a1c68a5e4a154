"""Relink: when a document's text changes or goes, what was linked to it finds another original, or stands for itself.

A link holds while its original is there, was written earlier, and is near, and their texts agree if texts confirm.
Where one doesn't hold, the document is looked at as if it were ingested again at its place in the order. A document
whose group changes so passes it on to what is linked to it. The outcome is what an ingest without the lost text would
have left of these links; groups that were held together only by it come apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Candidates, Dependents, Fetch, Link, Probe, Relink, ask
from es_simhash.verbs.neighbours import Neighbours, probe

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from es_simhash.contract import Flow, Row
    from es_simhash.verbs.neighbours import Near

BATCH = 500


class Memory:
    """What a run wrote, or linked anew, and search may not know yet.

    :param rows: what was written, as it is now.
    :param hidden: the digest of the older state that search may find, by id.
    :param outside: ids of ``rows`` that don't satisfy the filter of the run.
    :param mended: what was only linked anew, as it is now. Search finds it rightly, but with its former links; and
        only search can say whether it satisfies the filter.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.hidden: dict[str, str] = {}
        self.outside: set[str] = set()
        self.mended: dict[str, Row] = {}

    @property
    def known(self) -> dict[str, Row]:
        """All Rows that are known better than search knows them."""
        return self.mended | self.rows

    def keep(self, row: Row, replaces: Row | None = None) -> None:
        """Remember a Row; ``replaces`` is the older state of it that search may find."""
        self.rows[row.id] = row
        if replaces is not None:
            self.hidden[row.id] = replaces.digest

    def mend(self, row: Row) -> None:
        """Remember the new links of a Row."""
        (self.rows if row.id in self.rows else self.mended)[row.id] = row

    def over(self, found: Mapping[str, Row]) -> dict[str, Row]:
        """What a search has found, and over it what is known better."""
        rows = dict(found) | {id: row for id, row in self.mended.items() if id in found} | self.rows
        return {id: row for id, row in rows.items() if id not in self.outside}


def up_to_date(asked: Candidates, hidden: Mapping[str, str]) -> Flow[list[Row]]:
    """Candidates, one a digest, without those of which search may find an older state.

    To name all of these in each query would cost more than the query. Only those that were found are in the way: each
    may stand for others with its digest, and these are asked for.

    :param hidden: the digest of the older state, by id.
    """
    found = yield from ask(asked)
    rows = [row for row in found if row.id not in hidden]
    if len(rows) < len(found):
        masking = {row.digest for row in found if row.id in hidden}
        without = {row.id for row in found if row.id in hidden}
        without |= {id for id, digest in hidden.items() if digest in masking}
        probes = tuple(Probe(None, digest) for digest in sorted(masking))
        again = replace(asked, probes=probes, max_distance=-1, without=(*asked.without, *sorted(without)))
        rows += [row for row in (yield from ask(again)) if row.id not in hidden]
    return rows


def relink(
    moved: Collection[str],
    memory: Memory,
    near: Near,
    gone: Collection[str] = (),
    heads: Collection[str] | None = None,
    clause: Mapping[str, Any] | None = None,
) -> Flow[int]:
    """Mend the links to these documents, and those to documents that change their group thereby.

    :param moved: ids of documents with another text, or without one.
    :param memory: of the run; what is changed is remembered there.
    :param near: the rule by which links hold, and are found.
    :param gone: ids that are nobody's original any more.
    :param heads: of ``moved`` those whose group may have to find another head; all of them by default.
    :param clause: only documents that satisfy it become originals.
    :returns: how many documents were changed.
    """
    heads = set(moved if heads is None else heads)
    planned, levels = yield from _plan(set(moved), heads, memory, near, gone, clause)
    # The farthest first: what is not passed on yet, because this breaks off, is found again from what is nearer.
    order = sorted(planned, key=lambda id: (-levels[id], id))
    changed = 0
    for start in range(0, len(order), BATCH):
        rows = {id: planned[id] for id in order[start : start + BATCH]}
        links = {id: Link(row.group, row.duplicate_of, row.version) for id, row in rows.items()}
        conflicts = yield from ask(Relink(links))
        for id, row in rows.items():
            if id not in conflicts:  # else somebody else wrote it, and decided for it
                changed += 1
                memory.mend(row)
    return changed


def _plan(
    originals: set[str],
    groups: set[str],
    memory: Memory,
    near: Near,
    gone: Collection[str],
    clause: Mapping[str, Any] | None,
) -> Flow[tuple[dict[str, Row], dict[str, int]]]:
    """What is to be changed, as it will be; and how many links it is away from what began it."""
    planned: dict[str, Row] = {}
    levels: dict[str, int] = {}
    level = 0
    while originals:
        level += 1
        found = yield from ask(Dependents(tuple(sorted(originals)), tuple(sorted(groups))))
        known = [*memory.known.values(), *planned.values()]
        found |= {row.id for row in known if _depends(row, originals, groups)}
        ids = sorted(found - set(gone))
        passed_on: set[str] = set()
        for start in range(0, len(ids), BATCH):
            rows = yield from ask(Fetch(tuple(ids[start : start + BATCH])))
            rows = {id: planned.get(id, row) for id, row in rows.items()}
            waiting = [row for row in rows.values() if _depends(row, originals, groups)]
            decided = yield from _decide(waiting, planned, memory, near, gone, clause)
            for id, row in decided.items():
                planned[id], levels[id] = row, level
                if row.group != rows[id].group:
                    passed_on.add(id)
        originals, groups = passed_on, passed_on  # links lead to what is earlier: this comes to an end
    return planned, levels


def _depends(row: Row, originals: Collection[str], groups: Collection[str]) -> bool:
    return row.duplicate_of in originals or (row.group in groups and row.group != row.id)


def _decide(
    waiting: list[Row],
    planned: Mapping[str, Row],
    memory: Memory,
    near: Near,
    gone: Collection[str],
    clause: Mapping[str, Any] | None,
) -> Flow[dict[str, Row]]:
    """Those of the Rows whose links are to be changed, as they will be."""
    if not waiting:
        return {}
    named = tuple(sorted({row.duplicate_of for row in waiting if row.duplicate_of is not None} - set(gone)))
    originals = yield from ask(Fetch(named))
    hold = yield from _holding(waiting, originals, near)
    loose = [row for row in waiting if row.id not in hold]
    alone = [replace(row, digest="") if row.digest == near.blank else row for row in loose]
    probes = tuple(probe(row) for row in alone)
    asked = Candidates(probes, near.max_distance, clause, tuple(sorted(gone)), one_per_digest=True)
    candidates = (yield from up_to_date(asked, memory.hidden)) if probes else []
    others = memory.over({row.id: row for row in candidates})
    neighbours = Neighbours(alone, [row for id, row in others.items() if id not in gone], near.max_distance)
    if near.texts is not None:
        yield from neighbours.confirm_stored(near.texts)
    loose_ids = {row.id for row in loose}
    rows = {**originals, **planned, **{row.id: row for row in waiting}}
    decided: dict[str, Row] = {}
    for row in sorted(waiting, key=lambda row: (row.written, row.id)):
        original = rows.get(row.duplicate_of or "")
        if row.id in loose_ids:
            found = yield from neighbours.nearest(row.id, {}, before=row.written, strict=False)
            original = None if found is None else rows.get(found.row.id, found.row)
        linked = replace(
            row,
            group=row.id if original is None else original.group,
            duplicate_of=None if original is None else original.id,
        )
        rows[row.id] = linked
        if (linked.group, linked.duplicate_of) != (row.group, row.duplicate_of):
            decided[row.id] = linked
    return decided


def _holding(waiting: list[Row], originals: Mapping[str, Row], near: Near) -> Flow[set[str]]:
    """The ids of the Rows whose links hold."""
    named = [(row, originals.get(row.duplicate_of or "")) for row in waiting]
    linked = [(row, original) for row, original in named if original is not None]
    holding = yield from near.agreeing([(row, original) for row, original in linked if original.written < row.written])
    return {row.id for row, _ in holding}
