"""The programs in examples/ run as they stand."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import UserDict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NEWS = [json.loads(line) for line in (ROOT / "scripts" / "demo_news.jsonl").read_text(encoding="utf-8").splitlines()]


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, encoding="utf-8", timeout=60
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_the_crawler_stores_pages_and_the_rule_is_chosen_from_them(tmp_path: Path) -> None:
    pages, store = tmp_path / "pages.jsonl", f"sqlite:///{tmp_path}/pages.db"
    lines = [json.dumps({"url": f"https://example.org/{each['id']}", "text": each["text"]}) for each in NEWS]
    pages.write_text("\n".join(lines), encoding="utf-8")
    printed = run("crawler.py", str(pages), "--store", store)
    assert printed.endswith("{'new': 31, 'near_duplicate': 8, 'exact_duplicate': 4}\n")
    assert run("choose_a_rule.py", store).startswith(
        "14 pairs: max_distance=5, confirm=0.8: precision 0.92, recall 0.85"
    )


def test_the_crawler_s_pipeline_takes_items_as_scrapy_calls_it(tmp_path: Path) -> None:
    pipeline = load("crawler").DuplicatesPipeline(f"sqlite:///{tmp_path}/pages.db")
    pipeline.open_spider()
    item = UserDict(url="https://example.org/1", text=NEWS[0]["text"])  # as a scrapy.Item, a mapping that is no dict
    assert pipeline.process_item(item)["outcome"] == "new"
    pipeline.close_spider()


def test_the_recommender_shows_no_group_twice(tmp_path: Path) -> None:
    shown = [run("recommender_page.py", "--store", f"sqlite:///{tmp_path}/users.db").split() for _ in range(4)]
    assert [len(page) for page in shown] == [4, 4, 2, 0]
    assert len({int(item.removeprefix("news-")) // 3 for page in shown for item in page}) == 10


@pytest.mark.elasticsearch
def test_an_index_that_exists_gets_groups(elasticsearch_url: str, index_name: str) -> None:
    with Elasticsearch(elasticsearch_url) as client:
        actions = ({"_index": index_name, "_id": str(each["id"]), "_source": {"body": each["text"]}} for each in NEWS)
        bulk(client, actions, refresh=True)
    printed = run("existing_index.py", f"{elasticsearch_url}/{index_name}", "--text-field", "body")
    assert printed == "43 documents, 9 groups with 21 members, 0 left out\n"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
