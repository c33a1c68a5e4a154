"""A real server: ``es-simhash serve`` in a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.cli import COMMAND, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message
    from pathlib import Path


class Reply(NamedTuple):
    status: int
    json: Any
    headers: Message

    @property
    def detail(self) -> str:
        """The detail of a problem, which must be one."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        assert "Traceback" not in json.dumps(self.json)
        return str(self.json["detail"])


class Server:
    """A server that runs, and a client of it."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._log = folder / f"serve-{self.port}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "serve", "--port", str(self.port), *arguments],
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment(**variables),
            )
        end = time.monotonic() + 60
        while not self._alive():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.1)

    def _alive(self) -> bool:
        try:
            return self.call("/healthz").status == 200
        except OSError:
            return False

    @property
    def log(self) -> str:
        return self._log.read_text()

    def call(self, path: str, body: Any = None, token: str | None = None) -> Reply:
        """Send a request, by POST if it has a body: bytes as they are, else as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return _reply(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.read(), error.headers)

    def metric(self, sample: str) -> float:
        """A figure of /metrics; 0 if it was not counted."""
        found = re.search(rf"^{re.escape(sample)} (\S+)$", self.call("/metrics").json, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def stop(self) -> int:
        """End the server by SIGTERM, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert "Traceback" not in self.log
        return code


def _reply(status: int, data: bytes, headers: Message) -> Reply:
    plain = headers["content-type"].startswith("text/plain")
    return Reply(status, data.decode() if plain else json.loads(data), headers)


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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the module, with small limits."""
    folder = tmp_path_factory.mktemp("serve")
    limits = ("--max-body", "1", "--seconds", "5", "--at-once", "4")
    running = Server(folder, "--store", "sqlite:///news.db", "--seen-store", "sqlite:///seen.db", *limits)
    yield running
    assert running.stop() == 0, running.log
    assert os.listdir(folder)
