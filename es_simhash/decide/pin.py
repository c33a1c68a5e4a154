"""The verb pin: a person says what a document is, and this holds until its text changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.decide.eligible import Eligible
from es_simhash.decide.relink import decide_again, own_name, relink
from es_simhash.rows import Entry, Row
from es_simhash.text.ids import checked_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.decide.turn import Turn

_CHANGED = "another program changed it meanwhile: pin it again"


@dataclass(frozen=True)
class Pin:
    """What a person says of a document.

    :param duplicate_of: id of the original that it is a copy of; None: it is no copy.
    :param pinned: False: the pin is taken away, and the document is decided again.
    :raises InputError: for a value that cannot be an id.
    """

    id: str
    duplicate_of: str | None = None
    pinned: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", checked_id(self.id, '"id"'))
        if self.duplicate_of is not None:
            object.__setattr__(self, "duplicate_of", checked_id(self.duplicate_of, '"duplicate_of"'))


def pin(turn: Turn, pins: Sequence[Pin]) -> dict[str, str]:
    """Pin documents. Copies of the documents are decided again.

    :param pins: of different ids.
    :returns: by id, why a document could not be pinned.
    """
    with turn.take():
        ids = {id for one in pins for id in (one.id, one.duplicate_of) if id is not None}
        stored = {id: one.row for id, one in turn.store.read(sorted(ids)).items()}
        held = {row.group for row in turn.store.members(sorted(one.id for one in pins)) if row.duplicate_of is None}
        rows, problems = dict(stored), dict[str, str]()
        for one in pins:
            if (problem := _problem(one, rows)) is not None:
                problems[one.id] = problem
            else:
                rows[one.id] = _pinned(one, rows, held, turn.tick())
        changed = {id: row for id, row in rows.items() if row != stored[id]}
        written = turn.store.write([Entry(row, None) for row in changed.values()]) if changed else None
        if written is None:
            return problems
        eligible = Eligible(turn.rule)
        left = {id: stored[id].group for id in written.versions if stored[id].duplicate_of is None}
        relink(turn, {id: group for id, group in left.items() if rows[id].duplicate_of is not None}, eligible)
        free = sorted(id for id in written.versions if stored[id].pinned and not rows[id].pinned)
        changed_again = decide_again(turn, free, eligible)
        copies = [id for id in free if id in changed_again and changed_again[id].original is not None]
        relink(turn, {id: stored[id].group for id in copies}, eligible)
    return problems | dict.fromkeys(written.conflicts, _CHANGED) | dict(written.refused)


def _problem(one: Pin, rows: Mapping[str, Row]) -> str | None:
    """Return why a document cannot be pinned; None if it can."""
    if one.id not in rows:
        return "there is no document with this id: ingest it first"
    if not rows[one.id].digest:
        return "it has no fingerprint: ingest it again, or run backfill"
    if one.duplicate_of is None or not one.pinned:
        return None
    original = rows.get(one.duplicate_of)
    if one.duplicate_of == one.id:
        return "a document is no copy of itself: name its original"
    if original is None or not original.digest:
        return f"there is no original with the id {one.duplicate_of!r}: ingest it first"
    if original.duplicate_of is not None:
        return f"{one.duplicate_of!r} is a copy itself: name its original, {original.duplicate_of!r}"
    return None


def _pinned(one: Pin, rows: Mapping[str, Row], held: set[str], now: int) -> Row:
    """Return a document as a person has said it is. A copy comes behind its original in the order."""
    row = rows[one.id]
    if not one.pinned:
        return row._replace(pinned=False)
    if one.duplicate_of is not None:
        original = rows[one.duplicate_of]
        order = row.order if row.order > original.order else now
        linked = row._replace(pinned=True, duplicate_of=original.id, order=order, named=None)
        return linked.in_group(original.group)
    if row.duplicate_of is None:
        return row._replace(pinned=True)
    apart = row._replace(pinned=True, duplicate_of=None, named=None)
    return apart.in_group(own_name(apart, held))
