"""``es-simhash backfill``, the real command: interruptions, several processes at the same time, its output."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from tests.cli import COMMAND, complaint, environment, es_simhash
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


def started(index: Index, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "backfill", "--rule", "fingerprint", "--store", index.address, TEXT, "--json", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def fingerprinted(index: Index) -> int:
    index.client.indices.refresh(index=index.name)
    query = {"exists": {"field": "simhash.digest"}}
    return int(index.client.count(index=index.name, query=query)["count"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_an_interrupted_backfill_completes_when_repeated_and_writes_nothing_twice(
    index: Index, tmp_path: Path, number: signal.Signals
) -> None:
    documents = corpus(2_000)
    index.fill(documents)
    process = started(index, tmp_path, "--batch-size", "50")
    deadline = time.monotonic() + 60
    while not fingerprinted(index):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert b"interrupted; run the same command again to continue" in err
        assert b"Traceback" not in err
    assert 0 < fingerprinted(index) < 2_000
    done = backfill(index, tmp_path, "--json")
    assert done.code == 3
    assert fingerprinted(index) == 2_001
    # Once created, once given its fingerprint.
    assert {hit["_version"] for hit in _versions(index)} == {2}


def _versions(index: Index) -> list[dict[str, Any]]:
    found = index.client.search(
        index=index.name, size=10_000, version=True, query={"exists": {"field": "simhash.digest"}}, source=False
    )
    return list(found["hits"]["hits"])


@pytest.mark.slow
def test_three_processes_and_then_group_give_the_same_groups_as_one_process(
    index: Index, tmp_path: Path, make_index: Callable[[], str]
) -> None:
    documents = corpus(600)
    index.fill(documents, shards=3)
    alone = Index(index.client, index.address.rpartition("/")[0], make_index()).fill(documents)
    alone.backfill(rule="fingerprint")
    processes = [started(index, tmp_path, "--slice", f"{part}/3") for part in (1, 2, 3)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 3), err
        assert 0 < out.count(b"\n") < 600
    assert fingerprinted(index) == 601
    assert {hit["_version"] for hit in _versions(index)} <= {2, 3}
    for each in (index, alone):
        with Documents(each.address) as stored:
            stored.group(rule="fingerprint")
    found, wanted = index.links(), alone.links()
    assert found.keys() == wanted.keys()
    assert _parts(found) == _parts(wanted)
    assert (
        "\nupdated the group or the original of 0 documents\n"
        in es_simhash("group", "--rule", "fingerprint", "--store", index.address, cwd=tmp_path).out
    )


def _parts(links: dict[str, tuple[str, str | None]]) -> set[frozenset[str]]:
    """Which documents are together, whatever the head: who was written first differs."""
    groups: dict[str, set[str]] = {}
    for id, (group, _) in links.items():
        groups.setdefault(group, set()).add(id)
    assert all(group in members for group, members in groups.items())
    return set(map(frozenset, groups.values()))


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
