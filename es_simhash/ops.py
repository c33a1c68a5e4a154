"""What a flow may ask of a store: one frozen dataclass a request, which names the type of its reply.

A flow writes ``rows = yield from ask(Fetch(ids))``; whoever drives it hands the request to a store and sends
the reply back. A store is any object that performs these, see :class:`Store` and :class:`AsyncStore`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import TypeAlias

    from es_simhash.core.scheme import Scheme
    from es_simhash.core.seen import SeenConfig
    from es_simhash.drive import Pause

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


@dataclass(frozen=True)
class Row:
    """What a store knows of a document's text.

    :param fingerprint: unsigned; None if the text has too little to say.
    :param digest: of the normalised text; empty if the document was never fingerprinted.
    :param group: id of the group's head; the document's own id if it stands alone.
    :param duplicate_of: id of the document that this one was found to duplicate.
    :param written: grows with every write to the store (in Elasticsearch: to the shard).
    """

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    written: int


@dataclass(frozen=True)
class Entry:
    """A document to be written: what its Row will say, and the document itself as a JSON object."""

    id: str
    fingerprint: int | None
    digest: str
    group: str
    duplicate_of: str | None
    source: str


@dataclass(frozen=True)
class Probe:
    """What to look for: documents near a fingerprint, or with a digest, or both; None asks nothing."""

    fingerprint: int | None
    digest: str | None


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
class Candidates(Op["list[Row]"]):
    """Rows among which is everything within ``max_distance`` of a Probe's fingerprint, or with its digest.

    :param filter: a query clause that they must match.
    :param without: ids that are not wanted.
    :param one_per_digest: of documents with one digest, the one written first is enough.
    """

    probes: tuple[Probe, ...]
    max_distance: int
    filter: Mapping[str, Any] | None = None
    without: tuple[str, ...] = ()
    one_per_digest: bool = False


@dataclass(frozen=True)
class Written:
    """The answer to Write.

    :param refused: the reason, for each id that was not written.
    :param searchable: Candidates sees what was written already now.
    """

    refused: Mapping[str, str]
    searchable: bool


@dataclass(frozen=True)
class Write(Op[Written]):
    """Write documents, each in place of the one with its id; no id twice."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Remove(Op["set[str]"]):
    """Remove documents; replies the ids that were there."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class Scanned:
    """A document that was come upon by Scan.

    :param version: of the document, whatever it is in this store.
    """

    row: Row
    version: Any


@dataclass(frozen=True)
class ScanPage:
    """The answer to Scan; ``after`` goes into the next one, and is None on the last page."""

    documents: list[Scanned]
    after: Any


@dataclass(frozen=True)
class Scan(Op[ScanPage]):
    """Some of all fingerprinted documents that can be found by search, in no particular order, none twice.

    :param after: of the page before; None begins.
    :param filter: a query clause that they must match.
    """

    after: Any = None
    filter: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Regroup(Op["set[str]"]):
    """Change the groups of documents that still have the version given; replies the ids of those that don't.

    :param groups: for each id the group and the version.
    """

    groups: Mapping[str, tuple[str, Any]]


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
