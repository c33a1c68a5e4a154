"""Stored documents as the input of a backfill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.store.protocol import Store
    from es_simhash.store.types import Scan


def stored_lines(store: Store, scan: Scan, stop: Callable[[], bool]) -> Iterator[Line]:
    """Yield all documents of a Scan, until ``stop()`` is true. It is asked before each page."""
    for page in store.scan(scan):
        if stop():
            return
        for stored in page:
            document = {**(stored.source or {}), "_id": stored.row.id}
            yield Line(f"document {stored.row.id!r}", document, stored=stored.row)
