"""Remove documents and the links to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.contract import Scan
from es_simhash.deciding.limits import LIMITS
from es_simhash.deciding.memory import Memory
from es_simhash.deciding.relink import relink
from es_simhash.errors import ConflictError, InputError, count_of, saying_what_is_done
from es_simhash.retries import DEADLINE, Waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.contract import Store
    from es_simhash.deciding.rule import ResolvedRule
    from es_simhash.deciding.saved import Saved

BATCH = 1_000
"""Documents that are removed together."""


def remove(
    store: Store,
    ids: Sequence[str],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    *,
    saved: Saved | None = None,
    batch: int = BATCH,
) -> set[str]:
    """Remove documents. Afterwards nothing is linked to them, and no later ingest finds them.

    A document that duplicated one of them gets another original, or stands alone. Links are changed first: after an
    interruption the documents still exist, and can be removed again.

    :param rule: the rule by which the other original is found.
    :param filter: only documents that match it become originals.
    :param saved: takes the documents before they are removed.
    :param batch: documents that are removed, or whose links are written, together.
    :returns: the ids that were removed.
    """
    removed: set[str] = set()

    def report() -> str:
        return f"{len(removed):,} of {count_of(len(ids), 'document')} removed so far: remove all of them again"

    with saying_what_is_done(report):
        for start in range(0, len(ids), batch):
            some = frozenset(ids[start : start + batch])
            if saved is not None:
                saved.put(some)
            remove_some(store, some, rule, {}, filter, removed, batch)
    return removed


def remove_some(
    store: Store,
    ids: frozenset[str],
    rule: ResolvedRule,
    versions: Mapping[str, Any],
    filter: Mapping[str, Any] | None,
    removed: set[str],
    batch: int = LIMITS.links,
) -> None:
    """Remove some documents, and add their ids to ``removed``.

    :param versions: by id, for some of the documents: a document that has another version now stays.
    :param batch: documents whose links are written together.
    """
    store.refresh()
    stored = set(versions or (store.fetch(tuple(ids))))
    relink(store, ids, Memory(), rule, gone=ids, filter=filter, batch=batch)
    found = store.remove(tuple(ids), versions)
    # If the response to a Remove gets lost, it is sent again. Then the store finds the documents no more.
    if lost := stored - found:
        found |= lost - store.fetch(tuple(sorted(lost))).keys()
    removed.update(found)
    store.refresh()
    # Others may have linked documents to these in the meantime.
    if relink(store, found, Memory(), rule, gone=found, filter=filter, batch=batch):
        store.refresh()


def remove_matching(
    store: Store,
    matching: Mapping[str, Any],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None = None,
    *,
    everything: bool = True,
    saved: Saved | None = None,
    batch: int = BATCH,
    deadline: float = DEADLINE,
) -> set[str]:
    """Remove all documents that match a filter, with or without a fingerprint, page by page.

    A document that changes in the meantime (its text or its links) is looked at again.

    :param matching: the documents to remove.
    :param filter: only documents that match it become originals.
    :param everything: all documents of the store may match.
    :param saved: takes the documents before they are removed.
    :param batch: documents that are removed together.
    :param deadline: seconds for which documents are looked at again while other programs change all of them.
    :returns: the ids that were removed.
    :raises InputError: if all documents match, and ``everything`` does not allow it. Nothing is removed then.
    :raises ConflictError: if other programs change documents that match, again and again.
    """
    if not everything:
        _check_some_stay(store, matching)
    removed: set[str] = set()
    conflicts = True

    def report() -> str:
        return f"{count_of(len(removed), 'document')} removed so far: remove the others again"

    waits: Waits | None = None
    while conflicts:
        before, conflicts = len(removed), False
        with saying_what_is_done(report):
            store.refresh()
            scan: Scan | None = Scan(filter=matching, fields=(), size=batch)
            while scan is not None:
                page = store.scan(scan)
                versions = {row.id: row.version for row in page.rows}
                if versions:
                    if saved is not None:
                        saved.put(versions)
                    remove_some(store, frozenset(versions), rule, versions, filter, removed)
                conflicts |= not versions.keys() <= removed
                scan = scan.following(page)
        if len(removed) > before:
            waits = None
        elif conflicts:
            waits = waits or Waits.after_conflict(deadline)
            if not waits.wait():
                raise ConflictError(
                    f"{count_of(len(removed), 'document')} removed so far, but other programs keep changing the others "
                    "that match: wait until they are done, and remove the others again"
                )
    return removed


def _check_some_stay(store: Store, matching: Mapping[str, Any]) -> None:
    """Check that the store has a document that does not match.

    :raises InputError: if all of its documents match, and there is more than one.
    """
    store.refresh()
    total = store.count(Scan(fields=()))
    if total > 1 and (store.count(Scan(filter=matching, fields=()))) == total:
        raise InputError(
            f"all {total:,} documents match: correct the query clause, or confirm that all of them are "
            "removed (everything=True)"
        )
