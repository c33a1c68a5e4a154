"""Requests that read and write documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract.request import Request, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from es_simhash.contract.request import Flow
    from es_simhash.contract.rows import Entry, Link, Row


@dataclass(frozen=True)
class Fetch(Request["dict[str, Row]"]):
    """Return the Rows of these ids as last written, without a search. Ids that do not exist are left out.

    :param time_field: the field with the time, for Rows with their times.
    """

    ids: tuple[str, ...]
    time_field: str | None = None


@dataclass(frozen=True)
class FetchFields(Request["dict[str, dict[str, Any]]"]):
    """Return these fields of documents as last written, without a search. Ids that do not exist are left out.

    :param fields: fields that a document lacks are left out; a dot leads into an object. None for the whole document,
        as it was written, without our own fields.
    """

    ids: tuple[str, ...]
    fields: tuple[str, ...] | None


@dataclass(frozen=True)
class Written:
    """The reply to Write and to Annotate.

    :param refused: the reason, for each id that the store refuses.
    :param searchable: Candidates already finds what was written.
    :param busy: ids that were not written because the store was too busy. Ask again later.
    :param conflicts: ids that were not written because their document changed since it was read, or exists.
    """

    refused: Mapping[str, str]
    searchable: bool
    busy: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Write(Request[Written]):
    """Write documents. Each replaces the document with its id. No id occurs twice.

    :param bits: width of the fingerprints.
    :param pipeline: name of an ingest pipeline of the server; None for the index's own. An embedded store gets
        none.
    :param create: of the ids, those that no document should have. If one has it nevertheless, it stays, and the id is
        a conflict. A store whose replies may get lost reports none if this Write is performed again.
    """

    entries: tuple[Entry, ...]
    bits: int
    pipeline: str | None = None
    create: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Annotate(Request[Written]):
    """Write what Rows say into stored documents that still have the Row's version. Their other fields stay.

    A Row without keys removes the keys of its document.

    :param bits: width of the fingerprints.
    """

    rows: tuple[Row, ...]
    bits: int


@dataclass(frozen=True)
class Remove(Request["set[str]"]):
    """Remove documents, and return the ids that were removed.

    :param versions: by id, for some of them: a document that has another version now stays.
    """

    ids: tuple[str, ...]
    versions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanPage:
    """The reply to Scan.

    :param after: put it into the next Scan; None on the last page.
    :param sources: the requested fields of each document.
    """

    rows: list[Row]
    after: Any
    sources: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Scan(Request[ScanPage]):
    """Return a page of the fingerprinted documents that search finds, in no particular order. No document comes twice.

    The Rows come without keys and lengths: do not write them back with Annotate, which would remove the keys.

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


def each_page(store: Store, scan: Scan, take: Callable[[ScanPage], object]) -> None:
    """Perform a Scan from its first page to its last one.

    :param take: is called with each page.
    """
    more: Scan | None = scan
    while more is not None:
        page = store.scan(more)
        take(page)
        more = more.following(page)


@dataclass(frozen=True)
class Count(Request[int]):
    """Return how many documents a Scan returns."""

    scan: Scan


@dataclass(frozen=True)
class Relink(Request["set[str]"]):
    """Change the links of documents that still have the Link's version, and return the ids of those that do not."""

    links: Mapping[str, Link]


@dataclass(frozen=True)
class Refresh(Request[None]):
    """Make everything that was written visible to Candidates and Scan."""
