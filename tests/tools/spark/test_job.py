"""The Spark job: from the export of a store to the links in it, and one line for each kind of bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from es_simhash import Documents, DuplicateRule, InputError, SchemeMismatch, StoreError, read_file
from es_simhash.cli import cli
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from tests.rules import keywords_of
from tests.tools.spark.test_group import ROOT, random_texts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark


def run(command: Any, *arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_job_and_group_from_write_what_group_writes(spark: Any, tmp_path: Path) -> None:
    from es_simhash.tools.spark.__main__ import group as job

    store, links, exported = f"sqlite:///{tmp_path}/news.db", str(tmp_path / "links"), tmp_path / "documents.jsonl"
    with Documents(store) as documents:
        documents.setup(keys=True)
        news = [line.document["text"] for line in read_file(ROOT / "scripts" / "demo_news.jsonl")]
        texts = [*news, *random_texts(3, 100, 5)]
        titled = ({"id": f"d{n}", "title": text} for n, text in enumerate(texts))
        for _ in documents.ingest(titled, rule=DuplicateRule("fingerprint", text_field="title")):
            pass
        documents.setup(rule="copy")
    fields = ("--fields", "text,written,version,scheme", "--text-field", "title", "--store", store)
    exported.write_text(run(cli, "export", *fields), encoding="utf-8")
    rule = ("--confirm", "0.8")
    report = json.loads(run(job, str(exported), links, *rule, "--keys", "--json"))
    assert (report["documents"], report["left_out"]) == (len(texts), 0)
    written = json.loads(run(cli, "group", "--from", links, *rule, "--text-field", "title", "--store", store, "--json"))
    assert (written["documents"], written["conflicts"]) == (len(texts), 0)
    assert written["changed"] > 20
    again = json.loads(run(cli, "group", *rule, "--text-field", "title", "--store", store, "--json"))
    assert (again["changed"], again["left_out"]) == (0, 0)
    assert (again["groups"], again["members"]) == (report["groups"], report["members"])


def test_texts_are_fingerprinted_as_the_library_does(spark: Any) -> None:
    from es_simhash.tools.spark.documents import Input

    texts = ["", *random_texts(4, 40, 3)]
    for scheme in (DEFAULT, Scheme(bits=128, tokens="han_characters", digest="sha256")):
        fingerprinter = Fingerprinter(scheme)
        frame = spark.createDataFrame([(n, text) for n, text in enumerate(texts)], "id int, body string")
        rows = Input(frame, fingerprinter, ("body",), "id").read().orderBy("position").collect()
        words = ["fp0", "fp1"][: scheme.bits // 64]
        found = [
            ("".join(f"{row[word] % 2**64:016x}" for word in words if row[word] is not None), row.digest)
            for row in rows
        ]
        made = fingerprinter.fingerprints(texts)
        assert found == [(each.hex or "", each.digest) for each in made]


def frame(spark: Any, **columns: str) -> Any:
    names = {"id": "'a'", "written": "1L", "fingerprint": "'00000000000000ff'", "digest": "'d'"} | columns
    return spark.range(2).selectExpr(*(f"{value} AS {name}" for name, value in names.items() if value))


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        (
            {"written": ""},
            {},
            InputError,
            r"no column written, it has id, fingerprint, digest: export it with `es-simhash export --fields",
        ),
        ({}, {"confirm": 0.8}, InputError, "there is no text to confirm: the input has no column text, it has id"),
        (
            {"meta": "'x'"},
            {"confirm": 0.8, "text_field": "meta.body"},
            InputError,
            "there is no text to confirm: the input has no column meta.body, it has id",
        ),
        ({"digest": ""}, {}, InputError, "there is no text to fingerprint: the input has no column text"),
        ({"digest": "", "text": "7"}, {}, InputError, "the text in column text is of type int: use strings"),
        ({}, {"head": "kept"}, InputError, "the input has no column group"),
        ({}, {"keys": True}, InputError, "use the rule 'copy' or 'contained'"),
        ({"written": "'x'"}, {}, InputError, "the column written is of type string: the write order is a whole number"),
        ({"id": "IF(id = 0, 'a', NULL)"}, {}, InputError, "the input has 1 document without id"),
        ({}, {}, InputError, "the id 'a' comes twice in the input"),
        (
            {"scheme": "'1:64:tf'"},
            {},
            SchemeMismatch,
            "fingerprints of Scheme 1:64:tf, this program makes .* 1:64:sqrt_tf",
        ),
        (
            {"fingerprint": "'00ff'"},
            {},
            SchemeMismatch,
            "the input has 2 fingerprints of another width than 64 bits: choose that width",
        ),
        (
            {"id": "string(id)", "digest": "string(id)", "text": "NULLIF(string(id), '1')"},
            {"confirm": 0.8},
            InputError,
            "document '1': it has no text",
        ),
    ],
)
def test_bad_input_is_one_line(
    spark: Any, columns: dict[str, str], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    from es_simhash.tools.spark.group import group_frame

    with pytest.raises(error, match=message) as raised:
        group_frame(
            frame(spark, **columns),
            **(keywords_of({} if "confirm" in options else {"rule": "fingerprint"})),
            **keywords_of(options),
        )
    assert "\n" not in str(raised.value)


def test_files_that_cannot_be_used_are_named(spark: Any, tmp_path: Path) -> None:
    from es_simhash.tools.spark.job import check_output, read_documents

    with pytest.raises(InputError, match=r"cannot read .*missing.parquet"):
        read_documents(spark, str(tmp_path / "missing.parquet"))
    with pytest.raises(InputError, match=r"exists: remove it, or name another output"):
        check_output(spark, str(tmp_path))
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a", "written": 1, "text": "x"}\n{"id": "b", "wri\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"^cannot read .*broken.jsonl \(.*JsonEOFException: Unexpected end-of-input"):
        read_documents(spark, str(broken))


def test_an_error_of_spark_is_one_line_and_its_checkpoints_are_deleted(spark: Any, tmp_path: Path) -> None:
    from es_simhash.tools.spark.frames import checkpointed
    from es_simhash.tools.spark.job import open_session

    (tmp_path / "file").touch()

    def stop() -> None:
        with open_session(str(tmp_path / "checkpoints")) as session:
            checkpointed(session.range(3))
            assert list((tmp_path / "checkpoints").rglob("part-*"))
            session.range(3).write.parquet(str(tmp_path / "file" / "links"))

    try:
        with pytest.raises(StoreError, match=r"^Spark stopped \(.+\): its log says more$") as raised:
            stop()
    finally:  # the other tests use this session too
        getattr(spark.sparkContext._jsc.sc(), "checkpointDir_$eq")(spark._jvm.scala.Option.empty())
    assert "\n" not in str(raised.value)
    assert not list((tmp_path / "checkpoints").iterdir())


def test_more_near_documents_than_are_compared_end_with_exit_code_3_and_their_count(spark: Any, tmp_path: Path) -> None:
    from es_simhash.tools.spark.__main__ import group as job

    warning = "时发布暴雨橙色预警信号，请有关单位和人员做好防范准备，城区道路可能积水，学校停课，居民转移，市民减少外出"
    text = f"concat('市气象台', id, '{warning}') AS text"
    spark.range(64).selectExpr("string(id) AS id", "id AS written", text).write.parquet(f"{tmp_path}/in.parquet")
    result = CliRunner().invoke(job, [f"{tmp_path}/in.parquet", f"{tmp_path}/out", "--max-distance", "7"])
    assert result.exit_code == 3
    assert result.stdout.startswith("64 documents, ")
    assert re.search(
        r"^about [\d,]+ pairs were not compared: very many documents share keys or are near$", result.stdout, re.M
    )
    assert spark.read.parquet(f"{tmp_path}/out").count() == 64


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"JAVA_HOME": "/nowhere"}, "there is no Java at JAVA_HOME=/nowhere"),
        ({"JAVA_HOME": ""}, "Spark needs Java, and there is no java on PATH"),
        ({"SPARK_REMOTE": "sc://127.0.0.1:1"}, "this job does not run on Spark Connect: unset SPARK_REMOTE"),
    ],
)
def test_without_java_or_a_session_in_this_process_nothing_starts(
    variables: dict[str, str], message: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="needs PySpark: run scripts/spark-test")
    environment = os.environ | {"PATH": str(tmp_path)} | variables
    command = [sys.executable, "-m", "es_simhash.tools.spark", "in.parquet", "out.parquet"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"es_simhash.tools.spark: {message}")
    assert done.stderr.count("\n") == 1


def test_another_major_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark: run scripts/spark-test")
    from es_simhash.tools.spark.session import check_pyspark

    monkeypatch.setattr(pyspark, "__version__", "3.5.4")
    with pytest.raises(InputError, match=r"PySpark 3\.5\.4 is installed, and this program needs PySpark 4"):
        check_pyspark()
