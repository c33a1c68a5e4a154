"""The documents of an index as input of a run: page by page, each with the version that was read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract import Scan
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from es_simhash.contract import ScanPage
    from es_simhash.ingest.run import Choices


IDS = 10_000
"""Ids in one clause: a server takes no more."""


def first_pass(choices: Choices, slice: tuple[int, int] | None, again: bool) -> Scan:
    """What a backfill looks at; ``again`` if at documents with a fingerprint too."""
    return Scan(None, choices.filter, choices.text_fields, not again, slice, choices.batch_size)


def next_pass(scan: Scan, choices: Choices, conflicts: list[str]) -> Scan | None:
    """Another look at what others wrote meanwhile; None if nobody did."""
    if not conflicts:
        return None
    some = [conflicts[start : start + IDS] for start in range(0, len(conflicts), IDS)]
    ids: dict[str, Any] = {"bool": {"should": [{"ids": {"values": values}} for values in some]}}
    return replace(scan, filter={"bool": {"filter": [ids, *([choices.filter] if choices.filter else [])]}})


def never() -> bool:
    """No reason to stop."""
    return False


def pages(scan: Scan, perform: Callable[[Scan], ScanPage], stop: Callable[[], bool]) -> Iterator[Line]:
    """All documents that a Scan comes upon, until it is to stop."""
    more = True
    while more and not stop():
        page = perform(scan)
        yield from _lines(page)
        more, scan = page.after is not None, replace(scan, after=page.after)


async def apages(
    scan: Scan, perform: Callable[[Scan], Awaitable[ScanPage]], stop: Callable[[], bool]
) -> AsyncIterator[Line]:
    """:func:`pages`, awaited."""
    more = True
    while more and not stop():
        page = await perform(scan)
        for line in _lines(page):
            yield line
        more, scan = page.after is not None, replace(scan, after=page.after)


def _lines(page: ScanPage) -> Iterator[Line]:
    for row, source in zip(page.rows, page.sources, strict=True):
        document: dict[str, Any] = {**source, "_id": row.id}
        yield Line(f"document {row.id!r}", document, version=row.version)
