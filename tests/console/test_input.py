"""Files of other formats: a wrong file stops the command once, and resume and dead letters work with each format."""

from __future__ import annotations

import csv
import gzip
import json
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, InputError
from es_simhash.console.first_lines import FEW, FIRST, check_fields, checked_start
from es_simhash.console.input import Input
from es_simhash.console.progress import Progress
from es_simhash.lines import Line
from tests.cli import STORM, complaint, es_simhash, line

if TYPE_CHECKING:
    from pathlib import Path

NOT_USABLE = Line("f:1", {"docid": 1})


def check(line: Line) -> None:
    check_fields(line, "id", ("text",))


def usable(number: int) -> Line:
    return Line(f"f:{number}", {"id": number, "text": STORM})


@pytest.mark.parametrize("wrong", [0, 1, FEW, FIRST - 1])
def test_lines_before_the_first_usable_one_are_not_lost(wrong: int) -> None:
    lines = [NOT_USABLE] * wrong + [usable(1), NOT_USABLE, usable(2)]
    assert list(checked_start(iter(lines), check, "f")) == lines


def test_a_file_of_few_lines_is_read_even_if_none_is_usable() -> None:
    assert list(checked_start(iter([NOT_USABLE] * FEW), check, "f")) == [NOT_USABLE] * FEW


@pytest.mark.parametrize(("count", "said"), [(FEW + 1, f"{FEW + 1}"), (FIRST, f"first {FIRST}")])
def test_a_file_without_a_usable_line_stops_once_and_names_its_fields(count: int, said: str) -> None:
    lines = iter([NOT_USABLE] * count + [usable(1)] * (count == FIRST))
    with pytest.raises(InputError) as error:
        next(checked_start(lines, check, "f"))
    assert str(error.value) == (
        f"stopped, because none of the {said} documents in f can be used. f:1: no field 'id': name the field that "
        "holds the id (id_field). It has the fields: docid"
    )


def test_no_line_is_checked_after_the_first_usable_one() -> None:
    checked = []
    list(checked_start(iter([usable(1), usable(2)]), checked.append, "f"))
    assert checked == [usable(1)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ingest"], "it looks like GB18030"),
        (["ingest", "--rule", "fingerprint", "--encoding", "gb18030", "--id-field", "docid"], "no field 'docid'"),
        (["idf"], "it looks like GB18030"),
        (["evaluate"], "it looks like GB18030"),
        (["seen", "add"], "it looks like GB18030"),
        (["seen", "unseen"], "it looks like GB18030"),
    ],
)
def test_a_wrong_file_is_one_line_and_nothing_is_stored(tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "news.jsonl").write_bytes((line("n1") * 150).decode().encode("gb18030"))
    name = ["news.jsonl"]
    store = [] if arguments[0] in ("idf", "evaluate") else ["--store", "sqlite:///new.db"]
    said = complaint(es_simhash(*arguments, *name, *store, cwd=tmp_path))
    assert says in said
    if (tmp_path / "new.db").exists() and arguments[0] == "ingest":
        with Documents(f"sqlite:///{tmp_path / 'new.db'}") as documents:
            assert list(documents.export()) == []


def write(folder: Path, format: str, rows: list[dict[str, Any]]) -> str:
    """Write documents as a compressed file of a format, and return its name."""
    name = f"news.{format}.gz"
    with gzip.open(folder / name, "wt", encoding="utf-8", newline="") as file:
        if format == "json":
            json.dump(rows, file)
        else:
            writer = csv.DictWriter(file, ["id", "text", "lang"])
            writer.writeheader()
            writer.writerows(rows)
    return name


@pytest.mark.parametrize("format", ["csv", "json"])
def test_resume_and_dead_letters_work_with_each_format(tmp_path: Path, format: str) -> None:
    rows = [{"id": f"n{number}", "text": f"{STORM}{number}", "lang": "zh"} for number in range(6)]
    rows[3]["id"] = ""
    options = ["--resume", "c", "--dead-letter", "dead", "--batch-size", "2", "--workers", "0", "--json"]
    name = write(tmp_path, format, [*rows[:3], rows[5]])
    first = es_simhash("ingest", "--rule", "fingerprint", name, *options, cwd=tmp_path)
    assert [each.get("id") for each in first.json[:-1]] == ["n0", "n1", "n2", "n5"]
    write(tmp_path, format, [*rows[:3], rows[5], *rows[3:5]])  # the file has grown
    second = es_simhash("ingest", "--rule", "fingerprint", name, *options, cwd=tmp_path)
    assert second.code == 3
    assert [each.get("id") for each in second.json[:-1]] == [None, "n4"], "what was done is not done again"
    assert second.json[-1]["total"] == 6
    (letter,) = map(json.loads, (tmp_path / "dead").read_text().splitlines())
    assert letter["place"] == (f"{name}:6" if format == "csv" else f"{name} item 5")
    (tmp_path / "dead").write_text(json.dumps({**letter, "document": {**letter["document"], "id": "n3"}}))
    assert es_simhash("ingest", "--rule", "fingerprint", "dead", "--json", cwd=tmp_path).json[0]["id"] == "n3"


def test_a_dot_leads_to_an_id_inside_an_object(tmp_path: Path) -> None:
    data = b"".join(json.dumps({"meta": {"id": id}, "text": STORM}).encode() + b"\n" for id in ("a", None))
    done = es_simhash("ingest", "--rule", "fingerprint", "--id-field", "meta.id", "--json", cwd=tmp_path, stdin=data)
    assert done.json[0]["id"] == "a"
    assert "no field 'meta.id'" in done.json[1]["reason"]


def test_the_progress_counts_documents_and_moves_by_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(line(number) for number in range(1_000))))
    source = Input((str(path),))
    with Progress(path.stat().st_size, file=StringIO(), disable=False) as shown:
        for _ in source.lines(shown, check):
            shown.done()
        assert shown.n == path.stat().st_size
        assert "1,000 documents, " in str(shown)
        assert " left" in str(shown)


def test_quiet_prints_only_what_was_rejected(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", "--quiet", cwd=tmp_path, stdin=line("a") + line("b") + b"5\n")
    assert (done.code, done.out) == (3, "")
    assert done.err == "rejected: stdin:3: a document must be a JSON object, this is a number\n"


def test_verbose_logs_the_store_and_each_batch(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", "--verbose", cwd=tmp_path, stdin=line("a"))
    assert done.err.splitlines()[-1] == "written: a batch of 1"
    assert "sqlite:///es-simhash.db: Scheme 1:64:" in done.err


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    for words, completed in (("es-simhash in", "plain,ingest"), ("es-simhash ingest --enc", "plain,--encoding")):
        env = {"_ES_SIMHASH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert completed in es_simhash("", cwd=tmp_path, env=env).out.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell_is_made(tmp_path: Path, shell: str) -> None:
    script = es_simhash("", cwd=tmp_path, env={"_ES_SIMHASH_COMPLETE": f"{shell}_source"}).out
    assert f"_ES_SIMHASH_COMPLETE={shell}_complete" in script


@pytest.mark.elasticsearch
def test_verbose_logs_each_request_without_the_password(
    tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    address = f"{elasticsearch_url.replace('://', '://desk:hunter2@')}/{index_name}"
    done = es_simhash("similar", "--rule", "fingerprint", STORM, "--verbose", "--store", address, cwd=tmp_path)
    assert f"GET {elasticsearch_url}/{index_name}/_mapping [status:404" in done.err
    assert "hunter2" not in done.err
