"""``es-simhash backfill``, the real command: interruptions, several processes at the same time, its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from tests.cli import complaint, es_simhash
from tests.client.test_backfill import NO_TEXT, Index, corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

TEXT = "--text-field=title,content.body"


@pytest.fixture
def index(elasticsearch_url: str, make_index: Callable[[], str]) -> Iterator[Index]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield Index(client, elasticsearch_url, make_index())


def backfill(index: Index, folder: Path, *arguments: str) -> Any:
    return es_simhash("backfill", "--rule", "fingerprint", "--store", index.address, TEXT, *arguments, cwd=folder)


def fingerprinted(index: Index) -> int:
    index.client.indices.refresh(index=index.name)
    query = {"exists": {"field": "simhash.digest"}}
    return int(index.client.count(index=index.name, query=query)["count"])


def test_each_document_is_a_line_and_the_exit_code_says_whether_some_were_rejected(
    index: Index, tmp_path: Path
) -> None:
    index.fill(corpus(20))
    done = backfill(
        index,
        tmp_path,
        "--json",
        "--filter",
        '{"exists": {"field": "views"}}',
        "--rule",
        "fingerprint",
        "--max-distance",
        "0",
    )
    assert done.code == 3
    *outcomes, counts = done.json
    assert len(outcomes) == 21
    assert (counts["total"], counts["rejected"]) == (21, 1)
    (rejected,) = [outcome for outcome in outcomes if outcome["outcome"] == "rejected"]
    assert "no text in field 'title', 'content.body'" in rejected["reason"]
    assert backfill(index, tmp_path, "--filter", '{"term": {"lang": "en"}}').code == 0
    done = backfill(index, tmp_path)
    assert done.code == 3
    assert {id for id in (*NO_TEXT, "blank") if f"document {id!r}" in done.err} == NO_TEXT
    assert backfill(index, tmp_path).code == 1  # only documents that are rejected are left


def test_an_error_says_what_to_do(index: Index, tmp_path: Path) -> None:
    said = complaint(backfill(index, tmp_path))
    assert "does not exist" in said
    assert not index.client.indices.exists(index=index.name)
    index.fill(corpus(5))
    assert es_simhash("init", "--store", index.address, "--weights", "tf", cwd=tmp_path).code == 0
    assert "holds fingerprints of Scheme" in complaint(backfill(index, tmp_path, "--weights", "sqrt_tf"))
    assert fingerprinted(index) == 0


@pytest.mark.parametrize("wrong", ["0/3", "4/3", "a/b"])
def test_a_wrong_slice_is_a_usage_error(index: Index, tmp_path: Path, wrong: str) -> None:
    done = backfill(index, tmp_path, f"--slice={wrong}")
    assert (done.code, done.out) == (2, "")
    assert "use I/N" in done.err
