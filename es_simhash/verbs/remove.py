"""Remove documents and the links to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.contract import Refresh, Remove, Scan, ask
from es_simhash.verbs.memory import Memory
from es_simhash.verbs.relink import relink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Flow
    from es_simhash.verbs.rule import ResolvedRule

BATCH = 1_000


def remove(
    ids: Sequence[str],
    rule: ResolvedRule,
    versions: Mapping[str, Any] | None = None,
    filter: Mapping[str, Any] | None = None,
) -> Flow[set[str]]:
    """Remove documents. Afterwards nothing is linked to them, and no later ingest finds them.

    A document that duplicated one of them gets another original, or stands alone. Links are changed first: after an
    interruption the documents still exist, and can be removed again.

    :param rule: the rule by which the other original is found.
    :param versions: by id, for some of the documents: a document that has another version now stays.
    :param filter: only documents that match it become originals.
    :returns: the ids that were removed.
    """
    removed: set[str] = set()
    for start in range(0, len(ids), BATCH):
        some = frozenset(ids[start : start + BATCH])
        yield from ask(Refresh())
        yield from relink(some, Memory(), rule, gone=some, filter=filter)
        found = yield from ask(Remove(tuple(some), versions or {}))
        removed |= found
        yield from ask(Refresh())
        # Others may have linked documents to these in the meantime.
        if (yield from relink(found, Memory(), rule, gone=found, filter=filter)):
            yield from ask(Refresh())
    return removed


def remove_matching(
    matching: Mapping[str, Any], rule: ResolvedRule, filter: Mapping[str, Any] | None = None
) -> Flow[int]:
    """Remove all documents that match a filter, with or without a fingerprint, page by page.

    A document that changes in the meantime (its text or its links) is looked at again.

    :param matching: the documents to remove.
    :param filter: only documents that match it become originals.
    :returns: how many documents were removed.
    """
    count, conflicts = 0, True
    while conflicts:
        conflicts, progressed = False, False
        yield from ask(Refresh())
        scan: Scan | None = Scan(filter=matching, fields=(), size=BATCH)
        while scan is not None:
            page = yield from ask(scan)
            versions = {row.id: row.version for row in page.rows}
            if versions:
                removed = yield from remove(tuple(versions), rule, versions, filter)
                count += len(removed)
                progressed |= bool(removed)
                conflicts |= len(removed) < len(versions)
            scan = scan.following(page)
        conflicts &= progressed
    return count
