"""What a flow may ask of a store: one frozen dataclass a request, which names the type of its reply.

A flow writes ``rows = yield from ask(Fetch(ids))``; whoever drives it hands the request to a store and sends
the reply back. A store is any object that performs these, see :class:`Store` and :class:`AsyncStore`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import TypeAlias

    from es_simhash.bloom.seen import SeenConfig
    from es_simhash.drive import Pause
    from es_simhash.fingerprinting.scheme import Scheme

R = TypeVar("R")
T = TypeVar("T")


class Op(Generic[R]):
    """A request whose reply is an R."""


Flow: TypeAlias = "Generator[Op[Any] | Pause, Any, T]"
"""A verb: it yields requests, receives their replies, and returns a T."""


def ask(op: Op[R]) -> Flow[R]:
    """Ask the store, with the reply's type."""
    reply: R = yield op
    return reply


class Store(Protocol):
    """Performs requests, one after the other."""

    name: str
    """The address, without secrets, for messages."""
    embedded: bool
    """Whether the store is the program's own, so that it is set up at the first ingest without being asked."""

    def perform(self, op: Op[R]) -> R:
        """Answer a request.

        :raises StoreError: whatever goes wrong, in the words of :mod:`es_simhash.errors`.
        """

    def close(self) -> None:
        """Let go of files and connections; closing twice is fine."""


class AsyncStore(Protocol):
    """A Store whose ``perform`` is awaited."""

    name: str
    embedded: bool

    async def perform(self, op: Op[R]) -> R: ...

    async def close(self) -> None: ...


# --- documents ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """What a store knows of a document's text.

    :param fingerprint: unsigned; None if the text has too little to say.
    :param digest: of the normalised text; empty if the document was never fingerprinted.
    :param group: id of the group's head; the document's own id if it stands alone.
    :param duplicate_of: id of the document that this one was found to duplicate.
    :param written: when this text was written, in microseconds since 1970, or as a number that grows; a change of the
        text that is a near-duplicate of the former one keeps it, and so does a change of the links.
    :param version: of the stored document, whatever it is in this store: it changes with every write.
    :param bits: length of the fingerprint.
    """

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    written: int
    version: Any = field(default=None, compare=False)
    bits: int = field(default=64, compare=False)


@dataclass(frozen=True)
class Entry:
    """A document to be written: what its Row will say, and the document itself as a JSON object.

    :param version: if given, the document is there already: our fields are put into it if it still has this version,
        and ``source`` is not looked at.
    """

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    source: str
    written: int = 0
    version: Any = None
    bits: int = 64


@dataclass(frozen=True)
class Probe:
    """What to look for: documents near a fingerprint, or with a digest, or both; None asks nothing."""

    fingerprint: int | None
    digest: str | None
    bits: int = 64


@dataclass(frozen=True)
class Describe(Op["Scheme | None"]):
    """The Scheme that the store was set up with; None if it was not set up."""


@dataclass(frozen=True)
class SetUp(Op[str]):
    """Make what is missing. Replies ``created``, ``added`` (the fields, to an index that existed) or ``unchanged``."""

    scheme: Scheme


@dataclass(frozen=True)
class Fetch(Op["dict[str, Row]"]):
    """The Rows of these ids, as last written (never by search); ids that are not there are left out."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class FetchFields(Op["dict[str, dict[str, Any]]"]):
    """These fields of documents, as last written (never by search); ids that are not there are left out.

    :param fields: what a document lacks is left out; a dot leads into an object.
    """

    ids: tuple[str, ...]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Candidates(Op["list[Row]"]):
    """Rows among which is everything within ``max_distance`` of a Probe's fingerprint, or with its digest.

    :param max_distance: below 0 fingerprints are not looked at.
    :param filter: a query clause that they must match.
    :param without: ids that are not wanted.
    :param one_per_digest: of documents with one digest, the one written first is enough.
    """

    probes: tuple[Probe, ...]
    max_distance: int
    filter: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()
    one_per_digest: bool = False

    def fingerprints(self, probes: Sequence[Probe]) -> list[int]:
        """The fingerprints to look for, of some of the Probes."""
        return [p.fingerprint for p in probes if p.fingerprint is not None and self.max_distance >= 0]

    @property
    def bits(self) -> int:
        """Length of the Probes' fingerprints."""
        return max((probe.bits for probe in self.probes if probe.fingerprint is not None), default=64)


@dataclass(frozen=True)
class Written:
    """The answer to Write.

    :param refused: the reason, for each id that will not be written.
    :param searchable: Candidates sees what was written already now.
    :param busy: ids that were not written because the store had too much to do: ask again, later.
    :param conflicts: ids whose document no longer has the version given.
    """

    refused: Mapping[str, str]
    searchable: bool
    busy: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Write(Op[Written]):
    """Write documents, each in place of the one with its id; no id twice."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Remove(Op["set[str]"]):
    """Remove documents; replies the ids that were there.

    :param versions: of some of them: what has another version by now stays.
    """

    ids: tuple[str, ...]
    versions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanPage:
    """The answer to Scan; ``after`` goes into the next one, and is None on the last page.

    :param sources: the text fields of each document that were asked for.
    """

    rows: list[Row]
    after: Any
    sources: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Scan(Op[ScanPage]):
    """Some of all fingerprinted documents that can be found by search, in no particular order, none twice.

    :param after: of the page before; None begins.
    :param filter: a query clause that they must match.
    :param fields: look at documents with or without a fingerprint, and bring these fields of theirs along; perhaps
        none.
    :param missing: only documents without a fingerprint.
    :param slice: ``(i, n)``: only the i-th of n parts, which together are everything.
    :param size: documents of a page; the store's own choice if it is None.
    """

    after: Any = None
    filter: Mapping[str, Any] | None = None
    fields: tuple[str, ...] | None = None
    missing: bool = False
    slice: tuple[int, int] | None = None
    size: int | None = None


@dataclass(frozen=True)
class Count(Op[int]):
    """How many documents a Scan comes upon."""

    scan: Scan


@dataclass(frozen=True)
class Dependents(Op["set[str]"]):
    """The ids of documents that name one of these as what they duplicate, or as their group; themselves left out.

    :param originals: named as what they duplicate.
    :param heads: named as their group.
    """

    originals: tuple[str, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True)
class Link:
    """What a document's group is, what it duplicates, and the version of it that this was decided for."""

    group: str
    duplicate_of: str | None
    version: Any


@dataclass(frozen=True)
class Relink(Op["set[str]"]):
    """Change the links of documents that still have the version given; replies the ids of those that don't."""

    links: Mapping[str, Link]


@dataclass(frozen=True)
class Refresh(Op[None]):
    """Make everything written so far visible to Candidates."""


# --- seen items --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UserState:
    """What a store holds of one user's seen items.

    :param filters: Bloom filters as bytes, from the oldest generation to the newest.
    :param newest: when the newest generation was begun, in seconds since 1970; 0 if there is none.
    :param forgotten: hash of each forgotten item, and the newest generation when it was forgotten.
    :param version: of the user's document, whatever it is in this store; None if there is no document.
    :param damaged: why this can't be read; nothing else is known then.
    """

    filters: tuple[bytes, ...] = ()
    newest: int = 0
    forgotten: Mapping[str, int] = field(default_factory=dict)
    version: Any = None
    damaged: str | None = None


@dataclass(frozen=True)
class DescribeSeen(Op["SeenConfig | None"]):
    """The configuration of seen items that the store was set up with; None if it was not."""


@dataclass(frozen=True)
class SetUpSeen(Op[str]):
    """Make what is missing for seen items. Replies ``created``, ``added`` or ``unchanged``."""

    config: SeenConfig


@dataclass(frozen=True)
class FetchUsers(Op["dict[str, UserState]"]):
    """The states of these users, as last written (never by search); users without a document are left out."""

    users: tuple[str, ...]


@dataclass(frozen=True)
class Changed:
    """The answer to ChangeUsers.

    :param conflicts: users whose document is no longer of the version that the change was made from, or whose change
        the store was too busy for: read them again, and try again.
    :param refused: the reason, for each user whose change will not be taken.
    """

    conflicts: frozenset[str]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class ChangeUsers(Op[Changed]):
    """Write the states of users, each if its document still has the state's version. Other fields stay as they are."""

    states: Mapping[str, UserState]


@dataclass(frozen=True)
class RemoveUsers(Op["set[str]"]):
    """Take the seen items out of users' documents, and remove documents that hold nothing else.

    Replies the users that had any.
    """

    users: tuple[str, ...]


@dataclass(frozen=True)
class ListUsers(Op["list[str]"]):
    """Some users whose newest generation was begun before a time; none if there are no more.

    :param before: seconds since 1970.
    :param without: users that are not wanted.
    """

    before: int
    without: tuple[str, ...] = ()
