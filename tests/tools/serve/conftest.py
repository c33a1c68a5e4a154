"""The application in this process, and the command ``es-simhash serve`` in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient

from es_simhash import Documents, SeenItems
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

    def call(self, path: str, body: Any = None, token: str | None = None) -> Reply:
        """Send a request, by POST if it has a body: bytes as they are, else as JSON."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
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

    def __init__(self, service: Service) -> None:
        self.work = service.work
        self.client = TestClient(service.application(), raise_server_exceptions=False)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Callable[..., Local]]:
    """Make applications on one SQLite file."""
    with ExitStack() as stack:
        documents = stack.enter_context(Documents(f"sqlite:///{tmp_path}/news.db"))
        documents.setup()
        items = stack.enter_context(SeenItems(f"sqlite:///{tmp_path}/seen.db"))

        def make(filter: Any = None, clients: bool = True, seen: bool = True, **options: Any) -> Local:
            chosen = {"token": None, "seconds": 30.0, "at_once": 4} | options
            return Local(Service(documents, items if seen else None, Scope(filter, clients), **chosen))

        yield make


class Server(Caller):
    """A server that runs, and a client of it."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._log = folder / f"serve-{self.port}.log"
        with self._log.open("wb") as log:
            command = [*COMMAND, "serve", "--port", str(self.port), *arguments]
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

    def wait_for_work(self, count: int) -> None:
        """Wait until the server does so much work at once."""
        end = time.monotonic() + 20
        while f"es_simhash_work {count}.0" not in (metrics := self.call("/metrics").json):
            assert time.monotonic() < end, metrics
            time.sleep(0.01)

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

    def start(*arguments: str, **variables: str) -> Server:
        store = () if "--store" in arguments else ("--store", "sqlite:///news.db")
        servers.append(Server(tmp_path, *store, *arguments, **variables))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
        server.client.close()
