"""``es-simhash dedupe``: files without their copies, whatever stands in them and however the command ends."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.console.output import count_of
from tests.cli import COMMAND, HARVEST, STORM, STORM_NEAR, Done, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def test_the_folder_stays_as_it_was(tmp_path: Path) -> None:
    dedupe(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_everything_that_ingest_reads_is_read_and_printed_with_its_fields_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(f"n,text,x\n1,{STORM},\n".encode("gb18030")))
    done = dedupe(tmp_path, "a.csv.gz", "--encoding", "gb18030")
    assert [list(row) for row in done.json] == [["n", "text", "x"]]
    (tmp_path / "b.json").write_text(json.dumps([{"text": STORM, "id": 1}, {"text": HARVEST, "id": 2}], indent=1))
    assert [list(row) for row in dedupe(tmp_path, "b.json").json] == [["text", "id"]] * 2


def test_two_files_may_have_the_same_ids(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(line(1))
    (tmp_path / "two").write_bytes(line(1, HARVEST) + line(1))
    assert [document["text"] for document in dedupe(tmp_path, "one", "two").json] == [STORM, HARVEST]


@pytest.mark.parametrize(("keep", "kept"), [("first", ["s", "h"]), ("last", ["h", "n"]), ("longest", ["l", "h"])])
def test_the_copy_that_is_kept_can_be_chosen_and_the_order_stays(tmp_path: Path, keep: str, kept: list[str]) -> None:
    data = line("s") + line("l", STORM + "请市民留意。") + line("h", HARVEST) + line("n", STORM_NEAR)
    assert ids(dedupe(tmp_path, "--keep", keep, data=data)) == kept


@pytest.mark.parametrize("keep", ["first", "last"])
def test_duplicates_are_written_with_their_originals(tmp_path: Path, keep: str) -> None:
    assert dedupe(tmp_path, "--duplicates", "copies", "--keep", keep).code == 0
    written = [json.loads(each) for each in (tmp_path / "copies").read_bytes().splitlines()]
    first = keep == "first"
    assert [(w["id"], w["place"], w["duplicate_of"], w["original_place"]) for w in written] == (
        [("b", "stdin:2", "a", "stdin:1"), ("d", "stdin:4", "a", "stdin:1")]
        if first
        else [("a", "stdin:1", "d", "stdin:4"), ("b", "stdin:2", "d", "stdin:4")]
    )
    exact, near = (written[1], written[0]) if first else (written[0], written[1])
    assert (exact["similarity"], exact["distance"]) == (1.0, 0)
    assert 0.8 < near["similarity"] < 1
    assert 0 < near["distance"] <= 3
    assert written[0]["document"] == json.loads(LINES[1] if first else LINES[0])


def test_pairs_are_printed_in_place_of_documents(tmp_path: Path) -> None:
    done = dedupe(tmp_path, "--pairs", data=NEWS.replace(b'"id": "a"', b'"key": "a"'))
    assert [(pair["id"], pair["duplicate_of"], pair["original_place"]) for pair in done.json] == [
        ("b", None, "stdin:1"),
        ("d", None, "stdin:1"),
    ]


def test_what_is_in_another_file_is_left_out_and_that_file_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_bytes(line("t", STORM_NEAR) + line("u", "只有这里有的一段文字，别处没有。"))
    for keep in ("first", "last", "longest"):
        done = dedupe(tmp_path, "--against", "test.jsonl", "--keep", keep)
        assert ids(done) == ["c"]
        assert done.err.startswith("4 documents in ")
    done = dedupe(tmp_path, "--against", "test.jsonl", "--pairs")
    assert [(pair["duplicate_of"], pair["original_place"]) for pair in done.json] == [("t", "test.jsonl:1")] * 3


def test_what_is_in_a_store_is_left_out_and_the_store_stays_as_it_is(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'news.db'}"
    with Documents(store) as documents:
        documents.add({"id": "stored", "text": STORM_NEAR})
    assert ids(dedupe(tmp_path, "--against", store)) == ["c"]
    done = dedupe(tmp_path, "--against", store, "--pairs", "--keep", "last")
    assert [(pair["id"], pair["duplicate_of"]) for pair in done.json] == [(id, "stored") for id in "abd"]
    assert {pair["original_place"] for pair in done.json} == {store}
    with Documents(store) as documents:
        assert [row.id for row in documents.export()] == ["stored"]


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
    store = f"sqlite:///{tmp_path / 'news.db'}"
    with Documents(store) as documents:
        documents.add({"id": "stored", "text": HARVEST})
    for against in ([], ["--against", store]):
        done = dedupe(tmp_path, "cut.jsonl.gz", *against)
        assert (done.code, [document["id"] for document in done.json]) == (1, ["a"] if against else ["a", "c"])
        assert "cut.jsonl.gz" in done.err


def test_a_store_that_does_not_exist_is_an_error_and_nothing_is_printed(tmp_path: Path) -> None:
    assert "none.db" in complaint(dedupe(tmp_path, "--against", "sqlite:///none.db"))


def test_bad_lines_are_reported_and_kept_aside(tmp_path: Path) -> None:
    done = dedupe(tmp_path, "--dead-letter", "dead", data=LINES[0] + b"{\n" + line("x", 7) + LINES[2])
    assert (done.code, ids(done)) == (3, ["a", "c"])
    reports = [each for each in done.err.splitlines() if each.startswith("rejected: ")]
    assert [each.split(" ")[1] for each in reports] == ["stdin:2:", "stdin:3:"]
    assert len((tmp_path / "dead").read_bytes().splitlines()) == 2
    corrected = (tmp_path / "dead").read_bytes().replace(rb"\"text\": 7", rb"\"text\": \"seven\"")
    again = dedupe(tmp_path, data=corrected)
    assert [document["text"] for document in again.json] == ["seven"]
    assert dedupe(tmp_path, "--quiet", data=LINES[0] + LINES[3]).err == ""


def test_a_text_that_is_too_long_is_kept_aside_with_all_its_fields(tmp_path: Path) -> None:
    done = dedupe(tmp_path, "--max-text", "200", "--dead-letter", "dead", data=NEWS + line("long", "字" * 201, more=1))
    assert (done.code, ids(done)) == (3, ["a", "c"])
    assert "stdin:5: the text has 201 characters, the limit is 200" in done.err
    assert "(--max-text)" in done.err
    again = dedupe(tmp_path, "dead")
    assert again.json == [{"id": "long", "text": "字" * 201, "more": 1}]


def test_no_documents_are_an_error(tmp_path: Path) -> None:
    assert complaint(dedupe(tmp_path, data=b"")) == ("es-simhash: no documents in stdin: give one JSON object per line")


def test_the_output_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(NEWS)
    with open(tmp_path / "news.jsonl", "ab") as out:
        done = subprocess.run(
            [*COMMAND, "dedupe", "news.jsonl"], stdout=out, stderr=subprocess.PIPE, cwd=tmp_path, env=environment()
        )
    assert (done.returncode, b"are one file" in done.stderr) == (1, True)
    assert "--duplicates and the input are one file" in complaint(
        dedupe(tmp_path, "news.jsonl", "--duplicates", "news.jsonl")
    )
    assert (tmp_path / "news.jsonl").read_bytes() == NEWS


def unlike(count: int) -> Iterator[bytes]:
    """Lines that are no copies of each other."""
    for number in range(count):
        yield line(number, " ".join(f"{number * 31 + n:x}q{n * number % 97}" for n in range(40)))


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    data = b"".join(unlike(600))
    (tmp_path / "in").write_bytes(data)
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [*COMMAND, "dedupe", "in", "--workers", "0"],
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_001, 100_001)),
        )
    assert (done.returncode, b"cannot write the output" in done.stderr) == (1, True), done.stderr
    written = (tmp_path / "out").read_bytes()
    assert 50_000 < len(written) <= 100_001
    assert data.startswith(written)
    assert written.endswith(b"\n")


def test_a_reader_that_ends_is_no_error_message(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(unlike(600)))
    command = f"{COMMAND[0]} -m es_simhash dedupe in --quiet | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, env=environment())
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def running(folder: Path, temporary: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The command, which waits for more input after some that does not fit into the caches."""
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen(
            [*COMMAND, "dedupe", "--workers", "0", *arguments],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(TMPDIR=str(temporary), SQLITE_TMPDIR=str(temporary)),
        )
    assert process.stdin is not None
    for each in unlike(12_000 if "--keep" in arguments else 1_200):
        process.stdin.write(each)
    process.stdin.flush()
    return process


def open_files(pid: int, folder: Path) -> list[str]:
    links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return [link for link in links if link.startswith(str(folder))]


@pytest.mark.slow
def test_a_killed_command_leaves_no_temporary_file(tmp_path: Path, temporary: Path) -> None:
    process = running(tmp_path, temporary, "--keep", "last")
    end = time.monotonic() + 30
    while not open_files(process.pid, temporary) and time.monotonic() < end:
        time.sleep(0.05)
    assert open_files(process.pid, temporary)  # there is one, and it has no name
    process.kill()
    process.communicate()
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("keep", [(), ("--keep", "longest")])
def test_after_ctrl_c_the_output_has_whole_lines_or_none(
    tmp_path: Path, temporary: Path, keep: tuple[str, ...]
) -> None:
    process = running(tmp_path, temporary, *keep)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    assert process.stdin is not None
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted" in err
    written = (tmp_path / "out").read_bytes()
    if keep:
        assert written == b""
        assert b"no documents are printed, because --keep longest needs the whole input" in err
    else:
        assert written.endswith(b"\n")
        assert [json.loads(each)["id"] for each in written.splitlines()] == list(range(written.count(b"\n")))


@pytest.mark.slow
def test_after_ctrl_c_while_they_are_printed_all_documents_are_printed(tmp_path: Path) -> None:
    news = b"".join(line(number, f"第{number}条新闻", more="x" * 400) for number in range(1_000))
    (tmp_path / "news.jsonl").write_bytes(news)  # more than a pipe holds
    command = [*COMMAND, "dedupe", "news.jsonl", "--rule", "exact", "--keep", "last", "--workers", "0"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes) as process:
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=60)
    assert (process.returncode, first + rest) == (130, news)
    assert err.endswith(b"es-simhash: interrupted\n")
