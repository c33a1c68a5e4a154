"""The gate of the server: who may ask, how much at once, and for how long.

Whoever may not ask is refused before a byte of the body is read.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import prometheus_client as prometheus
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from es_simhash.tools.serve.problems import problem

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

_log = logging.getLogger("es_simhash")

MOST_BYTES = 4 << 20
"""Of the body of a request."""
MOST_DROPPED = 64 << 20
"""Bytes of a larger body that are read and dropped, so that its sender reads the answer."""
MOST_HELD = 32 << 20
"""Bytes of the bodies of all requests that are in work."""
_SMALLER = "send fewer documents or texts at once; a longer text goes through es-simhash ingest"
_LATE = (
    "there is no answer: send fewer documents or texts at once; or, if the store was busy, send it again later: "
    "documents that were stored have the outcome unchanged then"
)
STATE = frozenset({"/healthz", "/readyz", "/openapi.json"})
"""Requests that anybody may send."""
FREE = STATE | {"/metrics"}
"""Requests without a body, and without work that could take long."""

GONE = 499
"""The status in the metrics of a request whose client left."""


@dataclass(frozen=True)
class Limits:
    """Who may ask, how much at once, and for how long.

    :param token: that each request must bear; None: only programs of this machine may ask.
    :param seconds: in which a request is answered.
    :param at_once: requests that are in work at the same time.
    """

    token: str | None = None
    seconds: float = 30.0
    at_once: int = 64


class Gate:
    """An application around another one: it lets requests through, ends them in time, and counts them.

    :param count: requests that are in work.
    :param base_path: that may stand before the path of a request.
    """

    def __init__(self, app: ASGIApp, limits: Limits, registry: prometheus.CollectorRegistry, base_path: str) -> None:
        self.count = 0
        self._app, self._limits, self._base_path = app, limits, base_path
        self._held = 0  # bytes
        self._requests = prometheus.Histogram(
            "es_simhash_request_seconds", "Seconds of a request.", ("operation", "status"), registry=registry
        )
        gauge = prometheus.Gauge("es_simhash_work", "Requests that are in work at this moment.", registry=registry)
        gauge.set_function(lambda: self.count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        if scope["path"].startswith(f"{self._base_path}/"):  # a proxy may have taken it off
            scope = {**scope, "path": scope["path"].removeprefix(self._base_path)}

        async def note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            self._check(scope)
            if scope["path"] in FREE:
                await self._app(scope, receive, note)
            else:
                await self._work(scope, receive, note)
        except HTTPException as error:
            if not status:
                await problem(error.status_code, error.detail)(scope, receive, note)
        finally:
            operation, seconds = getattr(scope.get("route"), "name", "other"), time.perf_counter() - began
            self._requests.labels(operation, str(status or GONE)).observe(seconds)
            _log.info("%s %s %d, %.3f s", scope["method"], scope["path"], status or GONE, seconds)

    def _check(self, scope: Scope) -> None:
        """Check who asks.

        :raises HTTPException: if it may not.
        """
        headers = Headers(scope=scope)
        if self._limits.token is None:
            # A page of the web in a browser of this machine gives its own name, also if that leads to this machine.
            for name in ("host", "origin"):
                value = headers.get(name, "localhost")
                if not is_local(_host_of(value)):
                    raise HTTPException(
                        403,
                        f"the header {name.title()} is {value}: without a token the server answers only localhost; "
                        "start it with a token, or ask localhost",
                    )
        elif scope["path"] not in STATE:
            sent = headers.get("authorization", "")
            if not hmac.compare_digest(sent.encode(), f"Bearer {self._limits.token}".encode()):
                raise HTTPException(401, "the token is missing or wrong: send the header Authorization: Bearer …")

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read a request and do it, if there is room for it."""
        if self.count >= self._limits.at_once:
            raise HTTPException(503, f"the server does {self.count} things at once: send the request again later")
        body = bytearray()
        self.count += 1
        try:
            if await self._in_time(self._read(scope, receive, body), 408, "the body did not come: send it faster"):
                await self._in_time(self._do(scope, receive, send, body), 503, _LATE)
        except asyncio.CancelledError:
            raise HTTPException(
                503, "the server ends: send it again; documents that were stored have the outcome unchanged then"
            ) from None
        finally:
            self.count -= 1
            self._held -= len(body)

    async def _in_time(self, work: Coroutine[Any, Any, T], status: int, detail: str) -> T:
        try:
            return await asyncio.wait_for(work, self._limits.seconds)
        except asyncio.TimeoutError:
            raise HTTPException(status, f"{self._limits.seconds:g} s are over, and {detail}") from None

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> bool:
        """Read the body to its end; return False if the client leaves before.

        :param body: gets the bytes.
        """
        headers = Headers(scope=scope)
        size, more = int(headers.get("content-length", 0)), True
        while True:
            if max(size, len(body)) > MOST_BYTES:
                if "expect" not in headers:  # curl asks before it sends a large body
                    await _drop(receive, more=more)
                raise HTTPException(413, f"the body has more than {MOST_BYTES:,} bytes: {_SMALLER}")
            if self._held > MOST_HELD:
                raise HTTPException(
                    503, "the requests in work have too many bytes together: send the request again later"
                )
            if not more:
                return True
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            body += message.get("body", b"")
            self._held += len(message.get("body", b""))
            more = message.get("more_body", False)

    async def _do(self, scope: Scope, receive: Receive, send: Send, body: bytearray) -> None:
        """Let the application answer, unless the client leaves before."""
        messages: Iterator[Message] = iter([{"type": "http.request", "body": bytes(body)}])

        async def read() -> Message:
            return next(messages, {"type": "http.disconnect"})

        tasks = asyncio.ensure_future(self._app(scope, read, send)), asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not tasks[0].cancelled():
            tasks[0].result()


async def _drop(receive: Receive, *, more: bool) -> None:
    """Read the rest of a body: a client does not read an answer while it sends."""
    dropped = 0
    while more and dropped < MOST_DROPPED:
        message = await receive()
        dropped += len(message.get("body", b""))
        more = message.get("more_body", False)


async def _left(receive: Receive) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


def is_local(host: str) -> bool:
    """Return whether a name or an address is that of this machine, on every machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(value: str) -> str:
    """Return the host of a header Host or Origin; empty if it has none."""
    try:
        return urlsplit(value if "//" in value else f"//{value}").hostname or ""
    except ValueError:
        return ""
