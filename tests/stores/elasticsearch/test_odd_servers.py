"""A server that answers oddly ends a call with one line, in time, in bounded memory. A small real server plays it."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, Scheme
from es_simhash.contract import Scan
from es_simhash.errors import SimhashError, StoreUnavailable, WrongServer
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS
from es_simhash.tools.doctor import doctor
from tests.cli import STORM, es_simhash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
FOUND_NOTHING = {"timed_out": False, "_shards": SHARDS, "hits": {"total": {"value": 0, "relation": "eq"}, "hits": []}}
USUAL: dict[str, Any] = {
    "/": {"version": {"number": "9.0.0"}, "tagline": "You Know, for Search"},
    "_mapping": {},
    "index.uuid": {"news": {"settings": {"index": {"uuid": "kR3n"}}}},
    "_settings": {"news": {"settings": {}}},
    "_alias": {"news": {"aliases": {}}},
    "_search": FOUND_NOTHING,
    "_count": {"count": 0, "_shards": SHARDS},
    "_refresh": {"_shards": SHARDS},
    "_mget": {"docs": []},
    "_pit": {"id": "p"},
}
"""What an empty index answers, by the last part of the path."""

ODD: dict[str, Any] = {
    "an error under 200": {"error": {"type": "es_overload", "reason": "no"}, "status": 500},
    "an error of a proxy": {"error": "upstream gone"},
    "null": None,
    "a list": [1, 2],
    "a string": "ok",
    "an empty object": {},
    "null mappings": {"news": {"mappings": None}},
    "nulls": {"responses": None, "items": None, "docs": None, "hits": None, "count": None, "_shards": None, "id": None},
    "numbers": {"responses": [3], "items": [3], "docs": [3], "hits": 3, "count": "3", "_shards": 3, "id": 3},
    "empty": {"responses": [], "items": [], "docs": [], "hits": {}, "errors": False, "_shards": SHARDS},
    "no items": {"errors": False},
    "deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "half a body": b'{"responses": [',
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "a page": b"<html>we are back soon</html>",
}


@contextmanager
def server(answer: Callable[[str, BaseHTTPRequestHandler], Any]) -> Iterator[str]:
    """Run a server, and yield its address.

    :param answer: gets the last part of the path, and returns the body: bytes, or a value for JSON. It returns None
        if it wrote the response itself.
    """
    kept = DOCUMENTS.mapping(Scheme())

    class Handler(BaseHTTPRequestHandler):
        mapping = kept
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_one_request(self) -> None:
            with suppress(OSError):  # the client ended the connection
                super().handle_one_request()

        def answer(self) -> None:
            self.lines = self.rfile.read(int(self.headers.get("content-length") or 0)).splitlines()
            if self.command == "PUT" and self.path.endswith("_mapping"):  # a program keeps its rule there
                self.mapping["_meta"] = json.loads(self.lines[0])["_meta"]
            last = self.path.partition("?")[0].rstrip("/").rpartition("/")[2] or "/"
            body = answer(last if last in {*USUAL, "health"} or last.startswith("_") else "_doc", self)
            if body is None:
                return
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.begin(len(data))
            self.wfile.write(data)

        def begin(self, length: int | None) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("x-elastic-product", "Elasticsearch")
            if length is not None:
                self.send_header("content-length", str(length))
            self.end_headers()

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *arguments: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}/news"
        running.shutdown()


def usual(last: str, handler: Any) -> Any:
    """Return what an empty index answers."""
    if last == "_msearch":
        return {"responses": [FOUND_NOTHING] * (len(handler.lines) // 2)}
    if last == "_mapping":
        return {"news": {"mappings": handler.mapping}}
    if last == "health":
        return [{"epoch": str(int(time.time()))}]
    return USUAL.get(last, {})


VERBS: dict[str, tuple[str, Callable[[Documents], Any]]] = {
    "set-up": ("_mapping", lambda documents: documents.setup()),
    "similar": ("_msearch", lambda documents: documents.similar(STORM, rule="fingerprint")),
    "add": ("_bulk", lambda documents: documents.add({"id": "a", "text": STORM}, rule="fingerprint")),
    "look-up of an ingest": ("_mget", lambda documents: list(documents.ingest([{"id": "a", "text": STORM}] * 2))),
    "fetch": ("_mget", lambda documents: documents.fetch(["a", "b"])),
    "a document": ("_doc", lambda documents: documents.fetch(["a"])),
    "export": ("_search", lambda documents: list(documents.export())),
    "remove": ("_refresh", lambda documents: documents.remove(["a"], rule="fingerprint")),
}


def what_it_says(call: Callable[[], Any]) -> str | None:
    """Return the error of a call, or the reason of its outcome; None if it has none."""
    try:
        result = call()
    except SimhashError as error:
        return str(error)
    reason: str | None = getattr(result, "reason", None)
    return reason


@pytest.mark.parametrize("verb", VERBS)
def test_an_odd_body_is_an_error_in_one_line(verb: str) -> None:
    odd_path, call = VERBS[verb]
    odd: list[Any] = [None]

    def answer(last: str, handler: Any) -> Any:
        body = odd[0] if last == odd_path else usual(last, handler)
        return b"null" if body is None else body

    with server(answer) as address:
        for name, body in ODD.items():
            odd[0] = body
            with Documents(address, deadline=0, request_timeout=5) as documents:
                said = what_it_says(partial(call, documents))
                if said is None:  # to some requests an empty answer is no odd one
                    assert name in ("empty", "an empty object", "nulls", "numbers"), name
                else:
                    assert "\n" not in said, name
                    assert address in said, name
                diagnosis = doctor(documents)  # it never raises
                assert all("\n" not in check.text for check in diagnosis.checks)


def test_a_bulk_reply_is_counted_against_its_documents() -> None:
    for items in ([], [{"index": {"status": 200}}] * 2, [{"create": {"status": 200}}] * 4):
        for errors in (True, False):

            def answer(last: str, handler: Any, items: Any = items, errors: bool = errors) -> Any:
                if last == "_bulk":
                    return {"errors": errors, "items": items}
                return usual(last, handler)

            with server(answer) as address, Documents(address, deadline=0) as documents:
                texts = [{"id": f"{n}", "text": f"{STORM}{n}"} for n in range(3)]
                with pytest.raises(WrongServer, match=rf"answered {len(items)} of 3 items of a request"):
                    documents.add_many(texts, rule="fingerprint")


def drip(handler: Any) -> None:
    """Send a byte each tenth of a second."""
    handler.begin(10_000)
    for _ in range(10_000):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def test_a_byte_now_and_then_ends_within_the_timeout_and_the_deadline(tmp_path: Path) -> None:
    def answer(last: str, handler: Any) -> Any:
        return drip(handler) if last == "_msearch" else usual(last, handler)

    with server(answer) as address:
        started = time.monotonic()
        done = es_simhash(
            "similar",
            STORM,
            "--rule",
            "fingerprint",
            "--store",
            address,
            "--deadline",
            "2",
            cwd=tmp_path,
        )
        assert time.monotonic() - started < 60  # without an end it takes 1,000 s; the machine may be busy
    assert done.code == 1
    assert "did not answer in time" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_large_body_may_take_longer_than_the_timeout_if_it_keeps_coming() -> None:
    body = json.dumps(USUAL["_count"] | {"more": "x" * 400_000}).encode()

    def answer(last: str, handler: Any) -> Any:
        if last != "_count":
            return usual(last, handler)
        handler.begin(len(body))
        for start in range(0, len(body), 50_000):
            handler.wfile.write(body[start : start + 50_000])
            time.sleep(0.2)
        return None

    with server(answer) as address, Documents(address, deadline=0, request_timeout=1) as documents:
        assert documents.store.count(Scan()) == 0
        assert documents.store.count(Scan()) == 0  # the timeout of the connection is that of the next request again


@pytest.mark.parametrize("announced", [True, False])
def test_an_endless_body_ends_in_bounded_memory(announced: bool) -> None:
    sent = [0]

    def answer(last: str, handler: Any) -> Any:
        if last != "_count":
            return usual(last, handler)
        handler.begin(10**12 if announced else None)
        while True:
            sent[0] += handler.wfile.write(b" " * 2**16)

    with (
        server(answer) as address,
        Documents(address, deadline=0, request_timeout=5) as documents,
        pytest.raises(WrongServer, match="a response has more than 512 MB"),
    ):
        documents.store.count(Scan())
    assert sent[0] < 612 * 2**20


def test_a_server_that_says_nothing_ends_within_the_timeout() -> None:
    def answer(last: str, handler: Any) -> Any:
        return time.sleep(5)

    with (
        server(answer) as address,
        Documents(address, deadline=0, request_timeout=0.5) as documents,
        pytest.raises(StoreUnavailable, match="did not answer in time"),
    ):
        documents.info()
