"""Servers that give one answer to everything: what a command does with it, and what it sent."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import socketserver
    from collections.abc import Iterator

PRODUCT = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/json"}
Server = TypeVar("Server", bound="socketserver.BaseServer")


class AnsweringServer(ThreadingHTTPServer):
    """It gives one answer to every request. ``requests`` has the path and the credentials of each."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = status, headers, body.encode()
        self.requests: list[tuple[str, str | None]] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: AnsweringServer

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.requests.append((self.path, self.headers["Authorization"]))
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments: Any) -> None: ...


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Let a server answer until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
