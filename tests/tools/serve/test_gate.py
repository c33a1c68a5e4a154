"""Who may ask ``es-simhash serve``, how much at once, and for how long."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest

from es_simhash import Documents, fingerprint
from es_simhash.tools.serve.gate import MOST_BYTES, MOST_HELD, STATE
from es_simhash.tools.serve.log import show_log
from tests.cli import STORM, complaint, es_simhash
from tests.es_node.proxy import Delay, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping
    from pathlib import Path

    from tests.tools.serve.conftest import Local, Server

    Start = Callable[..., Server]
    Make = Callable[..., Local]

TOKEN = "a-token-of-the-tests"
FULL = {"content-length": str(MOST_BYTES)}


# --- who may ask -----------------------------------------------------------------------------------------------------


def test_a_token_is_needed_for_everything_but_the_state(local: Make) -> None:
    server = local(token=TOKEN)
    for wrong in (None, TOKEN + "x", TOKEN.upper()):
        reply = server.call("/similar", {"text": STORM}, wrong)
        assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert server.call("/metrics", token=wrong).status == 401
    assert server.call("/similar", {"text": STORM}, TOKEN).status == 200
    assert server.call("/metrics", token=TOKEN).status == 200
    assert {server.call(path).status for path in STATE} == {200}


def test_a_path_before_each_request_opens_nothing(local: Make) -> None:
    server = local(token=TOKEN, base="/dedupe")
    for base in ("/dedupe", ""):  # a proxy passes it on, or takes it off
        assert server.call(f"{base}/similar", {"text": STORM}, TOKEN).status == 200
        assert server.call(f"{base}/similar", {"text": STORM}).status == 401
        assert server.call(f"{base}/metrics").status == 401
        assert server.call(f"{base}/healthz").status == 200
        assert server.call(f"{base}/openapi.json").json["servers"] == [{"url": "/dedupe"}]
    for other in ("/dedupe/dedupe/healthz", "/dedupely/healthz", "/dedupe"):
        assert server.call(other).status == 401
        assert server.call(other, token=TOKEN).status == 404


@pytest.mark.parametrize("wrong", ["dedupe", "/dedupe/", "/", "https://a.example/dedupe", "/a?b"])
def test_a_wrong_base_path_is_an_error(tmp_path: Path, wrong: str) -> None:
    done = es_simhash("serve --store sqlite:///n.db --base-path", wrong, cwd=tmp_path)
    assert "begin it with /, and end it without" in complaint(done)


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Host", "localhost", 200),
        ("Host", "127.0.0.1:8000", 200),
        ("Host", "[::1]:8000", 200),
        ("Host", "attacker.example:8000", 403),
        ("Host", "localhost.attacker.example", 403),
        ("Host", "[::1", 403),
        ("Host", "192.168.0.7", 403),
        ("Host", "", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Origin", "https://attacker.example", 403),
        ("Origin", "null", 403),
    ],
)
def test_without_a_token_only_programs_of_this_machine_may_ask(local: Make, name: str, value: str, status: int) -> None:
    for path in ("/near_query", *STATE):
        reply = local().call(path, {"text": STORM} if path == "/near_query" else None, **{name: value})
        assert reply.status == status, reply
        assert status == 200 or f"the header {name} is {value}: without a token" in reply.detail
    assert local(token=TOKEN).call("/near_query", {"text": STORM}, TOKEN, **{name: value}).status == 200


def answer_without_reading(server: Local, **headers: str) -> tuple[int, Any]:
    """The answer of a request whose body must not be read."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> Any:
        pytest.fail("the body is read")

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/similar",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": "localhost"} | headers).items()],
    }
    asyncio.run(server.gate(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])["detail"]


def test_who_may_not_ask_is_refused_before_a_byte_of_the_body_is_read(local: Make) -> None:
    assert answer_without_reading(local(token=TOKEN), **FULL)[0] == 401
    assert answer_without_reading(local(token=TOKEN), **FULL, authorization="Bearer wrong")[0] == 401
    assert answer_without_reading(local(), **FULL | {"host": "attacker.example"})[0] == 403
    too_large = {"content-length": str(MOST_BYTES + 1), "expect": "100-continue"}
    status, detail = answer_without_reading(local(), **too_large)
    assert (status, detail[:42]) == (413, "the body has more than 4,194,304 bytes: se")
    assert answer_without_reading(local(at_once=0), **FULL)[0] == 503


# --- how much --------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused(serve: Start) -> None:
    server = serve()
    text = json.dumps({"text": "雨" * 4_500_000}, ensure_ascii=False).encode()
    for body in (text, (text[start : start + 60_000] for start in range(0, len(text), 60_000))):
        reply = server.call("/similar", body)
        assert reply.status == 413
        assert "send fewer documents or texts at once" in reply.detail
        assert "again" not in reply.detail
    with pytest.raises(HTTPError, match="413"):  # it sends all before it reads
        urlopen(f"{server.client.base_url}/similar", text + b" " * 20_000_000, timeout=60)
    assert server.call("/similar", {"text": STORM}).status == 200
    server.wait_for_work(0)


@pytest.mark.slow
def test_connections_that_hold_back_the_end_of_their_body_take_no_memory(serve: Start) -> None:
    server = serve("--deadline", "5", ES_SIMHASH_TOKEN=TOKEN)
    memory = psutil.Process(server.process.pid).memory_info
    assert server.call("/similar", {"text": STORM}, TOKEN).status == 200

    def held(*headers: str) -> int:
        """By how many bytes the server grows."""
        before = memory().rss
        with ExitStack() as stack:
            for _ in range(40):
                stack.enter_context(server.connection(*headers, body=b'{"text": "' + b"x" * (MOST_BYTES - 20), more=1))
            end = time.monotonic() + 3
            most = 0
            while time.monotonic() < end:
                most = max(most, memory().rss - before)
                assert server.call("/healthz").status == 200
        return most

    assert held() < 4 * MOST_BYTES
    assert held(f"Authorization: Bearer {TOKEN}") < 4 * MOST_HELD
    server.wait_for_work(0, TOKEN)
    assert server.call("/similar", {"text": STORM}, TOKEN).status == 200


def test_a_body_that_does_not_come_ends_the_request(serve: Start) -> None:
    server = serve("--deadline", "1")
    with server.connection(body=b"", more=10) as connection:
        reply = ""
        while not reply.endswith("}"):
            reply += connection.recv(9_999).decode()
    assert reply.startswith("HTTP/1.1 408")
    assert "the body did not come" in reply
    server.wait_for_work(0)


# --- for how long ----------------------------------------------------------------------------------------------------


def test_a_request_that_takes_too_long_gives_its_place_back_and_its_work_ends_at_the_next_step(
    local: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint(STORM)  # loads the dictionary
    server, steps, going = local(seconds=0.3, at_once=1), [], threading.Event()

    def similar(store: Any, texts: Any, *others: Any, **options: Any) -> Any:
        steps.append(len(texts))
        assert going.wait(20)
        return []

    monkeypatch.setattr("es_simhash.client.documents.similar", similar)
    with server.client:
        for _ in range(3):
            reply = server.call("/similar_many", {"texts": ["暴雨"] * 200})
            assert (reply.status, "0.3 s are over, and there is no answer" in reply.detail) == (503, True)
            assert reply.headers["Retry-After"] == "1"
            assert server.gate.count == 0
        going.set()
        assert server.call("/near_query", {"text": STORM}).status == 200
    assert steps == [50] * 3


def test_a_store_that_is_away_is_503(serve: Start) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = serve("--store", f"http://127.0.0.1:{unused.getsockname()[1]}/news", "--deadline", "60")
        assert server.call("/healthz").status == 200
        began = time.monotonic()
        assert server.call("/readyz").status == 503
        reply = server.call("/similar", {"text": STORM})
        assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
        assert time.monotonic() - began < 30


@pytest.fixture
def store_proxy(elasticsearch_url: str, index_name: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before an index that is set up, and the address of the index behind it."""
    with Documents(f"{elasticsearch_url}/{index_name}") as documents, Proxy(elasticsearch_url) as proxy:
        documents.setup()
        yield proxy, f"{proxy.url}/{index_name}"


@pytest.mark.elasticsearch
def test_a_client_that_leaves_gives_its_place_back(serve: Start, store_proxy: tuple[Proxy, str]) -> None:
    proxy, address = store_proxy
    server = serve("--store", address, "--at-once", "1")
    proxy.rule = lambda request: Delay(30) if request.verb == "_bulk" else None
    for id in range(5):
        body = json.dumps({"document": {"id": id, "text": STORM}}).encode()
        with server.connection(path="/add", body=body):
            server.wait_for_work(1)
            refused = server.call("/similar", {"text": STORM})
            assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
            assert "does 1 things at once" in refused.detail
        server.wait_for_work(0)
        assert server.call("/similar", {"text": STORM}).status == 200
    assert 'operation="add_document",status="499"' in server.call("/metrics").json


@pytest.mark.elasticsearch
def test_a_request_to_a_store_that_hangs_ends_at_the_deadline(serve: Start, store_proxy: tuple[Proxy, str]) -> None:
    proxy, address = store_proxy
    server = serve("--store", address, "--seen-store", address, "--deadline", "2")
    assert server.call("/similar", {"text": STORM}).status == 200
    proxy.rule = lambda request: Delay(30)
    for path, body in (
        ("/similar", {"text": STORM}),
        ("/add", {"document": {"id": 1, "text": STORM}}),
        ("/seen/unseen", {"user": "ann", "items": ["a"]}),
    ):
        began = time.monotonic()
        assert server.call(path, body).status == 503
        assert 1.5 < time.monotonic() - began < 15


@pytest.mark.elasticsearch
@pytest.mark.parametrize("option", ["--store", "--seen-store"])
def test_the_server_is_ready_if_both_stores_answer_within_two_seconds(
    serve: Start, store_proxy: tuple[Proxy, str], option: str
) -> None:
    proxy, address = store_proxy
    server = serve(option, address)
    if option == "--seen-store":
        assert "no seen items" in server.call("/readyz").detail
        assert es_simhash("seen init --store", address, cwd=server.folder).code == 0
    assert server.call("/readyz").status == 200
    asked = itertools.count()

    def hang(request: Any) -> Delay:
        next(asked)
        return Delay(30)

    proxy.rule = hang
    began = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(lambda _: server.call("/readyz"), range(20)))
    assert 1.5 < time.monotonic() - began < 10
    assert {reply.status for reply in replies} == {503}
    assert next(asked) < 5, "requests that come at once are one question to the store"


# --- what the operator sees ------------------------------------------------------------------------------------------


def test_a_port_that_is_used_is_named_and_no_address_is_printed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        done = es_simhash("serve --store sqlite:///n.db --port", str(port), cwd=tmp_path, alone=True)
    assert f"cannot listen on 127.0.0.1, port {port} (Address already in use): choose another" in complaint(done)


def test_each_line_of_the_log_has_its_time_as_text_or_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    for as_json in (False, True):
        show_log(as_json=as_json)
        logging.getLogger("es_simhash").warning("the store %s", "is\naway")
        try:
            raise ValueError("wrong")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("an error")
    text, as_lines = capsys.readouterr().err.split("Traceback", 1)
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}"
    lines = rf"{when} WARNING es_simhash: the store is\\x0aaway\n{when} ERROR uvicorn.error: an error\n"
    assert re.fullmatch(lines, text)
    warning, error = map(json.loads, as_lines.splitlines()[-2:])
    assert (warning["level"], warning["logger"], warning["message"]) == ("WARNING", "es_simhash", "the store is\naway")
    assert "ValueError: wrong" in error["traceback"]
    assert re.fullmatch(when, error["time"])


def test_the_log_names_each_request_if_it_is_asked_for_details(serve: Start) -> None:
    server = serve("--log-json", verbose=True)
    assert server.call("/nothing").status == 404
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    assert any(re.fullmatch(r"GET /nothing 404, 0\.\d+ s", line["message"]) for line in lines), lines
