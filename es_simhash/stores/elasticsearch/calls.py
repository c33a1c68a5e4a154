"""The vocabulary of this store: Calls, Steps, the Dialect of a server, the Index, and entries of tables of handlers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeAlias

    from es_simhash.contract import Request
    from es_simhash.drive import Pause
    from es_simhash.errors import SimhashError

R = TypeVar("R")

COUNT_AGE = 10.0
"""Seconds for which a number of documents is used. A fast ingest writes less than 100,000 documents in that time."""


@dataclass(frozen=True)
class Call:
    """A call of the client.

    :param method: name of the method, such as ``indices.create``.
    :param arguments: its keyword arguments.
    """

    method: str
    arguments: dict[str, Any] = field(default_factory=dict)


Steps: TypeAlias = "Generator[Call | Pause, Any, R]"
"""A request in progress: a generator that yields Calls, receives the bodies of their responses, and returns an R.

So the sync and the async client send the same bytes from one source.
"""


@dataclass(frozen=True)
class Dialect:
    """What differs between servers with this protocol, and between their clients.

    A store for another server needs another value of this class. The value for Elasticsearch is ``ELASTICSEARCH`` in
    :mod:`es_simhash.stores.elasticsearch.client`.

    :param product: name of the server, with its article, for messages.
    :param client: name and version of the client, for messages.
    :param open_point_in_time: returns the Call that opens a point in time of an index, which lives for a duration such
        as ``2m`` after each use.
    :param point_in_time_key: key of the id of the point in time in the response to that Call.
    :param close_point_in_time: returns the Call that closes the point in time with an id.
    :param tie_breaker: the field by which the hits of a point in time are sorted. Each hit has another value of it.
    :param send: makes a Call on a client. An async client returns an awaitable.
    :param body: returns the body of a response.
    :param failures: the exceptions that a Call may raise.
    :param translate: returns the error of es_simhash for one of these exceptions; the second argument is the store's
        name.
    """

    product: str
    client: str
    open_point_in_time: Callable[[str, str], Call]
    point_in_time_key: str
    close_point_in_time: Callable[[str], Call]
    tie_breaker: str
    send: Callable[[Any, Call], Any]
    body: Callable[[Any], Any]
    failures: tuple[type[Exception], ...]
    translate: Callable[[Exception, str], SimhashError]


class DocumentCount:
    """How many documents an index had when it was last asked. It is asked again after ``COUNT_AGE`` seconds."""

    def __init__(self) -> None:
        self.documents: int | None = None
        self._asked = 0.0

    @property
    def old(self) -> bool:
        """It must be asked again."""
        return self.documents is None or time.monotonic() - self._asked > COUNT_AGE

    def set(self, documents: int) -> None:
        """Remember a number of documents."""
        self.documents, self._asked = documents, time.monotonic()


@dataclass(frozen=True)
class Index:
    """The index that a store uses.

    :param index: name of the index, or of an alias of it.
    :param name: the store's address without credentials, for messages.
    :param dialect: of the server.
    :param count: an estimate of the number of documents, for the planner.
    """

    index: str
    name: str
    dialect: Dialect
    count: DocumentCount = field(default_factory=DocumentCount, compare=False)


Handler: TypeAlias = "Callable[[Any, Index], Steps[Any]]"
"""Returns the Steps of a request on an Index."""


def handler(kind: type[Request[R]], function: Callable[[Any, Index], Steps[R]]) -> tuple[type[Request[Any]], Handler]:
    """Return an entry of a table of handlers. mypy checks that the function returns the reply that the request names.

    :param kind: the type of the request.
    :param function: returns the Steps of a request on an Index.
    """
    return kind, function
