"""``es-simhash serve``: each request is the method of Python, and nothing that a client sends ends in a traceback."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jsonschema
import pytest

from es_simhash import Documents
from es_simhash.decide.outcome import OutcomeName
from es_simhash.tools.serve.command import GRACE
from tests import ROOT
from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, environment, es_simhash

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tools.serve.conftest import Local, Server

    Start = Callable[..., Server]
    Make = Callable[..., Local]

PAGE = Path(__file__).parents[3] / "docs" / "service.md"
TOKEN = "a-token-of-the-tests"
TENANT = {"term": {"tenant": "acme"}}

REQUESTS: list[tuple[str, Any, int]] = [
    ("/add", {"document": {"id": 1, "text": STORM}, "refresh": True}, 200),
    ("/add_many", {"documents": [{"id": 2, "text": STORM_NEAR}, {"id": 3}], "on_duplicate": "index"}, 207),
    ("/add_many", {"documents": [{"id": 4, "text": "暴雨"}]}, 200),
    ("/similar", {"text": STORM, "rule": "copy", "min_similarity": 0.9}, 200),
    ("/similar_many", {"texts": [STORM, HARVEST]}, 200),
    ("/similar", {"id": "2"}, 200),
    ("/near_query", {"text": STORM}, 200),
    ("/group_search", {"query": {"match_all": {}}, "sort": [{"date": "desc"}], "size": 5}, 422),
    ("/remove", {"ids": ["4", "none"]}, 200),
    ("/seen/add", {"user": "ann", "items": ["a", "1"]}, 200),
    ("/seen/unseen", {"user": "ann", "items": ["a", "b"]}, 200),
    ("/seen/forget", {"user": "ann", "items": ["a"]}, 200),
]


def test_requests_and_answers_are_those_that_the_description_has(local: Make) -> None:
    server = local(token=TOKEN)
    description = server.call("/openapi.json").json
    assert {path for path, each in description["paths"].items() if "post" in each} == {path for path, _, _ in REQUESTS}
    for path, body, status in REQUESTS:
        operation = description["paths"][path]["post"]
        reply = server.call(path, body, TOKEN)
        assert reply.status == status, (path, reply)
        answer = operation["responses"].get(str(status), operation["responses"]["4XX"])
        for value, described in ((body, operation["requestBody"]), (reply.json, answer)):
            [schema] = (each["schema"] for each in described["content"].values())
            jsonschema.validate(value, {**schema, "components": description["components"]})
        assert operation["security"]
    group = description["paths"]["/groups/{id}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    reply = server.call("/groups/1", token=TOKEN)
    jsonschema.validate(reply.json, {**group, "components": description["components"]})
    assert reply.json == {"group": "1", "size": 2, "members": ["1", "2"]}
    for path, body, token in (("/similar", {"text": 1}, TOKEN), ("/seen/add", b"{", TOKEN), ("/add", {}, "wrong")):
        described = description["paths"][path]["post"]["responses"]["4XX"]["content"]
        reply = server.call(path, body, token)
        jsonschema.validate(reply.json, described[reply.headers["content-type"]]["schema"])


def test_answers_are_those_of_the_methods_of_python(local: Make, tmp_path: Path) -> None:
    server = local()
    outcomes = [server.call(path, body).json for path, body, _ in REQUESTS[:2]]
    assert outcomes[0]["outcome"] == "new"
    assert [each["outcome"] for each in outcomes[1]["outcomes"]] == ["near_duplicate", "rejected"]
    answers = server.call("/similar_many", {"texts": [STORM, HARVEST]}).json["answers"]
    assert [[match["id"] for match in answer["matches"]] for answer in answers] == [["1", "2"], []]
    assert server.found(id=2) == ["1"]
    assert server.found(text=STORM, rule="fingerprint") == ["1", "2"]
    assert server.found(text=STORM_NEAR, rule="exact") == ["2"]
    assert server.found(text=STORM_NEAR, min_similarity=1.0) == ["2"]
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        assert [match.id for match in documents.similar(STORM)] == ["1", "2"]
    assert server.call("/remove", {"ids": [1, "none"]}).json == {"removed": ["1"]}
    assert server.call("/seen/add", {"user": 7, "items": [1, 2]}).json == {"added": 2}
    assert server.call("/seen/unseen", {"user": 7, "items": [2, 3]}).json == {"unseen": [3]}
    metrics = server.call("/metrics").json
    assert 'es_simhash_documents_total{outcome="new"} 1.0' in metrics
    assert 'es_simhash_request_seconds_count{operation="remove_documents",status="200"} 1.0' in metrics
    assert (server.call("/healthz").status, server.call("/readyz").status) == (200, 200)
    assert server.gate.count == 0


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/similar", b"{", 400, "no JSON"),
        ("/similar", b"\xff", 400, "no JSON, or is nested"),
        ("/similar", b"[" * 100_000, 400, "no JSON, or is nested"),
        ("/similar", b'{"text": %s}' % (b"1" * 5_000), 400, "no JSON, or is nested"),
        ("/similar", b'{"text": ', 400, "no JSON .*: correct it"),
        ("/similar", b"", 422, "see /openapi.json|send one"),
        ("/similar", b'{"text": "a", "min_similarity": 1e999}', 422, "min_similarity is inf"),
        ("/similar", b"[]", 422, "no JSON object: .* Content-Type"),
        ("/similar", {}, 422, "send exactly one of text, id"),
        ("/similar", {"text": "a", "id": 1}, 422, "send exactly one of text, id"),
        ("/similar", {"text": "a", "time": 1}, 422, "a time counts only with within"),
        ("/similar", {"text": 1}, 422, "text: .* string"),
        ("/similar_many", {"texts": ["a", None]}, 422, r"texts\.1"),
        ("/similar_many", {"texts": ["a"] * 1_001}, 422, "texts: .* at most 1000"),
        ("/similar", {"text": "\ud800"}, 422, "text"),
        ("/similar", {"text": "a", "k": 1}, 422, "k: Extra inputs"),
        ("/similar", {"text": "a", "rule": "near"}, 422, "rule: .*'copy'"),
        ("/similar", {"text": "a", "min_similarity": 7}, 422, "min_similarity"),
        ("/similar", {"id": "none"}, 422, "none"),
        ("/similar", {"id": True}, 422, "id"),
        ("/add", {"document": {"id": 1}}, 422, "no text in field 'text'"),
        ("/add", {"document": {"id": 1, "text": "a"}, "refresh": "soon"}, 422, "refresh"),
        ("/seen/add", {"user": "", "items": []}, 422, "user"),
        ("/nothing", {}, 404, "there is no /nothing"),
        ("/add", None, 405, "use POST"),
    ],
)
def test_a_wrong_request_gets_a_problem_that_says_what_to_do(
    local: Make, path: str, body: Any, status: int, detail: str
) -> None:
    reply = local().call(path, body)
    assert reply.status == status, reply
    assert re.search(detail, reply.detail), reply.detail


LOOK_UPS = [
    {"terms": {"salary": {"index": "hr", "id": "boss", "path": "salary"}}},
    {"bool": {"must": [{"terms": {"salary": {"index": "hr", "id": "boss", "path": "salary"}}}]}},
    {"script": {"script": "true"}},
    {"regexp": {"name": ".*"}},
    {"query_string": {"query": "salary:7777"}},
    {"range": {"at": {"gte": "now-1d"}}},
    {"fuzzy": {}},
]


@pytest.mark.parametrize("filter", LOOK_UPS)
@pytest.mark.parametrize("path", ["/similar", "/add"])
def test_a_filter_that_reads_other_documents_is_refused(local: Make, path: str, filter: Any) -> None:
    what = {"text": STORM} if path == "/similar" else {"document": {"id": 1, "text": STORM}}
    assert "filter" in local().call(path, {**what, "filter": filter}).detail


def test_the_filter_of_the_operator_always_holds(local: Make) -> None:
    for tenant in ("acme", "other"):
        added = local().call("/add", {"document": {"id": tenant, "text": STORM, "tenant": tenant, "lang": "zh"}})
        assert added.status == 200
    server = local(filter=TENANT)
    assert server.found(text=STORM) == ["acme"]
    assert server.found(text=STORM, filter={"term": {"lang": "zh"}}) == ["acme"]
    assert server.found(text=STORM, filter={"bool": {"should": [{"match_all": {}}]}}) == ["acme"]
    assert server.found(text=STORM, filter={"term": {"tenant": "other"}}) == []
    for path, body in (
        ("/add", {"document": {"id": "other", "text": "a", "tenant": "acme"}}),
        ("/add", {"document": {"id": "new", "text": "a", "tenant": "other"}}),
        ("/add_many", {"documents": [{"id": "new", "text": "a"}]}),
        ("/add", {"document": {"_id": "other", "text": "a", "tenant": "acme"}}),
        ("/add", {"document": {"_id": "new", "text": "a", "tenant": "other"}}),
    ):
        assert "outside of the filter of this server" in server.call(path, body).detail, path
    assert list(local().call("/similar", {"text": "a"}).json["matches"]) == []
    copy = server.call("/add", {"document": {"id": "copy", "text": STORM_NEAR, "tenant": "acme"}}).json
    assert copy["duplicate_of"] == "acme"
    for id in ("other", "none"):
        assert "there is no document with id" in server.call("/similar", {"id": id}).detail
    assert server.call("/remove", {"ids": ["acme", "other", "none"]}).json == {"removed": ["acme"]}
    assert local().found(text=STORM) == ["other", "copy"]


def test_metrics_count_documents_that_contradict_and_none_of_another_tenant(local: Make, tmp_path: Path) -> None:
    text = f"{STORM}全市共转移居民120人。"
    with Documents(f"sqlite:///{tmp_path}/news.db") as documents:
        documents.add({"id": "theirs", "tenant": "other", "text": text})
    server = local(TENANT)
    for id, number, count in (("a", "350", 0), ("b", "490", 1)):
        document = {"id": id, "tenant": "acme", "text": text.replace("120", number)}
        assert server.call("/add", {"document": document}).json["outcome"] == "new"
        assert f"es_simhash_contradicting_total {count}.0" in server.call("/metrics").json


def test_the_alarms_of_the_page_name_metrics_and_outcomes_that_exist(local: Make) -> None:
    server = local()
    server.call("/add", {"document": {"id": 1, "text": STORM}})
    [rules] = re.findall("```yaml\n(groups:.*?)```", (ROOT / "docs" / "operation.md").read_text(), re.DOTALL)
    metrics = set(re.findall(r"\bes_simhash_\w+", rules))
    assert set() < metrics <= set(re.findall(r"^\w+", server.call("/metrics").json, re.MULTILINE))
    outcomes = {name for names in re.findall(r'outcome=~"(.*?)"', rules) for name in names.split("|")}
    assert set() < outcomes <= {*get_args(OutcomeName)}


def test_the_operator_switches_filters_of_clients_off(local: Make) -> None:
    server = local(clients=False)
    assert "takes no filter" in server.call("/similar", {"text": STORM, "filter": TENANT}).detail
    assert server.found(text=STORM) == []


def test_without_a_store_of_seen_items_a_request_says_which_option_is_missing(local: Make) -> None:
    assert "--seen-store" in local(seen=False).call("/seen/unseen", {"user": 1, "items": [1]}).detail


@pytest.mark.slow
def test_other_machines_need_a_token_and_a_token_is_long(tmp_path: Path) -> None:
    def refusal(*arguments: str, **env: str) -> str:
        return complaint(es_simhash("serve", "--store", "sqlite:///n.db", *arguments, cwd=tmp_path, env=env))

    assert "can be reached from other machines: put a token" in refusal("--host", "0.0.0.0")
    assert "use 16 or more letters and digits" in refusal(ES_SIMHASH_TOKEN="short")
    assert "0.0 is not in the range 0<x<=86400" in es_simhash("serve --deadline 0", cwd=tmp_path).err
    assert "filter type 'regexp'" in refusal("--filter", '{"regexp": {"name": ".*"}}')


@pytest.mark.posix
@pytest.mark.slow
def test_copies_that_come_at_once_are_new_once_and_a_signal_ends_the_server(serve: Start, tmp_path: Path) -> None:
    server = serve("--seen-store", "sqlite:///seen.db")
    with ThreadPoolExecutor(10) as pool:
        adds = pool.map(lambda n: server.call("/add", {"document": {"id": f"n{n}", "text": STORM}}), range(10))
    assert sorted(each.json["outcome"] for each in adds).count("new") == 1
    other = sqlite3.connect(tmp_path / "news.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # until it ends, the server can't write
    replies = []

    def add() -> None:
        documents = [{"id": n, "text": f"{STORM}{n}" * 4} for n in range(100)]
        replies.append(server.call("/add_many", {"documents": documents}))

    thread = threading.Thread(target=add)
    thread.start()
    server.wait_for_work(1)
    threading.Timer(0.5, other.rollback).start()
    assert server.stop(signal.SIGINT) == 0, server.log
    thread.join()
    other.close()
    assert replies[0].status == 200, (replies, server.log)
    with Documents(f"sqlite:///{tmp_path / 'news.db'}") as documents:
        assert len(list(documents.export())) == 110


@pytest.mark.posix
@pytest.mark.slow
def test_the_end_of_the_server_waits_for_no_work_longer_than_its_grace(serve: Start, tmp_path: Path) -> None:
    server = serve("--deadline", "60")
    replies = []

    def add() -> None:
        replies.append(server.call("/add", {"document": {"id": 1, "text": STORM}}))

    thread = threading.Thread(target=add)
    with closing(sqlite3.connect(tmp_path / "news.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # until it ends, the server can't write
        thread.start()
        server.wait_for_work(1)
        began = time.monotonic()
        assert server.stop() == 0, server.log
        assert GRACE <= time.monotonic() - began < GRACE + 15
    thread.join()
    assert (replies[0].status, "the server ends" in replies[0].detail) == (503, True)


@pytest.mark.posix
@pytest.mark.slow
def test_the_page_shows_what_curl_prints(serve: Start, tmp_path: Path) -> None:
    server = serve(ES_SIMHASH_TOKEN=TOKEN)
    text = PAGE.read_text(encoding="utf-8").replace("localhost:8000", f"127.0.0.1:{server.port}")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))
    shell = blocks["sh"].replace("curl ", f"curl -H 'Authorization: Bearer {TOKEN}' -w '\\n' ")
    shown = [json.loads(each) for each in blocks["json"].splitlines()]
    assert [json.loads(each) for each in run(["sh", "-ec", shell], tmp_path).splitlines()] == shown


@pytest.mark.slow
@pytest.mark.elasticsearch
@pytest.mark.skipif(shutil.which("java") is None, reason="needs a JDK")
def test_the_program_in_java_reads_each_page_of_groups(
    serve: Start, elasticsearch_url: str, index_name: str, tmp_path: Path
) -> None:
    with Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup()
        texts = [f"第{n}号暴雨预警，{chr(0x4E00 + 37 * n) * 20}地区请注意防范。" for n in range(23)]
        news = [{"id": f"{id}{n}", "text": text} for id in "ab" for n, text in enumerate(texts)]
        outcomes = {str(one.id): one.duplicate_of for one in documents.ingest(news)}
    assert outcomes == {f"{id}{n}": None if id == "a" else f"a{n}" for id in "ab" for n in range(23)}
    server = serve("--store", f"{elasticsearch_url}/{index_name}", ES_SIMHASH_TOKEN=TOKEN)
    [program] = re.findall(r"```java\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    program = program.replace("localhost:8000", f"127.0.0.1:{server.port}")
    (tmp_path / "Groups.java").write_text(program, encoding="utf-8")
    answers = run(["java", "-Dfile.encoding=UTF-8", "Groups.java"], tmp_path).splitlines()
    pages = [json.loads(answer) for answer in answers]
    assert [len(page["hits"]) for page in pages] == [10, 10, 3, 0]
    assert {page["total"] for page in pages} == {23}
    shown = [hit["id"] for page in pages for hit in page["hits"]]
    others = [other for page in pages for hit in page["hits"] for other in hit["others"]]
    assert sorted(shown + others) == sorted(outcomes)
    assert server.log.count("\n") == 1, "nothing is said about clients that ask for HTTP/2"


def run(command: list[str], folder: Path) -> str:
    env = environment(ES_SIMHASH_TOKEN=TOKEN, LC_ALL="C.UTF-8")
    done = subprocess.run(command, capture_output=True, cwd=folder, env=env, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
