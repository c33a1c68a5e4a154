"""A wrong file stops the command once, and how the progress of a file moves."""

from __future__ import annotations

import gzip
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from tqdm import tqdm

from es_simhash import Documents
from es_simhash.cli.input import Input
from es_simhash.cli.output import checked_start
from tests.cli import complaint, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("problems", ["", "-", "x-", "-x", "x" * 99, "x" * 99 + "-", "-" + "x" * 99 + "-"])
def test_nothing_is_lost_where_one_of_the_first_documents_can_be_used(problems: str) -> None:
    items = list(enumerate(problems))
    assert list(checked_start(items, lambda item: None if item[1] == "-" else "no text")) == items


def test_where_none_can_be_used_one_error_names_the_fields_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(b'{"docid": 1, "body": "x"}\n' * 150)
    says = (
        "stopped, because none of the first 100 documents can be used. news.jsonl:1: no field 'id': name the field "
        "that holds the id (--id-field; id_field in Python); the document has docid, body"
    )
    assert complaint(es_simhash("ingest news.jsonl", cwd=tmp_path)) == f"es-simhash: {says}"


def test_a_resumed_run_may_begin_with_any_number_of_bad_lines(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("n1") * 500)
    assert es_simhash("ingest news.jsonl --resume c", cwd=tmp_path).code == 0
    (tmp_path / "news.jsonl").write_bytes(line("n1") * 500 + b"{}\n" * 150 + line("n2"))
    done = es_simhash("ingest news.jsonl --resume c --json", cwd=tmp_path)
    assert (done.code, done.json[-1]["rejected"], done.json[-1]["exact_duplicate"]) == (3, 150, 1)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 600])
def test_a_text_field_that_no_document_has_is_said(tmp_path: Path, count: int) -> None:
    (tmp_path / "news.jsonl").write_bytes(b"".join(map(line, range(count))))
    done = es_simhash("ingest news.jsonl --quiet --text-field titel,text", cwd=tmp_path)
    said = (
        f"none of the first {min(count, 500)} documents has the field 'titel': is it the name of a field with the text?"
    )
    assert (done.code, done.err.strip()) == (0, said)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ingest", "name another encoding, such as gb18030"),
        ("ingest --encoding gb18030 --id-field docid", "no field 'docid'"),
        ("dedupe --encoding gb18030 --text-field body", "no text in field 'body'"),
        ("seen add", "name another encoding, such as gb18030"),
    ],
)
def test_a_wrong_file_is_one_line_and_nothing_is_stored(tmp_path: Path, words: str, says: str) -> None:
    (tmp_path / "news.jsonl").write_bytes((line("n1") * 150).decode().encode("gb18030"))
    store = "" if words.startswith("dedupe") else "--store sqlite:///new.db"
    assert says in complaint(es_simhash(f"{words} news.jsonl {store}", cwd=tmp_path))
    if (tmp_path / "new.db").exists():
        with Documents(f"sqlite:///{tmp_path / 'new.db'}") as documents:
            assert list(documents.export()) == []


def test_the_progress_moves_by_the_bytes_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "news.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line(number) for number in range(1_000))))
    bars: list[tqdm[Any]] = []

    def bar(**made: Any) -> tqdm[Any]:
        bars.append(tqdm(file=StringIO(), **made))
        return bars[0]

    monkeypatch.setattr("es_simhash.cli.input.progress_bar", bar)
    assert len(list(Input((str(path),)).lines())) == 1_000
    assert (bars[0].n, bars[0].total) == (path.stat().st_size,) * 2
