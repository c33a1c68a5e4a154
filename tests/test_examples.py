"""The programs in examples/ run as they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_simhash import Documents
from tests import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
NEWS = [json.loads(line) for line in (ROOT / "scripts" / "demo_news.jsonl").read_text(encoding="utf-8").splitlines()]


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, encoding="utf-8", timeout=60
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_the_rule_is_chosen_from_stored_documents(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/pages.db"
    with Documents(store) as documents:
        documents.add_many({"id": f"https://example.org/{each['id']}", "text": each["text"]} for each in NEWS)
    *rules, chosen = run("choose_a_rule.py", store).splitlines()
    assert [rule.partition(":")[0] for rule in rules] == ["copy", "contained", "fingerprint", "exact"]
    assert " pairs: " in chosen


def test_an_idf_table_is_made_from_documents() -> None:
    rows = [row.split() for row in run("idf.py", str(EXAMPLES / "news.jsonl")).splitlines()]
    assert rows == sorted(rows)
    assert all(float(idf) >= 1 for _, idf in rows)


def test_an_article_is_one_in_the_frames_of_two_sites(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura", reason="pip install --group examples")
    one, other = (f"<p>{NEWS[0]['text']}</p><p>{NEWS[1]['text']}</p>", f"<p>{NEWS[6]['text']}</p>")
    for name, menu, text in (
        ("a", "首页 时政 财经", one),
        ("b", "关于我们 联系方式", one),
        ("c", "首页 时政 财经", other),
    ):
        frame = f"<nav>{menu * 20}</nav><article>{text}</article><footer>{menu}</footer>"
        (tmp_path / name).write_text(f"<html><body>{frame}</body></html>", encoding="utf-8")
    (tmp_path / "d").write_text("<html><body></body></html>")
    files = [str(tmp_path / name) for name in "abcd"]
    lines = run("pages.py", f"sqlite:///{tmp_path}/articles.db", *files).splitlines()
    assert sorted(line.split() for line in lines) == sorted(
        [
            [files[0], "new"],
            [files[1], "exact", "duplicate", files[0]],
            [files[2], "new"],
            [files[3], "has", "no", "article"],
        ]
    )


class Site(BaseHTTPRequestHandler):
    """Pages of news, and a page without a text, with links from the first one."""

    pages: ClassVar = {"/": "", **{f"/{each['id']}": each["text"] for each in NEWS}}

    def do_GET(self) -> None:
        links = "".join(f"<a href='{path}'></a>" for path in self.pages) if self.path == "/" else ""
        body = f"<html><p>{self.pages.get(self.path, '')}</p>{links}</html>".encode()
        self.send_response(200 if self.path in self.pages else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def test_the_crawler_of_scrapy_keeps_each_page_once_also_when_it_crawls_again(tmp_path: Path) -> None:
    pytest.importorskip("scrapy", reason="pip install --group examples")
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        command = [sys.executable, str(EXAMPLES / "crawler.py"), f"http://127.0.0.1:{site.server_port}/"]
        kept = []
        for output in ("first.jsonl", "again.jsonl"):
            done = subprocess.run(
                [*command, "--output", output], capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=120
            )
            assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
            kept.append({json.loads(line)["url"] for line in (tmp_path / output).read_text().splitlines()})
        site.shutdown()
    assert "is a copy of http://127.0.0.1" in done.stderr
    with Documents(f"sqlite:///{tmp_path}/pages.db") as documents:
        rows = list(documents.export())
    assert len(rows) == len(NEWS) + 1
    originals = {row.id for row in rows if row.duplicate_of is None}
    assert 25 < len(originals) < len(NEWS)
    assert kept == [originals, originals]


def test_the_recommender_shows_no_group_twice(tmp_path: Path) -> None:
    shown = [run("recommender_page.py", "--store", f"sqlite:///{tmp_path}/users.db").split() for _ in range(4)]
    assert [len(page) for page in shown] == [4, 4, 2, 0]
    assert len({int(item.removeprefix("news-")) // 3 for page in shown for item in page}) == 10


def test_chunks_that_are_copies_are_not_embedded() -> None:
    pytest.importorskip("langchain_core", reason="pip install --group examples")
    assert run("chunks.py", str(EXAMPLES / "news.jsonl")) == (
        "2 of 4 chunks are embedded\nfirst: {'id': 'a', 'chunk': 0}\n"
    )


def test_a_stream_is_committed_after_its_outcomes_and_nothing_is_stored_twice(tmp_path: Path) -> None:
    kafka = pytest.importorskip("kafka", reason="install kafka-python")
    if not (servers := os.environ.get("KAFKA_TEST_URL")):
        pytest.skip("KAFKA_TEST_URL names no broker, such as localhost:9092 (tests/README.md)")
    topic = f"news-{uuid.uuid4().hex}"
    producer = kafka.KafkaProducer(bootstrap_servers=servers)
    messages = [json.dumps(each).encode() for each in NEWS]
    for message in (*messages[:10], b"no JSON", *messages[10:]):
        producer.send(topic, message, partition=0)
    producer.flush()
    store = f"sqlite:///{tmp_path}/news.db"
    command = [sys.executable, str(EXAMPLES / "stream.py"), servers, topic, "--store", store]
    # The first one is killed after its first outcomes: it commits after them.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
        assert first.stdout is not None
        assert first.stdout.readline().decode().split() == [str(NEWS[0]["id"]), "new"]
        first.kill()
    ends = [*command, "--idle", "25"]  # the broker waits 10 s for the killed one
    again = subprocess.run(ends, capture_output=True, encoding="utf-8", timeout=120)
    assert again.returncode == 0, again.stderr
    assert f"{topic}:0:10: not JSON" in again.stderr
    producer.send(topic, messages[0], partition=0)
    producer.send(topic, json.dumps({"id": "late", "text": NEWS[0]["text"]}).encode(), partition=0)
    producer.close()
    last = subprocess.run(ends, capture_output=True, encoding="utf-8", timeout=120)
    assert last.stdout.split() == ["late", "exact_duplicate", str(NEWS[0]["id"])]
    assert f"{topic}:0:10" not in last.stderr
    with Documents(store) as documents:
        assert sum(1 for _ in documents.export()) == len(NEWS) + 1


@pytest.mark.elasticsearch
def test_an_index_that_exists_gets_groups(elasticsearch_url: str, index_name: str) -> None:
    with Elasticsearch(elasticsearch_url) as client:
        actions = ({"_index": index_name, "_id": str(each["id"]), "_source": {"body": each["text"]}} for each in NEWS)
        bulk(client, actions, refresh=True)
    printed = run("existing_index.py", f"{elasticsearch_url}/{index_name}", "--text-field", "body")
    assert printed == "43 documents, 9 groups with 22 members, 0 left out\n"
