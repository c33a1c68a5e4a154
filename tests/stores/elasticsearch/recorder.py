"""A small server that records what is sent to an OpenSearch, and answers it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from es_simhash import Documents

INFO = {"version": {"distribution": "opensearch", "number": "2.19.3"}, "tagline": "The OpenSearch Project"}
MISSING = {"error": {"type": "index_not_found_exception", "reason": "no such index [news]"}, "status": 404}


class Recorder:
    """A server that records its requests. Its answers are given by method and path."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: dict[str, tuple[int, Any]] = {"GET /": (200, INFO)}
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                recorder.asked.append((self.command, self.path, headers, body))
                status, answer = recorder.answers.get(
                    f"{self.command} {self.path}",
                    (404, MISSING) if "/_mapping" in self.path or "/_settings" in self.path else (200, {}),
                )
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if isinstance(answer, str) else "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_PUT = do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"opensearch+http://127.0.0.1:{self.server.server_port}/news"


def set_up(address: str, **options: Any) -> None:
    with Documents(address, deadline=0, **options) as documents:
        documents.setup(keys=False)
