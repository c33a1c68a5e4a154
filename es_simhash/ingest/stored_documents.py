"""Stored documents as the input of a backfill: page by page, each with the version that was read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import pages
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from es_simhash.contract import Scan, Store

IDS = 10_000
"""Ids in one clause. A server takes no more."""


def next_pass(scan: Scan, filter: Mapping[str, Any] | None, conflicts: Sequence[str]) -> Scan | None:
    """Return a Scan of the documents that other writers changed in the meantime; None if there are none.

    :param filter: of the backfill.
    :param conflicts: ids of these documents.
    """
    if not conflicts:
        return None
    some = [list(conflicts[start : start + IDS]) for start in range(0, len(conflicts), IDS)]
    ids: dict[str, Any] = {"bool": {"should": [{"ids": {"values": values}} for values in some]}}
    return replace(scan, filter={"bool": {"filter": [ids, *([filter] if filter else [])]}})


def stored_lines(store: Store, scan: Scan, stop: Callable[[], bool]) -> Iterator[Line]:
    """Yield all documents of a Scan, until ``stop()`` is true. It is asked before each page."""
    found = pages(store, scan)
    while not stop() and (page := next(found, None)) is not None:
        for row, source in zip(page.rows, page.sources, strict=True):
            document: dict[str, Any] = {**source, "_id": row.id}
            yield Line(f"document {row.id!r}", document, version=row.version)
