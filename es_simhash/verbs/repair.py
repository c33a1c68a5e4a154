"""Repair links to documents that other programs removed or changed while links were computed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.verbs.memory import Memory
from es_simhash.verbs.relink import relink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.contract import Store
    from es_simhash.verbs.rule import ResolvedRule

K = TypeVar("K")

BATCH = 1_000
"""Documents that one request asks for."""


def repair(
    store: Store,
    linked_to: Iterable[tuple[str, K]],
    has_digest: Callable[[K, str], bool],
    rule: ResolvedRule,
    filter: Mapping[str, Any] | None,
) -> None:
    """Change the links to documents that do not exist any more, or have another text than before.

    :param linked_to: the id of each document to which links were written, and what the caller knows it by.
    :param has_digest: takes what the caller knows a document by, and a digest. Returns whether it had this digest.
    :param rule: the rule by which links hold.
    :param filter: only documents that match it become originals.
    """
    rest = iter(linked_to)
    while some := dict(islice(rest, BATCH)):
        ids = list(some)
        digests = {id: row.digest for id, row in store.fetch(tuple(ids)).items()}
        gone = [id for id in ids if id not in digests]
        changed = [id for id in ids if id not in digests or not has_digest(some[id], digests[id])]
        if changed and (relink(store, changed, Memory(), rule, gone=gone, filter=filter)):
            store.refresh()
