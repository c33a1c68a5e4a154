"""All pages of a Scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.contract import Scan, ScanPage, Store


def pages(store: Store, scan: Scan) -> Iterator[ScanPage]:
    """Perform a Scan, and yield its pages from the first one to the last one."""
    more: Scan | None = scan
    while more is not None:
        page = store.perform(more)
        yield page
        more = more.following(page)
