"""``es-simhash dedupe``: files without their copies, whatever stands in them and however the command ends."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule
from es_simhash.cli.output import count_of
from es_simhash.tools.report.review import COMPARED, MEMBERS
from tests.cli import (
    COMMAND,
    HARVEST,
    STORM,
    STORM_NEAR,
    Done,
    complaint,
    environment,
    es_simhash,
    line,
    wait_until_read,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = [line("a"), line("b", STORM_NEAR), line("c", HARVEST, more=[1.0, None]), line("d", STORM)]
NEWS = b"".join(LINES)


def dedupe(folder: Path, *arguments: str, data: bytes = NEWS) -> Done:
    return es_simhash("dedupe", *arguments, cwd=folder, stdin=data)


def ids(done: Done) -> list[Any]:
    return [document["id"] for document in done.json]


def test_lines_are_printed_as_they_stand_without_the_copies_before_them(tmp_path: Path) -> None:
    odd = b'{"text":"\\u6c34 7e0",  "z": 1.50, "a": 1}\n'
    done = dedupe(tmp_path, data=NEWS + odd + odd)
    assert done.code == 0
    assert done.out.encode() == LINES[0] + LINES[2] + odd
    counts = [each.split() for each in done.err.splitlines()[1:]]
    assert counts == [["kept", "3"], ["exact", "duplicates", "2"], ["near-duplicates", "1"]]
    assert done.err.startswith(f"{count_of(6, 'document')} in ")
    assert list(tmp_path.iterdir()) == []


def test_everything_that_ingest_reads_is_read_and_printed_with_its_fields_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"n,text,x\n1,{STORM},\n".encode("gb18030")))
    done = dedupe(tmp_path, "a.csv.gz", "--encoding", "gb18030")
    assert [list(row) for row in done.json] == [["n", "text", "x"]]
    (tmp_path / "b.json").write_text(json.dumps([{"text": STORM, "id": 1}, {"text": HARVEST, "id": 2}], indent=1))
    assert [list(row) for row in dedupe(tmp_path, "b.json").json] == [["text", "id"]] * 2


def test_a_page_without_a_text_is_told_and_a_copy_of_nothing(tmp_path: Path) -> None:
    pages = line("a", "<script>load('a')</script>") + line("b", "<script>load('b')</script>") + line("c", STORM)
    done = dedupe(tmp_path, "--html", data=pages)
    assert ids(done) == ["a", "b", "c"]
    assert done.err.splitlines()[-1] == "2 without a text, such as pages of scripts alone: never taken for copies"


def test_two_files_may_have_the_same_ids(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(line(1))
    (tmp_path / "two").write_bytes(line(1, HARVEST) + line(1))
    assert [document["text"] for document in dedupe(tmp_path, "one", "two").json] == [STORM, HARVEST]


def test_duplicates_are_written_with_their_originals(tmp_path: Path) -> None:
    assert dedupe(tmp_path, "--duplicates", "copies").code == 0
    written = [json.loads(each) for each in (tmp_path / "copies").read_bytes().splitlines()]
    assert [(w["id"], w["place"], w["duplicate_of"], w["original_place"]) for w in written] == [
        ("b", "stdin:2", "a", "stdin:1"),
        ("d", "stdin:4", "a", "stdin:1"),
    ]
    near, exact = written
    assert (exact["similarity"], exact["distance"]) == (1.0, 0)
    assert 0.8 < near["similarity"] < 1
    assert near["distance"] is None
    assert written[0]["document"] == json.loads(LINES[1])
    assert [each["original_text"] for each in written] == [STORM, STORM]


def test_pairs_are_printed_in_place_of_documents(tmp_path: Path) -> None:
    done = dedupe(tmp_path, "--pairs", data=NEWS.replace(b'"id": "a"', b'"key": "a"'))
    assert [(pair["id"], pair["duplicate_of"], pair["original_place"]) for pair in done.json] == [
        ("b", None, "stdin:1"),
        ("d", None, "stdin:1"),
    ]


def test_what_is_in_another_file_is_left_out_and_that_file_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_bytes(line("t", STORM_NEAR) + line("u", "只有这里有的一段文字，别处没有。"))
    done = dedupe(tmp_path, "--against", "test.jsonl")
    assert ids(done) == ["c"]
    assert done.err.startswith("4 documents in ")
    done = dedupe(tmp_path, "--against", "test.jsonl", "--pairs")
    assert [(pair["duplicate_of"], pair["original_place"]) for pair in done.json] == [("t", "test.jsonl:1")] * 3


def test_what_is_in_a_store_is_left_out_and_the_store_stays_as_it_is(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'news.db'}"
    with Documents(store) as documents:
        documents.add({"id": "stored", "text": STORM_NEAR})
    assert ids(dedupe(tmp_path, "--against", store)) == ["c"]
    done = dedupe(tmp_path, "--against", store, "--pairs")
    assert [(pair["id"], pair["duplicate_of"]) for pair in done.json] == [(id, "stored") for id in "abd"]
    assert {pair["original_place"] for pair in done.json} == {store}
    with Documents(store) as documents:
        assert [row.id for row in documents.export()] == ["stored"]


@pytest.mark.parametrize("archive", [False, True])
def test_a_page_shows_what_is_left_out_beside_its_original(tmp_path: Path, archive: bool) -> None:
    words, original = ["--report", "page.html", "--lang", "zh"], "a, stdin:1"
    if archive:
        store = f"sqlite:///{tmp_path}/old.db"
        with Documents(store) as documents:
            documents.setup(DuplicateRule(text_field="title"))
            documents.add({"id": "old", "title": STORM})
        words, original = [*words, "--against", store], f"old, {store}"
    done = dedupe(tmp_path, *words)
    assert ids(done) == (["c"] if archive else ["a", "c"])
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<del>幼儿园</del><ins>托儿所</ins>" in html
    assert re.search(r"相似度 9\d%", html)
    named = ["b, stdin:2", *(["a, stdin:1"] if archive else []), "d, stdin:4"]
    assert re.findall('class="id" dir="auto">(.*?)<', html) == [original, *named]
    assert html.count(STORM) == 1


@pytest.mark.parametrize("archive", [False, True])
def test_each_shown_copy_of_a_large_group_has_its_text(tmp_path: Path, archive: bool) -> None:
    lines = [line(f"d{n}", f"{STORM}{chr(0x8C00 + n)}") for n in range(3 * COMPARED)]
    words = ["--report", "page.html"]
    if archive:
        (tmp_path / "old.jsonl").write_bytes(lines[0])
        words += ["--against", "old.jsonl"]
    dedupe(tmp_path, *words, data=b"".join(lines[archive:]))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<dd>{3 * COMPARED - 1}</dd></div>\n</dl>" in html
    assert html.count("<ins>") == MEMBERS + 1  # and one in the legend
    assert "<del>市" not in html


def test_documents_of_a_store_that_are_not_compared_are_counted(tmp_path: Path) -> None:
    store, same = f"sqlite:///{tmp_path / 'news.db'}", "".join(chr(0x4E00 + number) for number in range(70))
    texts = [same + "".join(chr(0x5000 + 40 * number + n) for n in range(30)) for number in range(521)]
    with Documents(store) as documents:
        documents.setup()
        for _ in documents.ingest({"id": str(number), "text": text} for number, text in enumerate(texts[1:])):
            pass
    done = dedupe(tmp_path, "--against", store, data=line("new", texts[0]))
    assert ids(done) == ["new"]
    assert "not compared: very many documents share keys" in done.err


def test_what_stands_before_a_damaged_end_is_printed(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(NEWS)[:-8])
    done = dedupe(tmp_path, "cut.jsonl.gz")
    assert (done.code, [document["id"] for document in done.json]) == (1, ["a", "c"])
    assert "cut.jsonl.gz" in done.err


def test_a_store_that_does_not_exist_is_an_error_and_nothing_is_printed(tmp_path: Path) -> None:
    assert "none.db" in complaint(dedupe(tmp_path, "--against", "sqlite:///none.db"))


def test_bad_lines_are_reported_and_left_out(tmp_path: Path) -> None:
    done = dedupe(tmp_path, data=LINES[0] + b"{\n" + line("x", 7) + LINES[2])
    assert (done.code, ids(done)) == (3, ["a", "c"])
    reports = [each for each in done.err.splitlines() if each.startswith("rejected: ")]
    assert [each.split(" ")[1] for each in reports] == ["stdin:2:", "stdin:3:"]
    assert dedupe(tmp_path, "--quiet", data=LINES[0] + LINES[3]).err == ""


def test_a_scheme_and_a_rule_are_options(tmp_path: Path) -> None:
    page = line("a", f"<p>{STORM}</p>") + line("b", f"<div><b>{STORM}</b></div>")
    assert ids(dedupe(tmp_path, "--rule", "exact", data=page)) == ["a", "b"]
    assert ids(dedupe(tmp_path, "--rule", "exact", "--html", data=page)) == ["a"]
    assert ids(dedupe(tmp_path, "--min-similarity", "0.999")) == ["a", "b", "c"]
    (tmp_path / "scheme.json").write_text('{"weights": "tf"}')
    assert dedupe(tmp_path, "--scheme", "scheme.json").code == 0


@pytest.mark.parametrize("option", ["--duplicates", "--report"])
def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_printed(tmp_path: Path, option: str) -> None:
    assert "cannot write none/file (No such file" in complaint(dedupe(tmp_path, option, "none/file"))


def test_the_output_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(NEWS)
    with open(tmp_path / "news.jsonl", "ab") as out:
        done = subprocess.run(
            [*COMMAND, "dedupe", "news.jsonl"], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, env=environment()
        )
    assert (done.returncode, b"are one file" in done.stderr) == (1, True)
    assert (tmp_path / "news.jsonl").read_bytes() == NEWS


def unlike(count: int) -> Iterator[bytes]:
    """Lines that are no copies of each other."""
    for number in range(count):
        yield line(number, " ".join(f"{number * 31 + n:x}q{n * number % 97}" for n in range(40)))


@pytest.mark.posix
@pytest.mark.slow
def test_a_reader_that_ends_is_no_error_message(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(unlike(600)))
    command = f"{COMMAND[0]} -m es_simhash dedupe in --quiet | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, env=environment())
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


@pytest.mark.posix
@pytest.mark.slow
def test_after_ctrl_c_the_output_has_whole_lines(tmp_path: Path) -> None:
    with (
        open(tmp_path / "out", "wb") as out,
        subprocess.Popen(
            [*COMMAND, "dedupe", "--workers", "0"],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(),
        ) as process,
    ):
        assert process.stdin is not None
        for each in unlike(1_200):
            process.stdin.write(each)
        wait_until_read(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith(b"es-simhash: interrupted; the output is not whole: run it again\n")
    written = (tmp_path / "out").read_bytes()
    assert written.endswith(b"\n")
    assert [json.loads(each)["id"] for each in written.splitlines()] == list(range(1_000))  # two batches
