"""The verb group: decide all documents again, in their order, as if each came after all that are earlier.

It may be interrupted and repeated. A document that another program writes meanwhile stays as it is.
"""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.decide.eligible import Eligible
from es_simhash.decide.relink import AT_ONCE, decide_stored, relink
from es_simhash.errors import count_of, saying_what_is_done
from es_simhash.parts import in_parts
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.decide.turn import Turn
    from es_simhash.store.protocol import Filter

    Progress = Callable[[int, int], None]
    """Takes the documents that were decided so far, and all of them."""

LARGEST = 10
"""The number of largest groups that are reported."""


@dataclass(frozen=True)
class GroupReport:
    """The result of ``group``.

    :param documents: the number of documents that were decided.
    :param groups: the number of groups with two or more members, of these documents.
    :param members: the number of documents in these groups.
    :param changed: the number of documents whose link was written.
    :param conflicts: the number of documents that other programs wrote meanwhile; they stay as they are.
    :param largest: pairs (name of the group, number of members): the ten largest groups, the largest first.
    :param left_out: at least so many pairs of documents that may be near were not compared.
    """

    documents: int
    groups: int
    members: int
    changed: int
    conflicts: int
    largest: tuple[tuple[str, int], ...]
    left_out: int = 0


def group(
    turn: Turn,
    filter: Filter | None = None,
    since: int | None = None,
    progress: Progress | None = None,
) -> GroupReport:
    """Decide documents again, and write the links that differ. Other calls have their turn between two batches.

    Without a filter the documents of the store are held in memory, if that pays (``Turn.pays``).

    :param filter: only documents that match it are decided, and become originals.
    :param since: only documents whose text was written at this time or later, in microseconds since 1970, and what is
        linked to them.
    """
    rule, is_whole = turn.rule, since is None and filter is None
    sizes: Counter[str] = Counter()
    documents = changed = conflicts = left_out = 0
    with turn.take():
        start, total = turn.tick(), turn.store.count(Scan(filter=filter, since=since))
        is_held = filter is None and turn.pays(total, total if is_whole else turn.store.count(Scan()))
    eligible = Eligible(rule, filter)

    def report() -> str:
        return f"the links of {count_of(changed, 'document')} were written, those of others were not: group again"

    with saying_what_is_done(report), turn.holding(turn.room) if is_held else nullcontext():
        scan = Scan(filter=filter, fields=eligible.fields, missing=False, since=since, by_order=True)
        for batch in (part for page in turn.store.scan(scan) for part in in_parts(page, AT_ONCE)):
            with turn.take():
                decided = decide_stored(turn, batch, eligible)
                former = {stored.row.id: stored.row for stored in batch if stored.row.digest}
                no_originals = {one.row.id for one in decided.decisions if one.original is not None}
                left = {
                    id: row.group
                    for id, row in former.items()
                    if since is not None or (row.duplicate_of is None and id in no_originals)
                }
                again = relink(turn, left, eligible, (batch[-1].row.order, start) if is_whole else None)
                again |= relink(turn, decided.lost, eligible)
            documents += len(batch)
            changed += len(decided.written) + len(again)
            conflicts += len(decided.conflicts)
            left_out += sum(one.left_out for one in decided.decisions)
            sizes.update((decided.written.get(id) or row).group for id, row in former.items())
            if progress is not None:
                progress(documents, max(documents, total))
        with turn.take():
            turn.store.refresh()
    groups = {name: size for name, size in sizes.items() if size > 1}
    largest = tuple(sorted(groups.items(), key=lambda group: (-group[1], group[0]))[:LARGEST])
    return GroupReport(documents, len(groups), sum(groups.values()), changed, conflicts, largest, left_out)
