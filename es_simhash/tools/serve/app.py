"""The server: each request is a call of Documents or SeenItems, in a thread. It is an application of FastAPI."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import threading
import time
from concurrent.futures import Future
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import prometheus_client as prometheus
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.responses import Response

from es_simhash import AccessDenied, NotSetUp, SchemeMismatch, SimhashError, __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

SECONDS = 30.0
"""A request that takes longer is answered with 503."""
BODY_SECONDS = 10.0
"""The longest time in which the body of a request arrives."""
MOST_BYTES = 16 << 20
"""Of the body of a request."""
_DISCARDED = 4
"""Up to so many times MOST_BYTES, a body that is too large is read to its end: clients look at the answer only then."""
_log = logging.getLogger("es_simhash.serve")


class Stopped(Exception):
    """Nobody waits for this work any more. It is raised in the thread that does it."""


class Work:
    """The work that is done for requests, at most so much at once. A request that ends early leaves its work behind.

    :param most: requests that are read or answered, and work that was left behind, together.
    """

    def __init__(self, most: int, registry: prometheus.CollectorRegistry) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._count = 0
        self._gauge = prometheus.Gauge("es_simhash_work", "Work that is done at this moment.", registry=registry)

    @property
    def idle(self) -> bool:
        """No work is done."""
        return self._count == 0

    def begin(self) -> None:
        """Take a place.

        :raises HTTPException: if there is none.
        """
        with self._lock:
            if self._count >= self._most:
                raise HTTPException(503, f"the server does {self._count} things at once: send the request again later")
            self._count += 1
            self._gauge.set(self._count)

    def end(self) -> None:
        """Give a place back."""
        with self._lock:
            self._count -= 1
            self._gauge.set(self._count)

    async def run(self, request: Request, function: Callable[[Callable[[], None]], T]) -> T:
        """Return what a function returns in a thread of its own.

        The thread does not keep the program from ending. If the client leaves, or the time is over, the work stops at
        its next step.

        :param function: its argument is a function to call before each step. It raises Stopped.
        """
        stopped = threading.Event()
        future: Future[T] = Future()

        def step() -> None:
            if stopped.is_set():
                raise Stopped

        def work() -> None:
            try:
                future.set_result(function(step))
            except BaseException as error:
                future.set_exception(error)

        future.set_running_or_notify_cancel()  # so that nothing cancels it
        threading.Thread(target=work, daemon=True).start()
        answer = asyncio.wrap_future(future)
        gone = asyncio.ensure_future(_left(request))
        try:
            either: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(either, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise HTTPException(
                503, f"no answer within {SECONDS:g} s: send it again; what was stored is unchanged then"
            )
        except asyncio.CancelledError:
            raise HTTPException(503, "the server ends: send it again; what was stored is unchanged then") from None
        finally:
            gone.cancel()
            if not answer.done():
                stopped.set()
                with self._lock:
                    self._count += 1  # the request gives its own place back
                future.add_done_callback(lambda _: self.end())
                answer.cancel()


async def _left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Gate:
    """Middleware: the token, the limits of work and of bodies, and the metrics of each request.

    :param token: that each request must bear, but for those about the server itself; None for none.
    """

    def __init__(self, app: ASGIApp, work: Work, token: str | None, registry: prometheus.CollectorRegistry) -> None:
        self._app = app
        self._work = work
        self._token = token
        self._requests = prometheus.Counter(
            "es_simhash_requests", "Requests by operation and status.", ("operation", "status"), registry=registry
        )
        self._seconds = prometheus.Histogram(
            "es_simhash_request_seconds", "Seconds of a request.", ("operation",), registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            if scope["type"] == "http" and scope["path"] == "/metrics" and not self._has_token(scope):
                await problem(401, _NO_TOKEN)(scope, receive, send)
            else:
                await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._admit(scope, receive, note)
        finally:
            operation = getattr(scope.get("route"), "name", "other")
            self._requests.labels(operation, str(status)).inc()
            self._seconds.labels(operation).observe(time.perf_counter() - began)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._has_token(scope):
            await problem(401, _NO_TOKEN)(scope, receive, send)
            return
        try:
            self._work.begin()
        except HTTPException as error:
            await problem(error.status_code, error.detail)(scope, receive, send)
            return
        try:
            await self._app(scope, _limited(receive), send)
        finally:
            self._work.end()

    def _has_token(self, scope: Scope) -> bool:
        given = dict(scope["headers"]).get(b"authorization", b"")
        return self._token is None or hmac.compare_digest(given, f"Bearer {self._token}".encode())


_NO_TOKEN = "the token is missing or wrong: send the header Authorization: Bearer …"


def _limited(receive: Receive) -> Receive:
    """Return a function that receives a body, and no longer or larger one than is allowed."""
    size, more, end = 0, True, time.monotonic() + BODY_SECONDS

    async def limited() -> Message:
        nonlocal size, more
        while more:
            try:
                message = await asyncio.wait_for(receive(), end - time.monotonic())
            except asyncio.TimeoutError:
                raise HTTPException(408, "the body did not arrive in time: send it faster") from None
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
            if size > MOST_BYTES and (not more or size > _DISCARDED * MOST_BYTES):
                raise HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes: send less at once")
            if size <= MOST_BYTES:
                return message
        return await receive()

    return limited


def problem(status: int, detail: str) -> Response:
    """Return an answer in the form of RFC 9457."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}.get(status, {})
    if status in (408, 413):
        headers = {"Connection": "close"}
    # ASCII, so that an error can quote a lone surrogate.
    return Response(json.dumps(body), status, headers, "application/problem+json")


def _status_of(error: SimhashError) -> int:
    if error.retryable or isinstance(error, NotSetUp | SchemeMismatch):
        return 503
    return 502 if isinstance(error, AccessDenied) else 422 if isinstance(error, ValueError) else 502


def _of_validation(error: RequestValidationError) -> Response:
    first = error.errors()[0]
    place = ".".join(str(each) for each in first["loc"] if each != "body")
    is_json = first["type"] != "json_invalid"
    what = first["msg"].removeprefix("Value error, ")
    detail = f"{place or 'the body'}: {what}" if is_json else f"the body is no JSON: {first['ctx']['error']}"
    return problem(422 if is_json else 400, f"{detail}: correct it, /openapi.json describes each request")


def new_application() -> FastAPI:
    """Return an application without operations, whose errors are problems."""
    app = FastAPI(title="es_simhash", version=__version__, docs_url=None, redoc_url=None)

    @app.exception_handler(SimhashError)
    async def failed(request: Request, error: SimhashError) -> Response:
        return problem(_status_of(error), str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _of_validation(error)

    @app.exception_handler(AnyHTTPException)
    async def refused(request: Request, error: AnyHTTPException) -> Response:
        how = {404: f"there is no {request.url.path}: see /openapi.json", 405: "use POST"}
        return problem(error.status_code, how.get(error.status_code, error.detail))

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "an error of the server, which its log describes")

    return app
