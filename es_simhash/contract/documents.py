"""Which documents to read, and what a write did."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from es_simhash.contract.rows import Row
    from es_simhash.contract.store import Store


@dataclass(frozen=True)
class Written:
    """What ``write`` or ``annotate`` did.

    :param refused: the reason, for each id that the store refuses.
    :param searchable: ``candidates`` already finds what was written.
    :param busy: ids that were not written because the store was too busy. Ask again later.
    :param conflicts: ids that were not written because their document changed since it was read, or exists.
    """

    refused: Mapping[str, str]
    searchable: bool
    busy: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ScanPage:
    """A page of a Scan.

    :param after: put it into the next Scan; None on the last page.
    :param sources: the requested fields of each document.
    """

    rows: list[Row]
    after: Any
    sources: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Scan:
    """Which documents ``scan`` returns, and where it goes on.

    :param after: from the page before; None for the first page.
    :param filter: a filter that the documents must match.
    :param fields: include documents without a fingerprint, and return these fields of each document (perhaps none).
    :param missing: only documents without a fingerprint.
    :param slice: ``(i, n)``: only the i-th of n parts. The parts together are everything.
    :param size: documents in a page; the store chooses if it is None.
    :param time_field: the field with the time, for Rows with their times.
    """

    after: Any = None
    filter: Mapping[str, Any] | None = None
    fields: tuple[str, ...] | None = None
    missing: bool = False
    slice: tuple[int, int] | None = None
    size: int | None = None
    time_field: str | None = None

    def following(self, page: ScanPage) -> Scan | None:
        """Return the Scan of the next page; None if this page is the last one."""
        return None if page.after is None else replace(self, after=page.after)


def pages(store: Store, scan: Scan) -> Iterator[ScanPage]:
    """Yield the pages of a Scan from the first one to the last one."""
    more: Scan | None = scan
    while more is not None:
        page = store.scan(more)
        yield page
        more = more.following(page)
