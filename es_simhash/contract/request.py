"""Requests, the verbs that yield them, and the stores that answer them.

A verb is a generator. It writes ``rows = yield from ask(Fetch(ids))``. A driver (:mod:`es_simhash.drive`) hands the
request to a store and sends the reply back into the generator. So a verb is written once for sync and async programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from es_simhash.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import TypeAlias

    from es_simhash.drive import Pause

R = TypeVar("R")
T = TypeVar("T")
H = TypeVar("H")


class Request(Generic[R]):
    """A request to a store. The store replies with an R."""


Flow: TypeAlias = "Generator[Request[Any] | Pause, Any, T]"
"""A verb in progress: a generator that yields requests, receives their replies, and returns a T."""


def ask(request: Request[R]) -> Flow[R]:
    """Send one request to the store, and return its reply."""
    reply: R = yield request
    return reply


@dataclass(frozen=True)
class AtOnce(Request["tuple[Any, ...]"]):
    """Perform several requests that only read at the same time, and reply with their replies.

    The client that has the store answers it, not the store. If one of the requests fails, its error is raised.
    """

    requests: tuple[Request[Any], ...]


class Store(Protocol):
    """Answers requests.

    What every store does is stated with each request, and tested by the suite in tests/contract. A store may refuse:

    - single documents of a Write or an Annotate: the reply names them, with the reason;
    - a filter that it cannot evaluate: InputError;
    - a request that it does not know: Unsupported;
    - everything else: another :class:`~es_simhash.errors.StoreError`. ``retryable`` says whether to try again.
    """

    name: str
    """The address without credentials, for messages."""
    embedded: bool
    """The store belongs to this program alone. The first ingest sets it up."""

    def perform(self, request: Request[R]) -> R:
        """Return the reply to a request.

        :raises SimhashError: any error, in the terms of :mod:`es_simhash.errors`.
        """

    def close(self) -> None:
        """Close files and connections. A second call does nothing."""


class AsyncStore(Protocol):
    """A Store for async programs: ``perform`` and ``close`` are awaited."""

    name: str
    embedded: bool

    async def perform(self, request: Request[R]) -> R: ...

    async def close(self) -> None: ...


def handler_of(
    handlers: Mapping[type[Request[Any]], Callable[..., H]], request: Request[Any], name: str
) -> Callable[..., H]:
    """Return the function of a store's table that answers this request.

    :param handlers: the store's table: a function for each type of request.
    :param name: the store's name, for the message.
    :raises Unsupported: if the table has no function for the request.
    """
    try:
        return handlers[type(request)]
    except KeyError:
        raise Unsupported(f"{name} does not support the request {type(request).__name__}") from None
