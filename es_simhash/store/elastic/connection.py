"""One request to a server: it is sent, repeated while the server is busy or away, and its errors are translated."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from urllib3 import Timeout

from es_simhash.errors import SimhashError, StoreError, StoreUnavailable, StoreUnreachable, one_line
from es_simhash.retries import Waits, check_not_cancelled, end_after
from es_simhash.store.elastic.errors import check_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_log = logging.getLogger("es_simhash")

REQUEST_SECONDS = 10.0
"""Seconds for one answer, if the deadline leaves so much, and the caller gives no ``request_timeout``."""
_CONNECT_SECONDS = 2.0
"""Seconds of them in which a connection is made. A server that speaks plain http may never answer the TLS hello."""


@dataclass(frozen=True)
class Product:
    """What differs between Elasticsearch and OpenSearch, and between their clients.

    :param point_in_time: path of the request that opens a point in time.
    :param point_parameters: its parameters.
    :param point_key: name of the id of a point in time in its response.
    :param tie_breaker: the field by which the hits of a point in time are sorted.
    :param perform: sends a request: client, method, path, parameters, body, timeout. It returns the body.
    :param translate: returns the error for an exception of the client; the second argument is the store's name.
    :param failures: the exceptions that the client raises.
    :param has_equal_scores: whether the server gives each term of a keyword field the score 1, unless the mapping says
        ``use_similarity``. Source: OpenSearch, issue 17823.
    """

    point_in_time: str
    point_parameters: Mapping[str, str]
    point_key: str
    tie_breaker: str
    perform: Callable[[Any, str, str, Mapping[str, str], Any, Timeout], Any]
    translate: Callable[[Exception, str], SimhashError]
    failures: tuple[type[Exception], ...]
    has_equal_scores: Callable[[Connection], bool]


class Connection:
    """The index of a store, and the official client that reaches it.

    :param client: an Elasticsearch or an OpenSearch client.
    :param index: name of the index, or of an alias.
    :param name: the store's address without credentials.
    :param owned: the store closes the client.
    :param deadline: seconds after which a request is not repeated any more; 0 to raise at once.
    :param hosts: of the client, which takes another one for each request.
    """

    def __init__(
        self, client: Any, index: str, name: str, product: Product, *, owned: bool, deadline: float, hosts: int = 1
    ) -> None:
        self.client, self.index, self.name, self.product = client, index, name, product
        self.deadline = deadline
        self.request_seconds = REQUEST_SECONDS
        self.is_several = False
        """The name is that of an alias of several indices. It is known when the store was described."""
        self._root = f"/{quote(index, safe='')}"
        self._owned, self._hosts = owned, hosts
        self._answered = False
        self._warned: set[str] = set()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        parameters: Mapping[str, str] | None = None,
        *,
        index: bool = True,
        check: Callable[[Any], None] | None = None,
        repeats: list[SimhashError] | None = None,
    ) -> Any:
        """Send a request, and return the body of the response.

        A host that does not answer is replaced by another one at once. Until the store has answered once, it is an
        error if none does: the address may be mistyped.

        :param path: behind the name of the index; else from the root of the server.
        :param body: a JSON object; or a list of JSON objects or texts, one for each line.
        :param check: raises for a response that is not complete. The request is repeated if the error says so.
        :param repeats: gets each error after which the request was sent again. The server may have done it before.
        """
        whole = f"{self._root}/{path}".rstrip("/") if index else f"/{path}"
        end = end_after(self.deadline)
        other_hosts = self._hosts - 1
        waits: Waits | None = None
        while True:
            check_not_cancelled()
            seconds = min(self.request_seconds, end - time.monotonic()) if self.deadline else self.request_seconds
            if seconds <= 0:
                raise StoreUnavailable(
                    f"{self.name} did not answer in time (deadline {self.deadline:g} s): try again, or wait longer "
                    "(deadline)"
                )
            try:
                answer = self._attempt(method, whole, parameters or {}, body, seconds, check)
            except SimhashError as error:
                self._answered |= not isinstance(error, StoreUnreachable)
                if isinstance(error, StoreUnreachable) and other_hosts:
                    other_hosts -= 1
                elif not (error.retryable and self._answered and self.deadline):
                    raise
                else:
                    if waits is None:
                        waits = Waits(end - time.monotonic())
                        _log.warning("%s; retrying for up to %.0f s", error, max(0.0, end - time.monotonic()))
                    if not waits.wait():
                        raise
                if repeats is not None:
                    repeats.append(error)
            else:
                self._answered = True
                if waits is not None:
                    _log.warning("the store answers again")
                return answer

    def _attempt(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        body: Any,
        seconds: float,
        check: Callable[[Any], None] | None,
    ) -> Any:
        """Send a request once. Errors of the client, and those about the form of the response, become our own."""
        _log.debug("%s %s", method, path)
        try:
            timeout = Timeout(connect=min(seconds, _CONNECT_SECONDS), read=seconds)
            answer = self.product.perform(self.client, method, path, parameters, body, timeout)
            if check is not None:
                check(answer)
        except self.product.failures as error:
            raise self.product.translate(error, self.name) from error
        except SimhashError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self.wrong(error) from error
        return answer

    def search(self, body: Mapping[str, Any], path: str = "_search", *, index: bool = True) -> Any:
        """Search, and return the body of the response, in which every shard has answered."""
        return self.send("POST", path, body, index=index, check=self._check_hits)

    def search_many(self, bodies: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Search several times in one request, and return the hits of each."""

        def check(answer: Any) -> None:
            if len(answer["responses"]) != len(bodies):
                raise self.wrong(f"{len(answer['responses'])} answers to {len(bodies)} searches")
            for response in answer["responses"]:
                self._check_hits(response)

        lines = [line for body in bodies for line in ({}, body)]
        answer = self.send("POST", "_msearch", lines, {"max_concurrent_searches": "8"}, check=check)
        return [response["hits"]["hits"] for response in answer["responses"]]

    def _check_hits(self, answer: Any) -> None:
        """Check the response to one search: every shard has answered."""
        check_answer(answer, self.name)
        answer["hits"]["hits"]

    def check(self, answer: Any) -> None:
        """Check a response: it is no error, and it is complete."""
        check_answer(answer, self.name)

    def wrong(self, what: object) -> StoreError:
        """Return the error for a response that has another form than the server promises."""
        text = one_line(what)[:100] if isinstance(what, Exception) else str(what)
        return StoreError(
            f"{self.name} sent a response that cannot be read ({text}): check the address, and the proxies between "
            "this program and the server"
        )

    def warn_once(self, about: str, message: str) -> None:
        """Log a warning, unless there was one about the same."""
        if about not in self._warned:
            self._warned.add(about)
            _log.warning("%s: %s", self.name, message)

    def close(self) -> None:
        """Close the client, if it is the store's own."""
        if self._owned:
            self.client.close()
