"""A store that Spark has loaded is as ``ingest`` makes it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, InputError
from es_simhash.cli.exits import run
from es_simhash.errors import StoreUnreachable
from es_simhash.tools.spark.__main__ import session_of
from es_simhash.tools.spark.__main__ import spark as command
from es_simhash.tools.spark.load import OTHER, load_documents
from tests.cli import HARVEST, STORM, STORM_NEAR
from tests.faults.test_kills import killed
from tests.tools.spark.test_spark import texts_with_copies

if TYPE_CHECKING:
    from pathlib import Path

    from es_simhash import Outcome
    from tests.es_node.node import Node

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def write_lines(path: Path, documents: list[Any]) -> str:
    lines = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in documents]
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def load(session: Any, input: str, address: str) -> tuple[list[Outcome], Counter[str]]:
    counts: Counter[str] = Counter()
    with Documents(address) as documents:
        return list(load_documents(session, input, documents, address, {}, counts)), counts


def content_of(address: str) -> list[Any]:
    """All that a store knows, with numbers from 0 as times of writing."""
    with Documents(address) as documents:
        found = documents.export()
        rows = sorted(found, key=lambda row: row.order)
        places = {order: place for place, order in enumerate(sorted({row.order for row in rows}))}
        sources = documents.fetch([row.id for row in rows], fields="*")
        return [
            (row._replace(order=places[row.order], written=places[row.written], version=None), sources[row.id])
            for row in rows
        ]


def by_ingest(documents: list[Any], address: str, rule: str) -> list[Any]:
    with Documents(address) as store:
        store.setup(rule=rule)
        list(store.ingest(documents))
    return content_of(address)


def articles(count: int) -> list[dict[str, Any]]:
    documents = []
    for number, text in enumerate(texts_with_copies(count, 20, seed=3)):
        documents.append({"id": f"{random.Random(number).randrange(10**9)}-{number}", "text": text, "place": number})
    return documents


@pytest.mark.parametrize("rule", ["copy", "fingerprint"])
def test_the_store_is_as_ingest_makes_it(spark: Any, tmp_path: Path, rule: str) -> None:
    documents = articles(1_000)
    expected = by_ingest(documents, f"sqlite:///{tmp_path}/ingest.db", rule)
    folder = tmp_path / "news.jsonl"
    folder.mkdir()
    write_lines(folder / "1.jsonl", documents[:100])
    write_lines(folder / "2.jsonl", documents[100:])  # the larger one, which Spark reads first
    address = f"sqlite:///{tmp_path}/load.db"
    with Documents(address) as store:
        store.setup(rule=rule)
    refused, counts = load(spark, str(folder), address)
    assert not refused
    assert min(counts["new"], counts["exact_duplicate"], counts["near_duplicate"]) > 15
    assert content_of(address) == expected
    again, more = {"id": "late", "text": documents[-1]["text"]}, {"id": "more", "text": HARVEST}
    with Documents(address) as store, Documents(f"sqlite:///{tmp_path}/ingest.db") as other:
        assert [one.to_dict() for one in store.ingest([again, more])] == [
            one.to_dict() for one in other.ingest([again, more])
        ]


def test_a_second_load_changes_nothing_and_one_that_was_interrupted_goes_on(spark: Any, tmp_path: Path) -> None:
    documents = articles(300)
    input, address = write_lines(tmp_path / "news.jsonl", documents), f"sqlite:///{tmp_path}/load.db"
    load(spark, input, address)
    with Documents(address) as store:
        before = {row.id: row._replace(version=None) for row in store.export()}
        store.remove([one["id"] for one in documents if one["place"] % 2 and not before[one["id"]].duplicate_of][:40])
        left = {row.id: row._replace(version=None) for row in store.export()}
        for id in left:
            if left[id] != before[id]:
                store.remove([id])
        assert len(list(store.export())) < len(documents)
    refused, counts = load(spark, input, address)
    assert (refused, counts.total()) == ([], len(documents))
    with Documents(address) as store:
        assert {row.id: row._replace(version=None) for row in store.export()} == before


def test_bad_documents_are_refused_with_their_reason_as_by_ingest(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [{"id": 1, "text": STORM}, {"id": 2}, "{broken", {"text": STORM}, "", {"id": 3, "text": STORM_NEAR}]
    input, dead = write_lines(tmp_path / "news.jsonl", lines), tmp_path / "dead"
    address = f"sqlite:///{tmp_path}/load.db"
    with pytest.raises(SystemExit) as caught:
        command.main(["load", input, address, "--dead-letter", str(dead)], standalone_mode=False)
    assert caught.value.code == 3
    letters = [json.loads(line) for line in dead.read_text().splitlines()]
    assert [(one["document"], one["place"].rpartition(" ")[2]) for one in letters] == [
        ({"id": 2}, "2"),
        ("{broken\n", "3"),
        ({"text": STORM}, "4"),
    ]
    with Documents(f"sqlite:///{tmp_path}/other.db") as store:
        reasons = [one.reason or "" for one in store.add_many([{"id": 2}, {"text": STORM}])]
    assert [letters[0]["reason"].partition(": ")[2], letters[2]["reason"].partition(": ")[2]] == [
        reason.partition(": ")[2] for reason in reasons
    ]
    assert {row.id: row.duplicate_of for row, _ in content_of(address)} == {"1": None, "3": "1"}
    assert "rejected" in capsys.readouterr().out


@pytest.mark.posix
@pytest.mark.parametrize("dead", ["news.jsonl", "load.db"])
def test_dead_letters_are_no_input_and_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="are one file"):
        command.main(["load", "news.jsonl", "sqlite:///load.db", "--dead-letter", dead], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


def test_of_an_id_that_occurs_again_the_later_document_is_stored(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [
        {"id": "a", "text": STORM, "n": 1},
        {"id": "b", "text": STORM_NEAR},
        {"id": "a", "text": STORM, "n": 2},
        {"id": "c", "text": "短"},
        {"id": "c", "text": HARVEST},
    ]
    expected = by_ingest(documents, f"sqlite:///{tmp_path}/ingest.db", "copy")
    address = f"sqlite:///{tmp_path}/load.db"
    load(spark, write_lines(tmp_path / "news.jsonl", documents), address)
    assert [(row.id, row.duplicate_of, source) for row, source in content_of(address)] == [
        (row.id, row.duplicate_of, source) for row, source in expected
    ]
    assert "2 documents have an id that a later one has" in caplog.text


def test_a_store_with_other_documents_is_not_loaded(spark: Any, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/load.db"
    by_ingest([{"id": "other", "text": HARVEST}], address, "copy")
    input = write_lines(tmp_path / "news.jsonl", [{"id": "a", "text": STORM}])
    with pytest.raises(InputError, match="has the document 'other', which is not in the input"):
        load(spark, input, address)


def test_a_document_that_another_program_changed_has_failed(spark: Any, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/load.db"
    input = write_lines(tmp_path / "news.jsonl", [{"id": "a", "text": STORM}, {"id": "b", "text": HARVEST}])
    load(spark, input, address)
    with Documents(address) as store:
        store.add({"id": "b", "text": STORM})
    [refused], _ = load(spark, input, address)
    assert (refused.id, refused.outcome) == ("b", "failed")
    assert OTHER in str(refused.reason)


@pytest.mark.parametrize("kind", ["broken", "none"])
def test_an_input_that_cannot_be_read_ends_with_one_line_and_writes_nothing(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "broken":
        (tmp_path / "news.parquet").write_bytes(b"PAR1 broken PAR1")
    monkeypatch.setattr("sys.argv", ["spark", "load", f"{tmp_path}/news.parquet", f"sqlite:///{tmp_path}/load.db"])
    with pytest.raises(SystemExit) as caught:
        run(command, "es_simhash.tools.spark")
    assert caught.value.code == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if "es_simhash.tools.spark: " in line]
    assert "Spark stopped: " in line
    assert "news.parquet" in line
    assert content_of(f"sqlite:///{tmp_path}/load.db") == []


def test_of_a_pattern_of_files_nothing_is_said_but_what_was_loaded(spark: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "1.jsonl", [{"id": "a", "text": STORM}])
    write_lines(tmp_path / "2.jsonl", [{"id": "b", "text": HARVEST}])
    address = f"sqlite:///{tmp_path}/load.db"
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[1]\nspark.sql.shuffle.partitions 2\n")
    done = subprocess.run(
        [sys.executable, "-m", "es_simhash.tools.spark", "load", f"{tmp_path}/*.jsonl", address],
        env={**os.environ, "SPARK_CONF_DIR": str(tmp_path)},  # a process of its own: Spark logs as it does by default
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "2 documents" in done.stdout) == (0, True), done.stderr
    assert "Exception" not in done.stderr
    assert {row.id for row, _ in content_of(address)} == {"a", "b"}


def fail(frames: Any) -> Any:
    raise StoreUnreachable("no host answers")


def test_an_error_of_a_task_is_one_line(spark: Any) -> None:
    with (
        pytest.raises(InputError, match=r"^Spark stopped: es_simhash.errors.StoreUnreachable: no host answers; "),
        session_of("news.jsonl") as session,
    ):
        session.range(1).mapInPandas(fail, "id long").count()


@pytest.mark.elasticsearch
def test_parquet_goes_into_an_index_as_by_ingest(
    spark: Any, tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    documents = articles(300)
    spark.createDataFrame(documents).coalesce(1).write.parquet(f"{tmp_path}/news.parquet")
    address = f"{elasticsearch_url}/{index_name}"
    expected = by_ingest(documents, f"sqlite:///{tmp_path}/ingest.db", "copy")
    with Documents(address) as store:
        store.setup(rule=DuplicateRule())
    for _ in range(2):
        refused, counts = load(spark, f"{tmp_path}/news.parquet", address)
        assert (refused, counts.total()) == ([], 300)
    assert content_of(address) == expected


@pytest.mark.elasticsearch
def test_tasks_wait_for_a_server_that_is_killed_before_it_has_answered_them(
    spark: Any, tmp_path: Path, mortal_node: Node
) -> None:
    documents = articles(300)
    expected = by_ingest(documents, f"sqlite:///{tmp_path}/ingest.db", "copy")
    direct = f"{mortal_node.url}/test-{uuid.uuid4().hex[:16]}"
    with Documents(direct) as store:
        store.setup(rule="copy")
    with killed(mortal_node, direct) as address:
        refused, counts = load(spark, write_lines(tmp_path / "news.jsonl", documents), address)
    assert (refused, counts.total()) == ([], 300)
    assert content_of(direct) == expected
