"""The application in this process, and the command ``es-simhash serve`` in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient

from es_simhash import AsyncDocuments, AsyncSeenItems, Documents
from es_simhash.tools.serve.gate import Limits
from es_simhash.tools.serve.operations import Scope, Service
from tests.cli import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class Reply(NamedTuple):
    status: int
    json: Any
    headers: Mapping[str, str]

    @property
    def detail(self) -> str:
        """The detail of a problem, which must be one."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        assert "Traceback" not in json.dumps(self.json)
        return str(self.json["detail"])


class Caller:
    """Sends requests to an application in this process, or to a server."""

    client: httpx2.Client

    def call(self, path: str, body: Any = None, token: str | None = None, **more: str) -> Reply:
        """Send a request, by POST if it has a body: bytes, or an iterator of them, as they are, else as JSON.

        :param more: headers.
        """
        headers = {"Content-Type": "application/json", **more} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        reply = self.client.request("GET" if body is None else "POST", path, content=data, headers=headers)
        plain = reply.headers["content-type"].startswith("text/plain")
        return Reply(reply.status_code, reply.text if plain else reply.json(), reply.headers)

    def found(self, **body: Any) -> list[str]:
        """The ids of the matches of a request."""
        reply = self.call("/similar", body)
        assert reply.status == 200, reply
        return [match["id"] for match in reply.json["matches"]]


class Local(Caller):
    """A client of an application in this process."""

    def __init__(self, service: Service, limits: Limits, base_path: str) -> None:
        self.gate = service.application(limits, base_path)
        self.client = TestClient(self.gate, "http://localhost", raise_server_exceptions=False)


@pytest.fixture
def local(tmp_path: Path) -> Callable[..., Local]:
    """Make applications on one SQLite file."""
    address, items = f"sqlite:///{tmp_path}/news.db", f"sqlite:///{tmp_path}/seen.db"
    with Documents(address) as documents:
        documents.setup()

    def make(filter: Any = None, clients: bool = True, seen: bool = True, base: str = "", **limits: Any) -> Local:
        service = Service(AsyncDocuments(address), AsyncSeenItems(items) if seen else None, Scope(filter, clients))
        return Local(service, Limits(**{"at_once": 4} | limits), base)

    return make


class Server(Caller):
    """A server that runs, and a client of it."""

    def __init__(self, folder: Path, *arguments: str, verbose: bool = False, **variables: str) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._log = folder / f"serve-{self.port}.log"
        with self._log.open("wb") as log:
            command = [*COMMAND, *["-v"] * verbose, "serve", "--port", str(self.port), *arguments]
            env = environment(**variables)
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60, trust_env=False)
        end = time.monotonic() + 60
        while not self._alive():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.1)

    def _alive(self) -> bool:
        with suppress(httpx2.TransportError):
            return self.call("/healthz").status == 200
        return False

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_for_work(self, count: int, token: str | None = None) -> None:
        """Wait until the server does so much work at once."""
        end = time.monotonic() + 20
        while f"es_simhash_work {count}.0" not in (metrics := self.call("/metrics", token=token).json):
            assert time.monotonic() < end, metrics
            time.sleep(0.01)

    def connection(self, *headers: str, path: str = "/similar", body: bytes, more: int = 0) -> socket.socket:
        """Return a connection on which a request was sent, and nothing was read.

        :param more: bytes of the body that are said to come, and do not.
        """
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        about = "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body) + more}", *headers
        connection.sendall("\r\n".join([f"POST {path} HTTP/1.1", *about, "", ""]).encode() + body)
        return connection

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the server by a signal, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        assert "Traceback" not in self.log
        return code


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start servers on an SQLite file, or with other arguments; they are stopped at the end."""
    servers: list[Server] = []

    def start(*arguments: str, verbose: bool = False, **variables: str) -> Server:
        store = () if "--store" in arguments else ("--store", "sqlite:///news.db")
        servers.append(Server(tmp_path, *store, *arguments, verbose=verbose, **variables))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
        server.client.close()
