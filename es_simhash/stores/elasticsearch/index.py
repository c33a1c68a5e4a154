"""The index that a store uses: it sends Requests in the Dialect of its server."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

from es_simhash.retries import check_not_cancelled
from es_simhash.stores.elasticsearch.failures import check_complete, error_from_body, is_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from es_simhash.errors import SimhashError
    from es_simhash.stores.elasticsearch.routing import Routing

T = TypeVar("T")

_log = logging.getLogger("es_simhash")

COUNT_AGE = 10.0
"""Seconds for which a number of documents is used. A fast ingest writes less than 100,000 documents in that time."""
COUNT_AGE_FOR_ONE = 300.0
"""The same for a search for one fingerprint. A wrong number costs it half a millisecond."""

MEMBERS_AGE = 1.0
"""Seconds for which the names of the indices behind an alias are used."""


@dataclass(frozen=True)
class Request:
    """An HTTP request.

    :param method: of HTTP.
    :param path: percent-encoded.
    :param body: of :meth:`Index.send`.
    :param parameters: of the query string.
    """

    method: str
    path: str
    body: Any
    parameters: dict[str, str]


@dataclass(frozen=True)
class PointsInTime:
    """How a server names points in time.

    :param path: the end of the path that opens one of an index. It is also the path that closes one.
    :param parameters: of the request that opens one.
    :param key: key of the id in the bodies of these two.
    :param tie_breaker: the field by which hits are sorted.
    :param ties: hits of several shards may have the same value of it.
    """

    path: str
    parameters: dict[str, str]
    key: str
    tie_breaker: str
    ties: bool


@dataclass(frozen=True)
class Dialect:
    """What differs between servers with this protocol, and between their clients.

    A store for another server needs another value of this class. The value for Elasticsearch is in
    :mod:`es_simhash.stores.elasticsearch.client`, that for OpenSearch in
    :mod:`es_simhash.stores.elasticsearch.opensearch`.

    :param product: name of the server, with its article, for messages.
    :param client: name and version of the client, for messages.
    :param points_in_time: how a point in time is opened, read and closed.
    :param check_server: checks what the client does not: the product, and the settings of the index.
    :param send: makes a Request on a client. An async client returns an awaitable.
    :param body: returns the body of a response.
    :param failures: the exceptions that a Request may raise.
    :param translate: returns the error of es_simhash for one of these exceptions; the second argument is the store's
        name.
    """

    product: str
    client: str
    points_in_time: PointsInTime
    check_server: Callable[[Index], None]
    send: Callable[[Any, Request], Any]
    body: Callable[[Any], Any]
    failures: tuple[type[Exception], ...]
    translate: Callable[[Exception, str], SimhashError]


class Remembered(Generic[T]):
    """What the server said of itself, and when."""

    def __init__(self, value: T) -> None:
        self.value = value
        self._said: float | None = None

    def old(self, seconds: float) -> bool:
        """Return whether the server must be asked again, because it said this more than some seconds ago, or never."""
        return self._said is None or time.monotonic() - self._said > seconds

    def set(self, value: T) -> None:
        """Remember what the server says now."""
        self.value, self._said = value, time.monotonic()


class Members:
    """The indices behind the alias that a store uses, as the server last named them; or the index itself.

    An alias may roll over to a new index at any time. The first read by ids after that fails. Then the server is asked
    for the names, and again after ``MEMBERS_AGE`` seconds. The index of each hit is remembered too.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._asked = 0.0

    @property
    def several(self) -> bool:
        """The name is an alias of several indices."""
        return len(self.names) > 1

    @property
    def old(self) -> bool:
        """They must be asked again."""
        return self.several and time.monotonic() - self._asked > MEMBERS_AGE

    def set(self, names: Iterable[str]) -> None:
        """Remember the names, the newest index last: a rollover counts up the end of the name."""
        self.names, self._asked = tuple(sorted(names)), time.monotonic()

    def add(self, names: frozenset[str]) -> None:
        """Remember the indices of hits."""
        if not names.issubset(self.names):
            self.names = tuple(sorted(names.union(self.names)))


@dataclass
class Server:
    """What is known about a server.

    :param checked: it is the product that the Dialect names, and its index can be used.
    :param equal_scores: in a keyword field each term has the score 1, unless the mapping says ``use_similarity``. None
        if the server does not say its version.
    :param warned: what a warning was about, once for all.
    """

    checked: bool = False
    equal_scores: bool | None = False
    warned: set[str] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is read at once.

    :param page: hits of one search. If a search returns a full page, the server counts the fingerprints of its query.
    :param most_hits: largest number of hits of one query that are read, where times or damaged documents make it
        necessary to read all.
    :param kinds: fingerprints in one page, if they are counted. A server allows at most 65,536 buckets in a response,
        some 10,000.
    :param scan_page: documents in a page of a Scan that does not say how many.
    """

    page: int = 1_000
    most_hits: int = 200_000
    kinds: int = 10_000
    scan_page: int = 10_000


@dataclass(frozen=True)
class Index:
    """The index that a store uses.

    :param index: name of the index, or of an alias of it.
    :param name: the store's address without credentials, for messages.
    :param dialect: of the server.
    :param client: an official client.
    :param count: an estimate of the number of documents, for the planner; None if it is not known yet.
    :param crowded: a search has found a whole page of documents near one fingerprint.
    :param crowded_keys: a search by the keys of several texts has found as many documents as it may.
    :param server: what is known about the server.
    :param members: the indices behind the name.
    :param clock: by how many microseconds the clock of the server is ahead of that of this machine.
    :param routing: of all documents that the store reads and writes; None if they have none.
    :param limits: of what is read at once.
    """

    index: str
    name: str
    dialect: Dialect
    client: Any = field(compare=False)
    routing: Routing | None = None
    count: Remembered[int | None] = field(default_factory=lambda: Remembered(None), compare=False)
    crowded: Remembered[bool] = field(default_factory=lambda: Remembered(False), compare=False)
    crowded_keys: Remembered[bool] = field(default_factory=lambda: Remembered(False), compare=False)
    server: Server = field(default_factory=Server, compare=False)
    members: Members = field(default_factory=Members, compare=False)
    clock: Remembered[int] = field(default_factory=lambda: Remembered(0), compare=False)
    limits: Limits = Limits()

    def send(self, method: str, action: str, body: Any = None, /, **parameters: str) -> Any:
        """Send a request, and return the body of the response.

        :param action: the rest of the path after the index, such as ``_search``; empty for the index itself. A path
            that begins with a slash is that of a request to the server.
        :param body: a value for JSON. A list becomes lines of JSON; an entry that is a string is such a line already.
            None for no body.
        :param parameters: of the query string.
        :raises SimhashError: in place of an exception of the client.
        """
        path = action if action.startswith("/") else f"/{quote(self.index, safe='')}/{action}".rstrip("/")
        request = Request(method, path, body, parameters)
        if self.routing is not None:
            request = self.routing.of_request(request, action)
        try:
            check_not_cancelled()
            answer = self.dialect.body(self.dialect.send(self.client, request))
        except self.dialect.failures as error:
            raise self.dialect.translate(error, self.name) from error
        if isinstance(answer, dict) and "error" in answer and is_error(answer):
            raise error_from_body(answer, answer.get("status", 200), self.name)
        return answer

    def search(self, search: Mapping[str, Any], action: str = "_search") -> Any:
        """Return the body of the response to a search. Every shard has answered.

        :param action: the path of the request, as in :meth:`send`.
        """
        body = self.send("POST", action, search, allow_partial_search_results="false")
        check_complete(body, self.name)
        return body

    def number_of(self, query: Mapping[str, Any] | None = None) -> int:
        """Return how many documents match a query; None for all documents. Every shard has answered."""
        body = self.send("POST", "_count", None if query is None else {"query": query})
        check_complete(body, self.name)
        number: int = body["count"]
        return number

    def warn_once(self, about: str, message: str) -> None:
        """Log a warning, unless there was one about the same."""
        if about not in self.server.warned:
            self.server.warned.add(about)
            _log.warning(message)

    def close(self) -> None:
        """Close the client."""
        self.client.close()
