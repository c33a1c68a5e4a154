"""A server that is half dead, or no search server at all: each call ends at its deadline, and says what it got.

The server of these tests speaks HTTP as badly as the test wants. It has no index.
"""

from __future__ import annotations

import json
import socketserver
import threading
import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, SeenItems, StoreError, StoreUnavailable
from es_simhash.bloom.seen import SeenConfig
from es_simhash.rows import Description
from es_simhash.store.description import to_json
from es_simhash.store.elastic import answers, mapping
from es_simhash.text.scheme import Scheme
from es_simhash.tools.doctor import doctor
from tests.cli import STORM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PREFIXES = ["", "opensearch+"]
HEAD = b"HTTP/1.1 200 OK\r\nX-elastic-product: Elasticsearch\r\nContent-Type: application/json\r\n"
DEADLINE = 1.0
MIB = 1_048_576


def mapped() -> bytes:
    """The answer that describes an index with documents and seen items."""
    described = Description(scheme=Scheme(), keys=True, seen=SeenConfig())
    properties = {part: mapping._file(part) for part in ("simhash", "seen")}
    whole = {"properties": properties, "_meta": {mapping.META: to_json(described)}}
    index = {"aliases": {}, "mappings": whole, "settings": {"index.uuid": "u"}, "defaults": {}}
    return json.dumps({"x": index}).encode()


def sized(body: bytes, *headers: bytes, length: int | None = None) -> Iterator[bytes]:
    """Yield an answer with its length, or with another one that is told."""
    told = len(body) if length is None else length
    yield b"\r\n".join([HEAD + b"Content-Length: %d" % told, *headers]) + b"\r\n\r\n" + body


def dripping(first: bytes, drop: bytes) -> Iterator[bytes]:
    yield first
    while True:
        time.sleep(0.2)
        yield drop


def endless(first: bytes, part: bytes) -> Iterator[bytes]:
    yield first
    while True:
        yield part


def bomb() -> bytes:
    """Return 256 MiB, compressed in parts, so that this takes no memory."""
    compressor = zlib.compressobj(1, wbits=31)
    return b"".join(compressor.compress(b" " * MIB) for _ in range(256)) + compressor.flush()


BOMB = bomb()
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SLOW: dict[str, Callable[[], Iterator[bytes]]] = {
    "nothing": lambda: dripping(b"", b""),
    "a status": lambda: dripping(b"HTTP/1.1 20", b"0"),
    "headers": lambda: dripping(HEAD, b"x"),
    "many headers": lambda: dripping(HEAD, b"A: b\r\n"),
    "a body": lambda: dripping(HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "chunks": lambda: dripping(CHUNKED, b"1\r\n \r\n"),
    "a body without a length": lambda: dripping(HEAD + b"\r\n", b" "),
    "preliminary answers": lambda: dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}
"""Answers of which a byte comes now and then."""
WRONG: dict[str, Callable[[], Iterator[bytes]]] = {
    "a length of 2^60": lambda: sized(b"{}", length=1 << 60),
    "a length of 2^70": lambda: sized(b"{}", length=1 << 70),
    "a chunk of 2^60 bytes": lambda: iter([CHUNKED + b"%x\r\n{}" % (1 << 60)]),
    "an endless chunk": lambda: endless(CHUNKED + b"%x\r\n" % (1 << 29), b" " * MIB),
    "endless chunks": lambda: endless(CHUNKED, b"100000\r\n" + b" " * MIB + b"\r\n"),
    "an endless body": lambda: endless(HEAD + b"\r\n", b" " * MIB),
    "an endless header": lambda: endless(HEAD, b"x" * MIB),
    "a compressed body": lambda: sized(BOMB, b"Content-Encoding: gzip"),
    "no JSON": lambda: sized(b"{"),
    "no text": lambda: sized(b"\xff\xfe{}"),
    "deep JSON": lambda: sized(b"[" * 100_000),
    "fewer answers": lambda: sized(b'{"responses": [], "docs": [], "items": []}'),
    "no numbers": lambda: sized(
        b'{"count": "many", "responses": 1, "docs": {"a": 1}, "items": 0, "hits": {"hits": 1}}'
    ),
    "other parts": lambda: sized(
        b'{"hits": {"hits": [{}]}, "docs": [{"found": true}], "responses": [{"hits": {"hits": [{}]}}],'
        b' "items": [{"index": 1}], "count": "many"}'
    ),
}
"""Answers that nobody can use."""
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "similar": lambda documents, seen: documents.similar(STORM),
    "fetch": lambda documents, seen: documents.fetch(["a", "b"]),
    "add": lambda documents, seen: documents.add({"id": "a", "text": STORM}),
    "ingest": lambda documents, seen: list(documents.ingest([{"id": "a", "text": STORM}])),
    "group": lambda documents, seen: documents.group(),
    "remove": lambda documents, seen: documents.remove(["a"]),
    "export": lambda documents, seen: list(documents.export()),
    "seen add": lambda documents, seen: seen.add("ann", ["x"]),
    "unseen": lambda documents, seen: seen.unseen("ann", ["x"]),
    "seen remove": lambda documents, seen: seen.remove("ann"),
}


def each(kinds: Iterable[str], *with_each: str) -> list[tuple[str, str]]:
    """Return each kind of answer with one call, and some kinds with each call."""
    return [(kind, call) for kind in kinds for call in (CALLS if kind in with_each else ["fetch"])]


class HalfDead(socketserver.ThreadingTCPServer):
    """Describes its index as a server does, and answers every other request with ``answer``."""

    daemon_threads, allow_reuse_address = True, True
    answer: Callable[[], Iterator[bytes]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(socketserver.StreamRequestHandler):
    server: HalfDead

    def handle(self) -> None:
        while line := self.rfile.readline():
            length = 0
            while (header := self.rfile.readline().strip()) != b"":
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            is_description = line.split(b" ")[1].partition(b"?")[0] == b"/x" and line.startswith(b"GET")
            try:
                for part in sized(mapped()) if is_description else self.server.answer():
                    self.wfile.write(part)
            except OSError:
                return
            if not is_description:
                return


@contextmanager
def half_dead(answer: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    with HalfDead() as server:
        server.answer = answer
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server.host
        finally:
            server.shutdown()


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(("slow", "call"), each(SLOW, "a body"))
def test_a_call_ends_at_its_deadline_also_if_bytes_drip(prefix: str, slow: str, call: str) -> None:
    with half_dead(SLOW[slow]) as host:
        address = f"{prefix}http://{host}/x"
        with Documents(address, deadline=DEADLINE) as documents, SeenItems(address, deadline=DEADLINE) as seen:
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                CALLS[call](documents, seen)
            assert time.monotonic() - began < DEADLINE + 1


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(("wrong", "call"), each(WRONG, "fewer answers", "other parts"))
def test_an_answer_that_nobody_can_use_is_one_error_and_little_memory(
    prefix: str, wrong: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 8 * MIB)
    with half_dead(WRONG[wrong]) as host:
        address = f"{prefix}http://{host}/x"
        with Documents(address, deadline=DEADLINE) as documents, SeenItems(address, deadline=DEADLINE) as seen:
            import resource

            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with pytest.raises(StoreError) as raised:
                CALLS[call](documents, seen)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024
    assert "\n" not in str(raised.value)
    assert host in str(raised.value)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("wrong", ["no JSON", "fewer answers", "no numbers"])
def test_doctor_says_what_it_cannot_read(prefix: str, wrong: str) -> None:
    with half_dead(WRONG[wrong]) as host, Documents(f"{prefix}http://{host}/x", deadline=DEADLINE) as documents:
        checks = doctor(documents).checks
    assert any(check.status == "problem" for check in checks)
    assert all("\n" not in check.text for check in checks)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_answer_below_the_limit_is_read(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"docs": [{"_id": "a", "found": false}]' + b" " * 4 * MIB + b"}"
    monkeypatch.setattr(answers, "MOST_BYTES", len(body) + 1000)
    chunks = CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for whole in (b"".join(sized(body)), chunks):
        with half_dead(lambda answer=whole: iter([answer])) as host, Documents(f"{prefix}http://{host}/x") as documents:  # type: ignore[misc]
            assert documents.fetch(["a"]) == {}
    monkeypatch.setattr(answers, "MOST_BYTES", len(body) - 1)
    with half_dead(lambda: sized(body)) as host, Documents(f"{prefix}http://{host}/x") as documents:  # noqa: SIM117
        with pytest.raises(StoreError, match="an answer of more than"):
            documents.fetch(["a"])
