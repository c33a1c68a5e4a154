"""The server: limits, token, checks and metrics around the operations. It is an ASGI application of Starlette."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from es_simhash import AsyncDocuments, AsyncSeenItems, InputError, SimhashError, fingerprint
from es_simhash.tools.serve.fields import check_fields
from es_simhash.tools.serve.metrics import Metrics
from es_simhash.tools.serve.openapi import openapi
from es_simhash.tools.serve.operations import OPERATIONS, Stores
from es_simhash.tools.serve.problems import Problem, busy, problem_json, problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.exceptions import HTTPException
    from starlette.requests import Request

    from es_simhash.tools.serve.operations import Answer, Operation

SETTINGS = "ES_SIMHASH_SERVE"
"""The variable that holds the Settings as JSON: each worker is a process of its own."""
BODY_SECONDS = 10
"""The longest time in which the body of a request arrives."""
_DISCARDED = 4
"""Up to so many times its largest size, a body that is too large is read to its end."""
_log = logging.getLogger("es_simhash.serve")


@dataclass(frozen=True)
class Settings:
    """What the workers are told.

    :param options: of the client of the server.
    :param token: that each request must bear; None for none.
    :param max_body: bytes of a request.
    :param seconds: within which a request is answered.
    :param at_once: requests that a worker answers at the same time.
    :param folder: of the metrics of several workers.
    """

    store: str | None
    seen_store: str | None
    options: dict[str, Any]
    token: str | None
    max_body: int
    seconds: float
    at_once: int
    folder: str | None


def from_environment() -> Starlette:
    """Return the application of this worker."""
    return Service(Settings(**json.loads(os.environ[SETTINGS]))).application()


class Service:
    """Answers requests."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._metrics = Metrics(settings.folder)
        self._in_progress = 0
        self._stores: Stores

    def application(self) -> Starlette:
        """Return the application."""
        routes = [
            *(Route(each.path, self._operation(each), methods=["POST"]) for each in OPERATIONS),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._show_metrics),
            Route("/openapi.json", self._openapi),
        ]
        handlers: Any = {404: _http_problem, 405: _http_problem, 500: _unexpected}
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        settings = self._settings
        async with AsyncExitStack() as stack:
            documents = await stack.enter_async_context(AsyncDocuments(settings.store, **settings.options))
            await asyncio.to_thread(
                fingerprint, "市气象台发布暴雨预警"
            )  # loads the dictionary before the first request
            seen = None
            if settings.seen_store is not None:
                seen = await stack.enter_async_context(AsyncSeenItems(settings.seen_store, **settings.options))
            self._stores = Stores(documents, seen)
            writing = asyncio.create_task(self._metrics.write_for_ever())
            try:
                yield
            finally:
                writing.cancel()
                self._metrics.write()

    def _operation(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            self._metrics.begin()
            status = 500
            try:
                response = await self._answer(operation, request)
                status = response.status_code
            except Problem as problem:
                status = problem.status
                response = _problem_response(problem)
            finally:
                self._metrics.end(operation.name, status, time.perf_counter() - began)
            return response

        return answer

    async def _answer(self, operation: Operation, request: Request) -> Response:
        self._check_token(request)
        if self._in_progress >= self._settings.at_once:
            raise busy(f"{self._in_progress} requests are being answered, and no more are taken: send it again later")
        self._in_progress += 1
        try:
            body = await self._body(request)
            check_fields(body, operation.fields, operation.one_of)
            answer = await asyncio.wait_for(operation.call(self._stores, body), self._settings.seconds)
        except asyncio.TimeoutError:
            raise busy(
                f"no answer within {self._settings.seconds:g} s: send it again; a document that was stored meanwhile "
                "is 'unchanged' then"
            ) from None
        except SimhashError as error:
            raise problem_of(error) from error
        finally:
            self._in_progress -= 1
        for outcome in answer.outcomes:
            self._metrics.outcome(outcome.outcome)
        return _response(answer)

    def _check_token(self, request: Request) -> None:
        token = self._settings.token
        if token is None:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise Problem(
                401, "the token is missing or wrong: send the header Authorization: Bearer …", WWW_Authenticate="Bearer"
            )

    async def _body(self, request: Request) -> Any:
        data = await self._read(request)
        try:
            return json.loads(data.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Problem(400, f"the body is not JSON in UTF-8 ({error}): correct it") from error

    async def _read(self, request: Request) -> bytes:
        """Return the body. One that is too large is read on for a while: clients look at the answer only then."""
        most = self._settings.max_body
        data = bytearray()

        async def read() -> None:
            size = 0
            async for part in request.stream():
                size += len(part)
                if len(data) <= most:
                    data.extend(part)
                if size > _DISCARDED * most:
                    break

        slow = False
        try:
            await asyncio.wait_for(read(), min(BODY_SECONDS, self._settings.seconds))
        except asyncio.TimeoutError:
            slow = True
        except ClientDisconnect:
            raise Problem(400, "the client left before the end of the body") from None
        if len(data) > most:
            raise Problem(413, f"the body has more than {most:,} bytes: send less at once", Connection="close")
        if slow:
            raise Problem(408, "the body did not arrive in time: send it faster", Connection="close")
        return bytes(data)

    async def _health(self, request: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        """Say whether the store can be searched."""
        try:
            await asyncio.wait_for(self._stores.documents.keys(), self._settings.seconds)
        except (SimhashError, asyncio.TimeoutError) as error:
            return _problem_response(busy(str(error) or "the store does not answer in time"))
        return _json({"status": "ready"})

    async def _show_metrics(self, request: Request) -> Response:
        try:
            self._check_token(request)
        except Problem as problem:
            return _problem_response(problem)
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _openapi(self, request: Request) -> Response:
        return _json(openapi(self._settings.token is not None))


def _response(answer: Answer) -> Response:
    if answer.status >= 400:
        detail = answer.body.get("reason", "")
        return _json({**problem_json(answer.status, detail), **answer.body}, answer.status, problem=True)
    return _json(answer.body, answer.status)


def _problem_response(problem: Problem) -> Response:
    response = _json(problem_json(problem.status, str(problem)), problem.status, problem=True)
    response.headers.update(problem.headers)
    return response


def _json(body: Any, status: int = 200, *, problem: bool = False) -> Response:
    # ASCII, so that an error can quote a lone surrogate.
    return Response(json.dumps(body), status, media_type=f"application/{'problem+' * problem}json")


async def _http_problem(request: Request, error: HTTPException) -> Response:
    paths = ", ".join(each.path for each in OPERATIONS)
    how = "use POST" if error.status_code == 405 else f"use {paths}"
    return _problem_response(Problem(error.status_code, f"{request.method} {request.url.path}: {how}"))


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _problem_response(Problem(500, "an error of the server, which its log describes"))


def _refuse_constant(constant: str) -> NoReturn:
    raise InputError(f"{constant} is not a JSON number: use null")
