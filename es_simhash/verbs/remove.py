"""Remove documents and the links to them, and let search know at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.contract import Refresh, Remove, Scan, ask
from es_simhash.verbs.relink import Memory, relink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Flow
    from es_simhash.verbs.neighbours import Near

BATCH = 1_000


def remove(
    ids: Sequence[str],
    near: Near,
    versions: Mapping[str, Any] | None = None,
    among: Mapping[str, Any] | None = None,
) -> Flow[set[str]]:
    """Remove documents, so that nothing is linked to them and no later ingest takes anything for a copy of them.

    What duplicated one of them finds another original, or stands for itself. The links are mended first: if this breaks
    off between, the documents are still there to be removed again.

    :param near: the rule by which that other original is found.
    :param versions: of some of the documents: what has another version by now stays.
    :param among: a clause: only documents that match it become originals.
    :returns: the ids that were there.
    """
    removed: set[str] = set()
    for start in range(0, len(ids), BATCH):
        gone = frozenset(ids[start : start + BATCH])
        yield from ask(Refresh())
        yield from relink(gone, Memory(), near, gone=gone, clause=among)
        found = yield from ask(Remove(tuple(gone), versions or {}))
        removed |= found
        yield from ask(Refresh())
        # What others linked to them meanwhile.
        if (yield from relink(found, Memory(), near, gone=found, clause=among)):
            yield from ask(Refresh())
    return removed


def remove_matching(clause: Mapping[str, Any], near: Near, among: Mapping[str, Any] | None = None) -> Flow[int]:
    """Remove all documents that match a clause, fingerprinted or not, page by page; returns how many were.

    A document that changes meanwhile, be it only its links, is looked at again.
    """
    count, conflicts = 0, True
    while conflicts:
        conflicts, progressed, after = False, False, None
        yield from ask(Refresh())
        while True:
            page = yield from ask(Scan(after, clause, fields=(), size=BATCH))
            versions = {row.id: row.version for row in page.rows}
            if versions:
                removed = yield from remove(tuple(versions), near, versions, among)
                count += len(removed)
                progressed |= bool(removed)
                conflicts |= len(removed) < len(versions)
            after = page.after
            if after is None:
                break
        conflicts &= progressed
    return count
