"""``es-simhash serve``: each request is the method of Python, and nothing that a client sends ends in a traceback."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from es_simhash import Documents, DuplicateRule
from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, environment, es_simhash

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tools.serve.conftest import Server

    Start = Callable[..., Server]

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "search-service.md"
LOGSTASH = PAGE.parents[2] / "examples" / "logstash.conf"
TOKEN = "a-token-of-the-tests"


def test_the_examples_of_the_description_are_answered_as_it_says(serve: Start) -> None:
    server = serve("--seen-store", "sqlite:///seen.db")
    description = server.call("/openapi.json").json
    operations = {path: each["post"] for path, each in description["paths"].items() if "post" in each}
    assert len(operations) == 8
    for path, operation in operations.items():
        content = operation["requestBody"]["content"]["application/json"]
        jsonschema.validate(content["example"], content["schema"])
        reply = server.call(path, content["example"])
        expected = operation["responses"]["200"]["content"]["application/json"]["example"]
        assert (reply.status, reply.json) == (200, expected), path


def test_several_documents_texts_and_fingerprints_in_one_request(serve: Start) -> None:
    server = serve()
    reply = server.call("/add", {"documents": [{"id": 1, "text": STORM}, {"id": 2, "text": STORM_NEAR}, {"id": 3}]})
    assert reply.status == 207
    assert [each["outcome"] for each in reply.json["outcomes"]] == ["new", "near_duplicate", "rejected"]
    answers = server.call("/similar", {"texts": [STORM, HARVEST]}).json["answers"]
    assert [[match["id"] for match in answer["matches"]] for answer in answers] == [["1", "2"], []]
    assert [match["id"] for match in server.call("/similar", {"id": 2}).json["matches"]] == ["1"]
    [made] = server.call("/fingerprint", {"texts": [STORM]}).json["fingerprints"]
    found = server.call("/similar", {"fingerprint": made["fingerprint"]}).json["matches"]
    assert [(match["id"], match["distance"]) for match in found] == [("1", 0), ("2", found[1]["distance"])]
    assert server.metric('es_simhash_documents_total{outcome="new"}') == 1


def test_rules_and_filters_are_those_of_the_request_else_of_the_store(serve: Start, tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        documents.setup(keys=True, rule=DuplicateRule("exact", text_field="title,body"))
    server = serve()
    server.call("/add", {"document": {"id": 1, "body": STORM, "lang": "zh", "at": "2024-05-01"}})

    def found(**more: Any) -> list[str]:
        return [match["id"] for match in server.call("/similar", {"text": STORM_NEAR, **more}).json["matches"]]

    assert found() == []
    assert found(rule="fingerprint") == ["1"]
    assert found(rule="copy", filter={"term": {"lang": "en"}}) == []
    assert found(rule="copy", within="7d", time_field="at", time="2024-05-04") == ["1"]
    assert found(rule="copy", within="7d", time_field="at", time="2024-06-04") == []
    assert found(rule="copy", confirm=1.0) == []
    changed = server.call("/add", {"document": {"id": 2, "body": STORM}, "rule": "copy"})
    assert (changed.status, "rule" in changed.detail) == (422, True)


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/similar", b"{", 400, "not JSON"),
        ("/similar", b"\xff", 400, "not JSON in UTF-8"),
        ("/similar", b"[" * 100_000, 400, "not JSON"),
        ("/similar", b'{"text": NaN}', 400, "NaN is not a JSON number"),
        ("/similar", '{"text": "a"}'.encode("utf-16"), 400, "not JSON in UTF-8"),
        ("/similar", b'{"text": "a", "max_distance": ' + b"1" * 5_000 + b"}", 400, "not JSON"),
        ("/similar", b'{"text": "a", "rule": "copy", "confirm": 1e999}', 422, "confirm is inf"),
        (
            "/similar",
            b'{"text": "a", "filter": ' + b'{"bool": {"must": ' * 150 + b"{}" + b"}}" * 150 + b"}",
            422,
            "nested",
        ),
        ("/similar", b"[]", 422, "no JSON object"),
        ("/similar", {}, 422, "text or texts or id or fingerprint is missing"),
        ("/similar", {"text": "a", "texts": []}, 422, "text and texts are given together"),
        ("/similar", {"text": "a", "time": 1}, 422, "a time counts only with within"),
        ("/similar", {"texts": ["a"], "time": 1}, 422, "time is given with texts: use times"),
        ("/similar", {"text": 1}, 422, "text is of another type: send string"),
        ("/similar", {"texts": ["a", None]}, 422, r"texts\[1\] is of another type"),
        ("/similar", {"texts": ["a"] * 1_001}, 422, "texts has 1,001 entries: send at most 1,000"),
        ("/similar", {"text": "\ud800"}, 422, "lone surrogate"),
        ("/similar", {"text": "a", "k": 1}, 422, "unknown field 'k': use text, texts"),
        ("/similar", {"text": "a", "rule": "near"}, 422, "rule is 'near': use one of copy"),
        ("/similar", {"text": "a", "max_distance": 99}, 422, "max_distance is 99"),
        ("/similar", {"text": "a", "max_distance": True}, 422, "max_distance is of another type"),
        ("/similar", {"text": "a", "within": "1y", "time_field": "at"}, 422, "'1y' is not a duration"),
        ("/similar", {"text": "a", "filter": {"fuzzy": {}}}, 422, "filter type 'fuzzy'"),
        ("/similar", {"id": "none"}, 422, "none"),
        ("/similar", {"fingerprint": "xyz"}, 422, "send its hex digits"),
        ("/add", {"document": {"id": 1}}, 422, "no text in field 'text'"),
        ("/add", {"document": {"id": 1, "text": "a"}, "refresh": "soon"}, 422, "refresh is 'soon'"),
        ("/add", {"document": {"id": 1, "text": "a"}, "pipeline": "p"}, 422, "has no ingest pipelines"),
        ("/add", {"document": {"id": 1, "text": "a" * (1 << 20)}}, 413, "more than 1,048,576 bytes"),
        ("/seen/add", {"user": "", "items": []}, 422, "user"),
        ("/nothing", {}, 404, "POST /nothing: use /add"),
        ("/add", None, 405, "use POST"),
    ],
)
def test_a_wrong_request_gets_a_problem_that_says_what_to_do(
    server: Server, path: str, body: Any, status: int, detail: str
) -> None:
    reply = server.call(path, body)
    assert reply.status == status
    assert re.search(detail, reply.detail), reply.detail


def test_without_a_store_of_seen_items_a_request_says_which_option_is_missing(serve: Start) -> None:
    assert "start it with --seen-store" in serve().call("/seen/unseen", {"user": 1, "items": [1]}).detail


def test_a_slow_body_ends_with_408(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(b"POST /similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        answer = slow.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    assert server.call("/similar", {"text": STORM}).status == 200


def test_a_body_without_a_length_is_limited_too(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as endless:
        endless.sendall(b"POST /similar HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"40000\r\n" + b" " * 0x40000 + b"\r\n"
        for _ in range(5):
            endless.sendall(chunk)
        assert endless.recv(10_000).startswith(b"HTTP/1.1 413 ")


def test_more_requests_than_allowed_get_503_and_nothing_is_lost(server: Server) -> None:
    texts = {f"load-{n}": f"{STORM[n % 60 :]}{n}" * 3 for n in range(60)}
    open_ones = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(4)]
    for each in open_ones:  # each of them takes a place until its body has come
        each.sendall(b"POST /similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    time.sleep(0.5)
    refused = server.call("/similar", {"text": STORM})
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert "no more are taken" in refused.detail
    for each in open_ones:
        each.close()
    time.sleep(0.5)

    def add(id: str) -> tuple[str, int]:
        return id, server.call("/add", {"document": {"id": id, "text": texts[id]}}).status

    with ThreadPoolExecutor(16) as pool:
        statuses = dict(pool.map(add, texts))
    assert set(statuses.values()) <= {200, 503}
    stored = {id for id, status in statuses.items() if status == 200}
    again = {id: server.call("/add", {"document": {"id": id, "text": texts[id]}}).json["outcome"] for id in stored}
    assert set(again.values()) == {"unchanged"}


def test_a_token_is_needed_for_everything_but_the_state(serve: Start, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    for server in (serve("--token-file", "token"), serve(ES_SIMHASH_TOKEN=TOKEN)):
        for wrong in (None, "", TOKEN + "x", TOKEN.upper(), TOKEN[:-1] + "é"):
            reply = server.call("/similar", {"text": STORM}, wrong)
            assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert server.call("/metrics", token=wrong).status == 401
        assert server.call("/similar", {"text": STORM}, TOKEN).status == 200
        assert server.call("/metrics", token=TOKEN).status == 200
        assert {server.call(path).status for path in ("/healthz", "/readyz", "/openapi.json")} == {200}
        assert TOKEN not in server.log


def test_other_machines_need_a_token_and_a_token_is_long(tmp_path: Path) -> None:
    assert "can be reached from other machines: name a token" in complaint(
        es_simhash("serve", "--host", "0.0.0.0", "--store", "sqlite:///n.db", cwd=tmp_path)
    )
    (tmp_path / "token").write_text("short")
    assert "use 16 or more letters and digits" in complaint(es_simhash("serve", "--token-file", "token", cwd=tmp_path))
    assert "cannot read the token" in complaint(es_simhash("serve", "--token-file", "none", cwd=tmp_path))
    assert list(tmp_path.iterdir()) == [tmp_path / "token"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_requests_that_it_has(serve: Start, tmp_path: Path, number: int) -> None:
    server = serve()
    replies = []

    def add() -> None:
        documents = [{"id": n, "text": f"{STORM}{n}" * 4} for n in range(400)]
        replies.append(server.call("/add", {"documents": documents, "rule": "fingerprint"}))

    thread = threading.Thread(target=add)
    thread.start()
    end = time.monotonic() + 20
    while not server.metric("es_simhash_requests_in_progress") and time.monotonic() < end:
        time.sleep(0.01)
    server.process.send_signal(number)
    code = server.process.wait(60)
    thread.join()
    assert code == 0, server.log
    assert replies[0].status == 200
    assert "Traceback" not in server.log
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert len(list(documents.export())) == 400


def test_copies_that_reach_one_worker_at_once_are_new_once(serve: Start) -> None:
    server = serve()
    with ThreadPoolExecutor(10) as pool:
        adds = pool.map(lambda n: server.call("/add", {"document": {"id": f"n{n}", "text": STORM}}), range(10))
    assert sorted(each.json["outcome"] for each in adds).count("new") == 1


def test_of_copies_that_reach_two_workers_at_once_each_has_one_new_at_most_and_group_links_them(
    serve: Start, tmp_path: Path
) -> None:
    server = serve("--workers", "2")
    with ThreadPoolExecutor(20) as pool:
        adds = list(pool.map(lambda n: server.call("/add", {"document": {"id": n, "text": STORM}}), range(20)))
    assert {each.status for each in adds} == {200}
    assert 1 <= [each.json["outcome"] for each in adds].count("new") <= 2
    time.sleep(1.5)
    counted = sum(
        server.metric(f'es_simhash_documents_total{{outcome="{name}"}}') for name in ("new", "exact_duplicate")
    )
    assert counted == 20  # by both workers
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        documents.group()
        assert len({row.group for row in documents.export()}) == 1
    assert server.stop() == 0


def test_the_page_shows_what_curl_prints_and_java_and_go_get_the_same(serve: Start, tmp_path: Path) -> None:
    server = serve(ES_SIMHASH_TOKEN=TOKEN)
    text = PAGE.read_text(encoding="utf-8").replace("localhost:8000", f"127.0.0.1:{server.port}")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))
    shell = blocks["sh"].replace("curl ", f"curl -H 'Authorization: Bearer {TOKEN}' -w '\\n' ")
    shown = [json.loads(each) for each in blocks["json"].splitlines()]
    assert [json.loads(each) for each in run(["sh", "-ec", shell], tmp_path).splitlines()] == shown
    (tmp_path / "Similar.java").write_text(blocks["java"], encoding="utf-8")
    (tmp_path / "main.go").write_text(blocks["go"], encoding="utf-8")
    commands = [["java", "-Dfile.encoding=UTF-8", "Similar.java"], ["go", "run", "main.go"]]
    for command in commands:
        if shutil.which(command[0]) is None:
            pytest.fail(f"{command[0]} is not installed")
        status, _, answer = run(command, tmp_path).partition(" ")
        assert (status, json.loads(answer)) == ("200", shown[1]), command


def test_the_filter_of_logstash_sends_what_serve_takes(serve: Start) -> None:
    """Logstash is not run: its request is made by the settings of the file."""
    text = LOGSTASH.read_text(encoding="utf-8")
    settings = dict(re.findall(r'^ +(url|verb|body_format|target_body) => "(.*)"$', text, re.MULTILINE))
    assert (settings["verb"], settings["body_format"]) == ("POST", "json")
    path = settings["url"].removeprefix("http://localhost:8000")
    fields = dict(re.findall(r'"(\w+)" => "\[(\w+)\]"', text))
    document = {"id": "a", "text": STORM, "more": 1}
    body = {"document": {name: document[field] for name, field in fields.items()}, "on_duplicate": "skip"}
    assert '"on_duplicate" => "skip"' in text
    server = serve()
    assert server.call(path, body).json["duplicate_of"] is None
    body["document"]["id"] = "b"
    answer = server.call(path, body).json
    assert (answer["outcome"], answer["duplicate_of"]) == ("exact_duplicate", "a")
    assert f"if [{settings['target_body']}][duplicate_of]" in text


def run(command: list[str], folder: Path) -> str:
    env = environment(ES_SIMHASH_TOKEN=TOKEN, GOFLAGS="-mod=mod", LC_ALL="C.UTF-8")
    done = subprocess.run(command, capture_output=True, cwd=folder, env=env, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.elasticsearch
def test_the_same_on_elasticsearch(serve: Start, elasticsearch_url: str, index_name: str) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    server = serve("--store", address)
    assert server.call("/readyz").status == 503
    assert "es-simhash init" in server.call("/add", {"document": {"id": 1, "text": STORM}}).detail
    with Documents(address) as documents:
        documents.setup()
    assert server.call("/readyz").status == 200
    with ThreadPoolExecutor(10) as pool:
        adds = pool.map(lambda n: server.call("/add", {"document": {"id": f"n{n}", "text": STORM}}), range(10))
    assert sorted(each.json["outcome"] for each in adds).count("new") == 1
    near = {"document": {"id": "near", "text": STORM_NEAR}, "refresh": "wait_for"}
    reply = server.call("/add", near)
    assert reply.json["outcome"] == "near_duplicate", reply.json
    assert len(server.call("/similar", {"text": STORM_NEAR}).json["matches"]) == 11


@pytest.mark.elasticsearch
def test_overload_on_elasticsearch_is_503_and_what_was_answered_is_stored(
    serve: Start, elasticsearch_url: str, index_name: str
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents:
        documents.setup()
        server = serve("--store", address, "--at-once", "2")

        def add(number: int) -> int:
            body = {"document": {"id": number, "text": f"{number} {HARVEST[number % 40 :]}"}}
            return server.call("/add", body).status

        with ThreadPoolExecutor(32) as pool:
            statuses = list(pool.map(add, range(64)))
        assert set(statuses) == {200, 503}
        answered = {str(number) for number, status in enumerate(statuses) if status == 200}
        assert {row.id for row in documents.export()} == answered


def test_a_store_that_is_away_is_503_and_the_server_stays_alive(serve: Start) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = serve("--store", f"http://127.0.0.1:{unused.getsockname()[1]}/news", "--seconds", "2")
        assert (server.call("/healthz").status, server.call("/readyz").status) == (200, 503)
        reply = server.call("/similar", {"text": STORM})
        assert (reply.status, reply.headers["Retry-After"]) == (503, "1")
