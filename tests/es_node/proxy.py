"""Faults between a client and a real node: a proxy that applies a rule of the test to each request.

    with Proxy(node.url) as proxy:
        proxy.rule = times(3, Answer(429), "_bulk")

A rule gets each Request and returns the fault for it. None passes the request on to the node.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import TypeAlias

    from typing_extensions import Self

    Fault: TypeAlias = "Answer | Drop | Delay | BusyItems"
    Rule: TypeAlias = Callable[["Request"], Fault | None]

HEADERS = {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"}
NOT_PASSED_ON = {"host", "connection", "content-length"}
REASONS = {403: "security_exception", 429: "es_rejected_execution_exception", 503: "unavailable_shards_exception"}


@dataclass(frozen=True)
class Request:
    """A request of a client.

    :param path: path and query of the URL.
    """

    method: str
    path: str
    body: bytes
    headers: Message = field(default_factory=Message)

    @property
    def verb(self) -> str:
        """The last part of the path: ``_bulk``, ``_msearch``, ``_mget``, ``_refresh``, …; ``_doc`` of one document."""
        *_, before, last = urlsplit(self.path).path.split("/")
        return before if before == "_doc" else last


@dataclass(frozen=True)
class Answer:
    """The proxy answers with this status and body, by default an error. The node does not get the request.

    :param body: of JSON; bytes are sent as they are.
    """

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=lambda: HEADERS)


@dataclass(frozen=True)
class Drop:
    """The proxy closes the connection without an answer.

    :param done: True if the node has performed the request; False if it does not get it.
    """

    done: bool


@dataclass(frozen=True)
class Delay:
    """The proxy passes the request on after some seconds."""

    seconds: float


@dataclass(frozen=True)
class BusyItems:
    """In a bulk request, the proxy answers the operations on these ids with 429. It passes the others on."""

    ids: Collection[str]


def times(count: int, fault: Fault, *verbs: str) -> Rule:
    """Return a rule: the first ``count`` requests of these kinds get the fault."""
    left = iter(range(count))
    return lambda request: fault if request.verb in verbs and next(left, None) is not None else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hung up."""


class Proxy:
    """A server in front of a node. ``rule`` may be changed at any time.

    ``faults`` lists the faults that happened, with the kind of request. So a test can check that one happened.
    """

    def __init__(self, target: str, rule: Rule = lambda request: None) -> None:
        self.rule = rule
        self.faults: list[tuple[str, Fault]] = []
        self._target = urlsplit(target).netloc
        self._lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def fault(self, request: Request) -> Fault | None:
        """Return the fault for a request. One thread at a time asks the rule, so a rule may count."""
        with self._lock:
            fault = self.rule(request)
            if fault is not None:
                self.faults.append((request.verb, fault))
            return fault

    def forward(self, request: Request, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return the node's answer, on a new connection, because the node may have been restarted."""
        with contextlib.closing(http.client.HTTPConnection(self._target, timeout=60)) as node:
            node.request(request.method, request.path, body, headers)
            answer = node.getresponse()
            kept = {name: value for name in HEADERS if (value := answer.headers[name])}
            return answer.status, kept, answer.read()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def serve(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        request = Request(self.command, self.path, body, self.headers)
        fault = self.proxy.fault(request)
        if fault == Drop(done=False):
            self.close_connection = True
            return
        if isinstance(fault, Answer):
            answer = _error(fault.status) if fault.body is None else fault.body
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self._answer(fault.status, fault.headers, body)
            return
        if isinstance(fault, Delay):
            time.sleep(fault.seconds)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        try:
            if isinstance(fault, BusyItems):
                answer = self._without(fault.ids, request, headers)
            else:
                answer = self.proxy.forward(request, headers, body)
        except (OSError, http.client.HTTPException):  # the node has ended, so close the connection
            self.close_connection = True
            return
        if fault == Drop(done=True):
            self.close_connection = True
            return
        self._answer(*answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = serve

    def _without(self, ids: Collection[str], request: Request, headers: dict[str, str]) -> Any:
        asked = operations(request.body)
        passed_on = b"".join(lines for _, id, lines in asked if id not in ids)
        answer: dict[str, Any] = {"took": 0, "errors": True, "items": []}
        if passed_on:
            status, kept, raw = self.proxy.forward(request, headers, passed_on)
            if status != 200:
                return status, kept, raw
            answer = {**json.loads(raw), "errors": True}
        items = iter(answer["items"])
        busy = json.loads(_error(429))
        merged = [{kind: {"_id": id, **busy}} if id in ids else next(items) for kind, id, _ in asked]
        return 200, HEADERS, json.dumps({**answer, "items": merged}).encode()

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        with contextlib.suppress(OSError):  # the client may have closed the connection
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None: ...


def _error(status: int) -> bytes:
    error = {"type": REASONS.get(status, "an_exception"), "reason": "a fault of the test"}
    return json.dumps({"error": error, "status": status}).encode()


def operations(body: bytes) -> list[tuple[str, str, bytes]]:
    """Return the kind, the id and the lines of each operation of a bulk request."""
    lines = iter(body.splitlines(keepends=True))
    found = []
    for line in lines:
        ((kind, about),) = json.loads(line).items()
        found.append((kind, about["_id"], line if kind == "delete" else line + next(lines)))
    return found
