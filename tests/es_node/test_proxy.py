"""The proxy applies the rule to a request, and passes all others on."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.es_node.proxy import Answer, BusyItems, Drop, Proxy, times

if TYPE_CHECKING:
    from collections.abc import Iterator

BULK = b'{"index":{"_id":"a"}}\n{"n":1}\n{"delete":{"_id":"b"}}\n{"update":{"_id":"c"}}\n{"doc":{}}\n'


class Target:
    """A server that records its requests. It answers each operation of a bulk request as done."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes]] = []
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                target.asked.append((self.command, self.path, body))
                actions = [json.loads(line) for line in body.splitlines() if b"_id" in line]
                items = [{kind: {**about, "status": 200}} for each in actions for kind, about in each.items()]
                answer = json.dumps({"took": 1, "errors": False, "items": items}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    with target.server as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield target
        server.shutdown()


@pytest.fixture
def proxy(target: Target) -> Iterator[Proxy]:
    with Proxy(f"http://127.0.0.1:{target.server.server_port}") as proxy:
        yield proxy


def ask(proxy: Proxy, path: str = "/news/_bulk?x=1", body: bytes = BULK) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(proxy.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def statuses(answer: tuple[int, Any]) -> list[tuple[str, str, int]]:
    return [(k, result["_id"], result["status"]) for item in answer[1]["items"] for k, result in item.items()]


def test_an_answer_is_given_so_many_times_to_requests_of_that_kind_only(proxy: Proxy, target: Target) -> None:
    proxy.rule = times(2, Answer(429), "_bulk")
    assert ask(proxy, "/news/_mget")[0] == 200
    assert [ask(proxy)[0] for _ in range(3)] == [429, 429, 200]
    assert len(target.asked) == 2
    assert proxy.faults == [("_bulk", Answer(429))] * 2


@pytest.mark.parametrize("done", [False, True])
def test_a_dropped_request_has_no_answer_whether_it_was_done_or_not(proxy: Proxy, target: Target, done: bool) -> None:
    proxy.rule = times(1, Drop(done), "_bulk")
    with pytest.raises(http.client.RemoteDisconnected):
        ask(proxy)
    assert len(target.asked) == done
    assert ask(proxy)[0] == 200


def test_busy_items_are_not_passed_on_and_answered_at_their_places(proxy: Proxy, target: Target) -> None:
    proxy.rule = times(3, BusyItems({"a", "b"}), "_bulk")
    assert statuses(ask(proxy)) == [("index", "a", 429), ("delete", "b", 429), ("update", "c", 200)]
    assert target.asked[0][2] == b'{"update":{"_id":"c"}}\n{"doc":{}}\n'
    proxy.rule = times(1, BusyItems({"a", "b", "c"}), "_bulk")
    assert statuses(ask(proxy)) == [("index", "a", 429), ("delete", "b", 429), ("update", "c", 429)]
    assert len(target.asked) == 1  # there was nothing to pass on
