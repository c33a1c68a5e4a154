"""The server: each request is a call of Documents or SeenItems, in a thread. It is an application of FastAPI."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import Future
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import prometheus_client as prometheus
from fastapi import HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.responses import Response

from es_simhash import NotSetUp, SchemeMismatch, SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

MOST_BYTES = 16 << 20
"""Of the body of a request."""


class Stopped(Exception):
    """Nobody waits for this work any more. It is raised in the thread that does it."""


class Work:
    """The work that is done in threads, so much at once. A request that ends early leaves its work behind.

    :param seconds: a request that takes longer is answered with 503.
    :param most: a request that comes while so much work is done is refused.
    """

    def __init__(self, seconds: float, most: int, registry: prometheus.CollectorRegistry) -> None:
        self.count = 0
        self._seconds = seconds
        self._most = most
        gauge = prometheus.Gauge("es_simhash_work", "Work that is done at this moment.", registry=registry)
        gauge.set_function(lambda: self.count)

    async def run(self, request: Request, function: Callable[[Callable[[], None]], T]) -> T:
        """Return what a function returns in a thread of its own.

        The thread does not keep the program from ending. If the client leaves, or the time is over, the work stops at
        its next step.

        :param function: its argument is a function to call before each step. It raises Stopped.
        """
        if self.count >= self._most:
            raise HTTPException(503, f"the server does {self.count} things at once: send the request again later")
        stopped = threading.Event()
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # so that nothing cancels it
        answer = asyncio.wrap_future(future)
        answer.add_done_callback(self._end)
        threading.Thread(target=_do, args=(function, stopped, future), daemon=True).start()
        self.count += 1
        gone = asyncio.ensure_future(_left(request))
        try:
            either: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(either, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise HTTPException(
                503, f"no answer within {self._seconds:g} s: send it again; what was stored is unchanged"
            )
        except asyncio.CancelledError:
            raise HTTPException(503, "the server ends: send it again; what was stored is unchanged then") from None
        finally:
            gone.cancel()
            stopped.set()

    def _end(self, answer: asyncio.Future[Any]) -> None:
        self.count -= 1
        answer.exception()  # else asyncio logs the one that nobody waits for


def _do(function: Callable[[Callable[[], None]], T], stopped: threading.Event, future: Future[T]) -> None:
    """Do some work, and give the result to a Future."""

    def step() -> None:
        if stopped.is_set():
            raise Stopped

    try:
        future.set_result(function(step))
    except BaseException as error:
        future.set_exception(error)


async def _left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Gate:
    """Middleware: it limits bodies, and counts requests."""

    def __init__(self, app: ASGIApp, registry: prometheus.CollectorRegistry) -> None:
        self._app = app
        self._requests = prometheus.Histogram(
            "es_simhash_request_seconds", "Seconds of a request.", ("operation", "status"), registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, size, status = time.perf_counter(), 0, 500

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BYTES:
                raise HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes: send less at once")
            return message

        async def note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self._app(scope, limited, note)
        if scope["type"] == "http":
            operation = getattr(scope.get("route"), "name", "other")
            self._requests.labels(operation, str(status)).observe(time.perf_counter() - began)


def problem(status: int, detail: str) -> Response:
    """Return an answer in the form of RFC 9457."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 413: {"Connection": "close"}, 503: {"Retry-After": "1"}}.get(status)
    # ASCII, so that an error can quote a lone surrogate.
    return Response(json.dumps(body), status, headers, "application/problem+json")


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, SimhashError)
    if error.retryable or isinstance(error, NotSetUp | SchemeMismatch):
        return problem(503, str(error))
    return problem(422 if isinstance(error, ValueError) else 502, str(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(400, f"the body is no JSON ({first['ctx']['error']}): correct it")
    if first["loc"] == ("body",) and not isinstance(error.body, dict):
        return problem(422, "the body is no JSON object: send one, with the header Content-Type: application/json")
    place = ".".join(str(each) for each in first["loc"] if each != "body") or "the body"
    return problem(422, f"{place}: {first['msg'].removeprefix('Value error, ')}: see /openapi.json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    how = {404: f"there is no {request.url.path}: see /openapi.json", 405: "use POST"}
    return problem(error.status_code, how.get(error.status_code, error.detail))


async def _unexpected(request: Request, error: Exception) -> Response:  # which uvicorn logs
    return problem(500, "an error of the server, which its log describes")


HANDLERS: Any = {
    SimhashError: _failed,
    RequestValidationError: _invalid,
    AnyHTTPException: _refused,
    Exception: _unexpected,
}
"""What answers for each kind of error."""
