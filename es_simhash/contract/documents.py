"""Requests on documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from es_simhash.contract.request import Request, ask
from es_simhash.errors import SchemeMismatch, StoreError
from es_simhash.search.hamming import hamming_distance
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from es_simhash.contract.request import Flow
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.search.keys import KeyQuery

    KeySearch = tuple[tuple[KeyQuery, ...], tuple[int, int] | None]
    """The queries of a Probe, and its times."""


@value
class Row:
    """What a store knows of a document's text.

    :param fingerprint: unsigned, as wide as the store's Scheme says; None if the text is too short for one.
    :param digest: of the normalised text; empty if the document was never fingerprinted.
    :param group: id of the group's head; the document's own id if it stands alone.
    :param duplicate_of: id of the original that this document duplicates.
    :param written: the write order: when this text was written, in microseconds since 1970, or any number that grows.
        A small change of the text (a near-duplicate of the former text) keeps it. A change of the links keeps it.
    :param version: version of the stored document, in a form of the store's own. Every write changes it.
    :param keys: keyword keys of the document (:mod:`es_simhash.search.keys`), all different, in any order. A Row that
        is written replaces the former keys of its document; if it has none, it removes them.
    :param length: word characters of the text; None if the Row comes without keys of the text.
    :param damaged: None; or why the stored document cannot be used, where another program wrote our values: what is
        wrong with which document, and what to do. Only Fetch, and Scan with fields, return such a Row.
    :param time: of the document, in milliseconds since 1970. None if the request names no field with the time, and if
        the document has no time or several (:func:`~es_simhash.search.times.time_or_none`). It is not written.
    """

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    written: int
    version: Any = field(default=None, compare=False)
    keys: tuple[str, ...] = field(default=(), compare=False)
    length: int | None = field(default=None, compare=False)
    damaged: str | None = field(default=None, compare=False)
    time: int | None = field(default=None, compare=False)


@value
class Entry:
    """A document to write.

    :param row: what the store will know of its text. Its version is not looked at.
    :param source: the document itself as a JSON object.
    """

    row: Row
    source: str


@value
class Probe:
    """What to look for: documents near a fingerprint, or with a digest, or with common keys. None looks for nothing.

    :param queries: a document that fulfils any of them is found.
    :param times: only documents with a time from the first to the last are found; None for all documents.
    """

    fingerprint: int | None
    digest: str | None
    queries: tuple[KeyQuery, ...] = ()
    times: tuple[int, int] | None = None


@dataclass(frozen=True)
class Describe(Request["Scheme | None"]):
    """Return the Scheme that the store was set up with; None if it was not set up."""


@dataclass(frozen=True)
class SetUp(Request[str]):
    """Make the index, the file or the fields that are missing.

    Replies ``created``, ``added`` (the fields, to an index that existed) or ``unchanged``. A store that was set up with
    another Scheme keeps that one, and raises SchemeMismatch.

    :param keys: kinds of keys that the store gets if it was not set up before. A store that was set up keeps its kinds.
        So no other program finds the store set up and without these keys.
    :param template: the name becomes an alias of indices, of which the newest is written; the indices that it rolls
        over to are set up like it. A store that has none of this raises Unsupported.
    """

    scheme: Scheme
    keys: tuple[str, ...] = ()
    template: bool = False


def scheme_mismatch(stored: Scheme, scheme: Scheme, name: str) -> SchemeMismatch:
    """Return the error for a store that was set up with another Scheme.

    :param name: of the store.
    """
    return SchemeMismatch(
        f"{name} holds fingerprints of Scheme {stored.version}, this program makes fingerprints of {scheme.version}: "
        "open the store without a Scheme to use its own, or put these documents into another index"
    )


@dataclass(frozen=True)
class KeysState:
    """The keys of a store.

    :param kinds: names of the kinds, sorted.
    :param complete: every fingerprinted document has its keys. Else a backfill of all documents must add them.
    """

    kinds: tuple[str, ...] = ()
    complete: bool = True

    def with_kinds(self, kinds: Iterable[str], *, complete: bool) -> KeysState:
        """Return the state with more kinds; the same state if it has them all.

        :param complete: the store has no fingerprinted document, so none lacks the keys of the new kinds.
        """
        if set(kinds) <= set(self.kinds):
            return self
        return KeysState(tuple(sorted({*self.kinds, *kinds})), complete)

    @classmethod
    def of_new_store(cls, kinds: Iterable[str]) -> KeysState:
        """Return the state of a store without documents."""
        return cls().with_kinds(kinds, complete=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a JSON object, as stores keep it."""
        return {"kinds": list(self.kinds), "complete": self.complete}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> KeysState:
        """Return the state of :meth:`to_dict`.

        :raises StoreError: if the values are no state.
        """
        if isinstance(values, Mapping):
            kinds, complete = values.get("kinds"), values.get("complete")
            are_names = isinstance(kinds, list | tuple) and all(isinstance(kind, str) for kind in kinds)
            if are_names and isinstance(complete, bool):
                return cls(tuple(kinds or ()), complete)
        raise StoreError(f"the state of the keys in the store is damaged, it is {values!r}: put it back")


@dataclass(frozen=True)
class DescribeKeys(Request[KeysState]):
    """Return which keys the store has; no kinds if it has none, or if it was not set up."""


@dataclass(frozen=True)
class SetUpKeys(Request[str]):
    """Record that the store has these kinds of keys, besides those that it has. A store that was not set up raises
    NotSetUp.

    Replies ``added``, or ``unchanged`` if it has them all. If a kind is added to a store that has fingerprinted
    documents, the keys are incomplete.
    """

    kinds: tuple[str, ...]


@dataclass(frozen=True)
class CompleteKeys(Request[None]):
    """Record that every fingerprinted document has its keys. A store without kinds of keys stays as it is. A store that
    was not set up raises NotSetUp.
    """


@dataclass(frozen=True)
class CheckTimeField(Request[None]):
    """Check that the store can compare the times in a field of the documents.

    :raises InputError: if it cannot. The message says how to change that.
    """

    field: str


@dataclass(frozen=True)
class Fetch(Request["dict[str, Row]"]):
    """Return the Rows of these ids as last written, without a search. Ids that do not exist are left out.

    :param time_field: the field with the time, for Rows with their times.
    """

    ids: tuple[str, ...]
    time_field: str | None = None


@dataclass(frozen=True)
class SwitchAlias(Request[None]):
    """Take an alias from the indices of this store, and give it to another index of the server, at one moment.

    It keeps its filter. If the other index alone has the alias already, nothing is done. A store without aliases raises
    Unsupported.

    :param to: name of the other index, or of an alias that it alone has.
    :param check: change nothing, and do not look at the other index: it may not exist yet.
    :raises InputError: if this store's indices do not have the alias, or if others have it too.
    """

    alias: str
    to: str
    check: bool = False


@dataclass(frozen=True)
class FetchFields(Request["dict[str, dict[str, Any]]"]):
    """Return these fields of documents as last written, without a search. Ids that do not exist are left out.

    :param fields: fields that a document lacks are left out; a dot leads into an object. None for the whole document,
        as it was written, without our own fields.
    """

    ids: tuple[str, ...]
    fields: tuple[str, ...] | None


@dataclass(frozen=True)
class Found:
    """The reply to Candidates.

    :param rows: no document comes twice.
    :param left_out: for the index of a Probe, how many documents were left out, because ``most`` or
        ``per_fingerprint`` others come before them. Probes without such documents are not named. A store may count
        documents that the filter or ``one_per_digest`` excludes, and it may stop counting at 500.
    :param ids: those of the request's ``ids`` that a document has.
    """

    rows: list[Row]
    left_out: Mapping[int, int] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidates(Request[Found]):
    """Return Rows that include everything within ``max_distance`` of a Probe's fingerprint, with its digest, or with
    the keys that one of its queries asks for.

    The Rows have their keys and lengths if a Probe has queries; else they come without.

    :param max_distance: in bits; below 0 the store looks at digests alone.
    :param bits: width of the fingerprints.
    :param filter: a filter that the documents must match.
    :param without: ids to leave out.
    :param blocks: every fingerprinted document has its block keys (:mod:`es_simhash.search.blocks`), and
        ``max_distance`` is one for which they find everything. The store may look fingerprints up by them.
    :param one_per_digest: of documents with one digest, return the one that was written first. They have the same text,
        so the same fingerprint and the same keys. If Probes have times: of the documents with one digest in the times
        of one Probe, return at least the one that was written first.
    :param most: of the documents that fulfil the queries of one Probe, return at most so many: those whose shared keys
        have the largest sum of :func:`~es_simhash.search.keys.rarity` (the largest one over the queries that the
        document fulfils), then those written first. Where these are equal too, the store chooses. Documents with one
        digest count once if ``one_per_digest``. A store may know the rarity only roughly, and it may read only the
        first 500 documents of a key.
    :param per_fingerprint: of the documents with one fingerprint, return at most so many that only their fingerprint
        finds: those written first. None for all. ``left_out`` counts the others, unless it is 1: then the first stands
        for all of them. Digests are not limited. None if Probes have times.
    :param time_field: the field with the time, for Rows with their times. A Probe with times needs it.
    :param ids: say which of these ids a document has. Its filter and fingerprint do not matter. As a search, this does
        not see what was just written.
    """

    probes: tuple[Probe, ...]
    max_distance: int
    bits: int
    filter: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()
    blocks: bool = False
    one_per_digest: bool = False
    most: int = 20
    per_fingerprint: int | None = None
    time_field: str | None = None
    ids: tuple[str, ...] = ()

    def fingerprints(self, probes: Sequence[Probe]) -> list[int]:
        """Return the fingerprints to look for, of some of the Probes."""
        return [p.fingerprint for p in probes if p.fingerprint is not None and self.max_distance >= 0]

    def left_out_of(self, crowds: Mapping[int | None, int]) -> dict[int, int]:
        """Return how many documents were left out, by the index of the Probe.

        :param crowds: by fingerprint, how many documents were left out because ``per_fingerprint`` others have it.
        """
        left_out: dict[int, int] = {}
        for fingerprint, count in crowds.items():
            for index, probe in enumerate(self.probes):
                distance = hamming_distance(fingerprint, probe.fingerprint)
                if distance is not None and distance <= self.max_distance:
                    left_out[index] = left_out.get(index, 0) + count
        return left_out

    @property
    def with_keys(self) -> bool:
        """A Probe has queries, so the Rows come with their keys."""
        return any(probe.queries for probe in self.probes)

    def key_queries(self) -> dict[KeySearch, list[int]]:
        """Return the different sets of queries with their times, each with the indices of the Probes that have it.

        Queries that no document can fulfil are left out.
        """
        found: dict[KeySearch, list[int]] = {}
        for index, probe in enumerate(self.probes):
            queries = tuple(query for query in probe.queries if len(query.keys) >= max(1, query.minimum))
            if queries:
                found.setdefault((queries, probe.times), []).append(index)
        return found


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


def each_page(scan: Scan, take: Callable[[ScanPage], object]) -> Flow[None]:
    """Perform a Scan from its first page to its last one.

    :param take: is called with each page.
    """
    more: Scan | None = scan
    while more is not None:
        page = yield from ask(more)
        take(page)
        more = more.following(page)


@dataclass(frozen=True)
class Count(Request[int]):
    """Return how many documents a Scan returns."""

    scan: Scan


@dataclass(frozen=True)
class Dependents(Request["set[str]"]):
    """Return the ids of documents that are linked to these documents. The documents themselves are left out.

    :param originals: ids that a ``duplicate_of`` may name.
    :param heads: ids that a ``group`` may name.
    """

    originals: tuple[str, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """A document's group and original, and the version of the document that this was decided for."""

    group: str
    duplicate_of: str | None
    version: Any


@dataclass(frozen=True)
class Relink(Request["set[str]"]):
    """Change the links of documents that still have the Link's version, and return the ids of those that do not."""

    links: Mapping[str, Link]


@dataclass(frozen=True)
class Refresh(Request[None]):
    """Make everything that was written visible to Candidates and Scan."""
