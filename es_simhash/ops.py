"""What a flow may ask of a store: one frozen dataclass a request, which names the type of its reply.

A flow writes ``rows = yield from ask(Fetch(ids))``; whoever drives it hands the request to a store and sends
the reply back. A store is any object that performs these, see :class:`Store` and :class:`AsyncStore`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import TypeAlias

    from es_simhash.core.scheme import Scheme

R = TypeVar("R")
T = TypeVar("T")


class Op(Generic[R]):
    """A request whose reply is an R."""


Flow: TypeAlias = "Generator[Op[Any], Any, T]"
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
class Refresh(Op[None]):
    """Make everything written so far visible to Candidates."""
