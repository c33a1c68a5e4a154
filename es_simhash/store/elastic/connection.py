"""One request to a server: it is sent, repeated while the server is busy or away, and its errors are translated."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from functools import lru_cache, partial
from math import floor
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import quote

from es_simhash.errors import AccessDenied, SimhashError, StoreChanged, StoreError, StoreUnreachable, one_line
from es_simhash.retries import Waits, end_after
from es_simhash.store.elastic.answers import unread
from es_simhash.store.elastic.errors import PointLost, check_answer, check_indices
from es_simhash.store.elastic.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from urllib3 import Timeout

    from es_simhash.rows import Row

_log = logging.getLogger("es_simhash")

T = TypeVar("T")

REQUEST_SECONDS = 10.0
"""Seconds for one answer, if the deadline leaves so much, and the caller gives no ``request_timeout``."""
_CONNECTING = 0.2
"""The share of ``request_timeout`` in which a connection must be made. A server without TLS may never answer a client
that asks for TLS, so nobody should wait long for it."""


class PointInTime(NamedTuple):
    """How a product keeps one state of an index for several searches.

    :param path: of the request that opens it.
    :param parameters: of this request.
    :param key: name of its id in the response.
    :param tie_breaker: the field by which its hits are sorted.
    :param first: sorts before all values of this field; None if a document has the same value in another point in time.
    """

    path: str
    parameters: Mapping[str, str]
    key: str
    tie_breaker: str
    first: int | None


class Index(NamedTuple):
    """An index as the server keeps it.

    :param uuid: which the server gives to each index that is made.
    :param settings: all of them, by their whole names, with their defaults.
    :param is_write_index: it takes the new documents of an alias, which names it for that.
    """

    uuid: str
    mapping: dict[str, Any]
    settings: Mapping[str, str]
    is_write_index: bool = False


class Connection(ABC):
    """The index of a store, and the official client that reaches it. Each product has a subclass.

    :param client: an Elasticsearch or an OpenSearch client.
    :param index: name of the index, or of an alias.
    :param name: the store's address without credentials.
    :param owned: the store closes the client.
    :param deadline: seconds after which a request is not repeated any more; 0 to raise at once.
    :param request_seconds: seconds for one answer, if the deadline leaves so much.
    :param hosts: of the client, which takes another one for each request.
    :param answered: the store has answered, if not this process.
    """

    point_in_time: ClassVar[PointInTime]
    untrusted: ClassVar[type[Exception]]
    """The client's exception for a TLS connection that failed."""
    late: ClassVar[type[Exception]]
    """For a response that did not come in time."""
    unreachable: ClassVar[type[Exception]]
    """For a connection that failed."""

    def __init__(
        self,
        client: Any,
        index: str,
        name: str,
        *,
        owned: bool,
        deadline: float,
        request_seconds: float | None = None,
        hosts: int = 1,
        answered: bool = False,
    ) -> None:
        self.client, self.index, self.name, self.deadline = client, index, name, deadline
        self.indices: Mapping[str, Index] = {}
        """The indices that the name stands for, by their own names, the newest first, as the store was described; empty
        before that."""
        self._blocked: frozenset[str] = frozenset()
        self.describe_again: Callable[[], object] = lambda: None
        """Called if an answer comes from an index that an alias with a write index did not have before."""
        self.closed = False
        self._root = f"/{quote(index, safe='')}"
        self._owned, self._hosts = owned, hosts
        self._request_seconds = REQUEST_SECONDS if request_seconds is None else request_seconds
        self._answered = answered
        self.warn_once = lru_cache(10_000)(partial(_log.warning, "%s: %s", name))

    @staticmethod
    @abstractmethod
    def new_client(hosts: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Return a client that repeats nothing itself.

        :raises InputError: for an option that cannot be used.
        """

    @staticmethod
    @abstractmethod
    def host_of(client: Any) -> str:
        """Return the address of the first host of a client, without credentials."""

    @abstractmethod
    def _perform(self, method: str, path: str, parameters: Mapping[str, str], body: Any, timeout: Timeout) -> Any:
        """Send a request by the client, and return the body of the response.

        :raises SimhashError: for each exception of the client.
        """

    def has_equal_scores(self) -> bool:
        """Return whether the server gives each term of a keyword field the score 1, without ``use_similarity``.

        Source: OpenSearch, issue 17823.
        """
        return False

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        parameters: Mapping[str, str] | None = None,
        *,
        index: bool = True,
        read: Callable[[Any], T] = lambda answer: answer,
    ) -> T:
        """Send a request, and return what is read of the body of the response.

        The client takes another host for each attempt. Until the store has answered once, it is an error if none does:
        the address may be mistyped.

        :param path: behind the name of the index; else from the root of the server. A point in time is read from there:
            if it is lost, the request is not repeated.
        :param body: a JSON object; or a list of JSON objects or texts, one for each line.
        :param read: reads the body of the response; by default the whole. It may raise what a body of another form
            makes Python raise, such as a KeyError.
        """
        from urllib3 import Timeout  # imported late: who needs no server starts faster

        whole = f"{self._root}/{path}".rstrip("/") if index else f"/{path}"
        end = end_after(self.deadline)
        waits, failures = Waits(end), 0
        while True:
            seconds = min(self._request_seconds, end - time.monotonic()) if self.deadline else self._request_seconds
            seconds = max(0.1, floor(10 * seconds) / 10)  # few values: for each one a client is kept (elasticsearch.py)
            connecting = min(seconds, _CONNECTING * self._request_seconds)
            timeout = Timeout(total=seconds, connect=connecting, read=seconds)
            _log.debug("%s %s", method, whole)
            try:
                answer = self._perform(method, whole, parameters or {}, body, timeout)
                check_answer(answer, self.name)
                if body is not None:  # what asks for documents has one
                    self._check_indices(answer)
                result = read(answer)
            except SimhashError as error:
                failures += 1
                self._answered |= not isinstance(error, StoreUnreachable)
                is_lost = isinstance(error, PointLost) and not index
                may_pass = error.retryable and (self._answered or failures < self._hosts)
                if is_lost or not may_pass or (left := end - time.monotonic()) <= 0:
                    raise
                if failures == 1:
                    _log.warning("%s; retrying for up to %.3g s", error, left)
                if not waits.wait():
                    raise
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise StoreError(
                    f"{self.name} sent a response that cannot be read ({one_line(error)[:100]}): check the address, "
                    "and the proxies between this program and the server"
                ) from error
            else:
                self._answered = True
                if failures:
                    _log.warning("the store answers again")
                return result

    def know(self, indices: Mapping[str, Index]) -> None:
        """Keep the indices that the name stands for, and which of them take no writes beside the write index."""
        self.indices = indices
        blocks = ("index.blocks.write", "index.blocks.read_only")
        self._blocked = frozenset(
            name
            for name, index in indices.items()
            if self.write_index not in (None, name) and any(index.settings.get(block) == "true" for block in blocks)
        )

    def row_of(self, hit: Mapping[str, Any]) -> Row:
        """Return the Row of a hit of a search, or of a document that was read by its id."""
        return row_of(hit, self.warn_once, self._blocked)

    @property
    def write_index(self) -> str | None:
        """The index that takes new documents, if the name is an alias that names one for that."""
        return next((name for name, index in self.indices.items() if index.is_write_index), None)

    def _check_indices(self, answer: Any) -> None:
        """Check that what an answer holds comes from the store's indices. An alias with a write index may get more."""
        try:
            check_indices(answer, {name: index.uuid for name, index in self.indices.items()}, self.name)
        except StoreChanged:
            if self.write_index is None:
                raise
            self.describe_again()
            check_indices(answer, {name: index.uuid for name, index in self.indices.items()}, self.name)

    def _error(self, error: Exception, why: str) -> SimhashError:
        """Return the error for an exception of the client.

        :param why: what the client says, in one line.
        """
        if (fault := unread(error)) is not None:
            return StoreError(
                f"{self.name} {fault}: check the address, and the proxies between this program and the server"
            )
        if isinstance(error, self.untrusted):
            return AccessDenied(
                f"{self.name}: the TLS connection failed ({why}): use http:// if the server has no TLS, or name the "
                "file of the authority's certificate (ca_certs)"
            )
        if isinstance(error, self.late):
            plain = "use http:// if the server has no TLS; else " if "https://" in self.name else ""
            return StoreUnreachable(
                f"{self.name} did not answer in time: {plain}try again, or wait longer (deadline; in Python also "
                "request_timeout)"
            )
        if isinstance(error, self.unreachable):
            reason = why.partition("): ")[2] or why  # urllib3 begins with its connection as Python shows it
            return StoreUnreachable(
                f"{self.name} can't be reached ({reason}): check that it is running, and check the address "
                "(https:// if the server has TLS)"
            )
        return self._refusal(error) or StoreError(f"{self.name}: {why}")

    @abstractmethod
    def _refusal(self, error: Any) -> SimhashError | None:
        """Return the error for an answer of the server, which says what is wrong; None for another exception."""

    def close(self) -> None:
        """Close the client, if it is the store's own."""
        self.closed = True
        if self._owned:
            self.client.close()
