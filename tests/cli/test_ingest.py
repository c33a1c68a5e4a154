"""``es-simhash ingest``: an outcome for every line, the counts at the end, dead letters, and where lines come from."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, DuplicateRule, fingerprint
from tests.cli import (
    COMMAND,
    HARVEST,
    STORM,
    STORM_FARTHEST,
    STORM_NEAR,
    Done,
    complaint,
    environment,
    es_simhash,
    line,
    links,
)

if TYPE_CHECKING:
    from pathlib import Path

NEAR, FARTHEST = (fingerprint(STORM).distance(fingerprint(text)) or 0 for text in (STORM_NEAR, STORM_FARTHEST))
OUTCOMES = ["new", "updated", "unchanged", "kept", "exact_duplicate", "near_duplicate", "rejected", "failed"]
TEXTS = {"n1": STORM, 2: HARVEST, "n3": STORM_NEAR, "n4": STORM + "。", "n5": STORM, "n6": "你好"}
NEWS = b"".join(line(id, text) for id, text in TEXTS.items())


def ingest(folder: Path, data: bytes, *arguments: str) -> Done:
    return es_simhash("ingest --json --workers 0", *arguments, cwd=folder, stdin=data)


def stored(folder: Path, *texts: str) -> set[str]:
    """The ids of everything in the store that is near one of some texts."""
    rule = DuplicateRule(rule="fingerprint", max_distance=7)
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as documents:
        return {match.id for text in texts for match in documents.similar(text, rule=rule)}


# --- output ------------------------------------------------------------------------------------------------


def test_each_document_is_a_line_of_json_in_its_order_and_the_counts_are_the_last(tmp_path: Path) -> None:
    done = ingest(tmp_path, NEWS)
    plain = {"duplicate_of": None, "distance": None, "stored": True, "fingerprinted": True}
    near = {**plain, "outcome": "near_duplicate", "duplicate_of": "n1", "similarity": 1.0}
    assert (done.code, done.err) == (0, "")
    assert done.json[:-1] == [
        {**plain, "id": "n1", "outcome": "new", "place": "stdin:1"},
        {**plain, "id": "2", "outcome": "new", "place": "stdin:2"},
        {**near, "id": "n3", "distance": NEAR, "place": "stdin:3", "similarity": pytest.approx(0.986, abs=0.001)},
        {**near, "id": "n4", "distance": 0, "place": "stdin:4"},
        {**near, "id": "n5", "distance": 0, "place": "stdin:5", "outcome": "exact_duplicate"},
        {**plain, "id": "n6", "outcome": "new", "place": "stdin:6", "fingerprinted": False},
    ]
    counts = {"new": 3, "exact_duplicate": 1, "near_duplicate": 2, "without_fingerprint": 1}
    assert done.json[-1] == {"total": 6, **dict.fromkeys([*OUTCOMES, "contradicting", "blank"], 0), **counts}


def test_the_text_form_names_the_duplicates_and_prints_the_counts(tmp_path: Path) -> None:
    assert es_simhash("init --rule fingerprint", cwd=tmp_path).code == 0
    done = es_simhash("ingest --workers 0", cwd=tmp_path, stdin=NEWS)
    assert (done.code, done.err) == (0, "")
    assert re.sub(r"in \d+\.\d s.*", "in … s", done.out).splitlines() == [
        f"n3  near-duplicate of n1, {NEAR} bit",
        "n4  near-duplicate of n1, 0 bits",
        "n5  exact duplicate of n1",
        "sqlite:///es-simhash.db: 6 documents in … s",
        "  new                         3",
        "  exact duplicates            1",
        "  near-duplicates             2",
        "1 stored without a fingerprint (text too short): the rule fingerprint finds only exact duplicates of them",
    ]


def test_documents_without_a_text_are_told(tmp_path: Path) -> None:
    assert es_simhash("init --html", cwd=tmp_path).code == 0
    pages = line("a", "<script>load('a')</script>") + line("b", "<script>load('b')</script>") + line("c")
    done = es_simhash("ingest --workers 0 --json", cwd=tmp_path, stdin=pages)
    assert [each.get("blank", False) for each in done.json[:-1]] == [True, True, False]
    assert (done.json[-1]["new"], done.json[-1]["blank"]) == (3, 2)
    told = es_simhash("ingest --workers 0", cwd=tmp_path, stdin=line("d", "<p></p>")).out
    assert "1 without a text, such as pages of scripts alone: never taken for copies" in told.splitlines()


def test_where_texts_decide_a_line_says_the_similarity_and_no_bits(tmp_path: Path) -> None:
    done = es_simhash("ingest --workers 0", cwd=tmp_path, stdin=NEWS)
    assert done.out.splitlines()[0] == "n3  near-duplicate of n1, similarity 0.986"
    assert re.search(r"\bbits?\b", done.out) is None
    changed = es_simhash("ingest --workers 0", cwd=tmp_path, stdin=line(2, STORM_NEAR)).out.splitlines()[0]
    assert changed == "2  updated, now a duplicate of n1", "equal to n3, a copy of n1; the two are not compared"


def test_quiet_prints_the_counts_and_what_was_rejected(tmp_path: Path) -> None:
    done = es_simhash("ingest --quiet", cwd=tmp_path, stdin=line("a") + line("b") + b"5\n")
    assert (done.code, done.out.splitlines()[0][:37]) == (3, "sqlite:///es-simhash.db: 3 documents ")
    assert " of a" not in done.out
    [counts] = es_simhash("ingest --quiet --json", cwd=tmp_path, stdin=line("a") + line("b")).json
    assert (counts["total"], counts["unchanged"]) == (2, 2)
    assert done.err == "rejected: stdin:3: a document must be a JSON object or a mapping, this is a number\n"


def test_verbose_logs_the_store_and_each_batch(tmp_path: Path) -> None:
    done = es_simhash("-v ingest", cwd=tmp_path, stdin=line("a"), alone=True)
    assert done.code == 0
    assert "sqlite:///es-simhash.db: Scheme 1:64:" in done.err


# --- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "kept"), [("index", "n1 n2 n3 n4 n5"), ("skip", "n1 n2 n5")])
def test_the_policy_decides_which_documents_are_stored(tmp_path: Path, policy: str, kept: str) -> None:
    data = line("n1") + line("n2", HARVEST) + line("n3", STORM_NEAR) + line("n4", HARVEST) + line("n5", "你好")
    done = ingest(tmp_path, data, "--on-duplicate", policy)
    assert stored(tmp_path, STORM, HARVEST, "你好") == set(kept.split())
    assert {each["id"] for each in done.json[:-1] if each["stored"]} == set(kept.split())
    assert (done.code, done.json[-1]["total"], done.err) == (0, 5, "")


def test_id_and_text_come_from_the_fields_named_and_the_store_keeps_them(tmp_path: Path) -> None:
    document = {"meta": {"url": "a/1"}, "title": STORM[:40], "body": STORM[40:], "id": 5, "text": HARVEST}
    data = json.dumps(document).encode()
    done = ingest(tmp_path, data, "--id-field", "meta.url", "--text-field", "title,lead, body")
    assert [(each["id"], each["outcome"]) for each in done.json[:-1]] == [("a/1", "new")]
    assert stored(tmp_path, STORM[:40] + "\n" + STORM[40:]) == {"a/1"}
    assert ingest(tmp_path, data).json[0]["outcome"] == "unchanged"
    said = complaint(ingest(tmp_path, data, "--text-field", "title"))
    assert "keeps the text field title,lead,body: leave --text-field out, or change it by `es-simhash init" in said


def test_another_format_and_another_encoding_are_read(tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_bytes(f"id,text\nn1,{STORM}\n".encode("gb18030"))
    done = es_simhash("ingest --format csv --encoding gb18030 --json news.txt", cwd=tmp_path)
    assert done.json[0]["outcome"] == "new"
    assert stored(tmp_path, STORM) == {"n1"}


# --- dead letters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["missing/x.dead", "folder", "news.jsonl/x.dead"])
def test_a_dead_letter_file_that_cannot_be_written_is_an_error_before_anything_is_stored(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "news.jsonl").write_bytes(line("a"))
    done = es_simhash("ingest news.jsonl --dead-letter", path, cwd=tmp_path)
    assert complaint(done).startswith(f"es-simhash: cannot write {path} (")
    assert not (tmp_path / "es-simhash.db").exists()


@pytest.mark.posix
def test_a_disk_without_room_for_dead_letters_ends_the_run(tmp_path: Path) -> None:
    done = ingest(tmp_path, line("a") + b"5\n" + line("b"), "--dead-letter", "/dev/full")
    assert done.code == 1
    assert done.err.startswith("es-simhash: cannot write /dev/full (No space left on device): name another file")


def test_dead_letters_are_appended_on_lines_of_their_own_with_the_documents(tmp_path: Path) -> None:
    (tmp_path / "x.dead").write_bytes(b'{"id": null, "outcome": "reje')  # cut
    bad = [b'{"id": 1, "price": 0.1}\n', '{"id": 8, "text": "暴雨"'.encode(), '{"id": 9, "text": "雨"}'.encode("gbk")]
    for data in bad:
        ingest(tmp_path, line("a") + data, "--dead-letter", "x.dead")
    cut, *letters = (tmp_path / "x.dead").read_bytes().splitlines()
    assert cut == b'{"id": null, "outcome": "reje'
    assert [json.loads(letter)["place"] for letter in letters] == ["stdin:2"] * 3
    assert "no text in field 'text'" in json.loads(letters[0])["reason"]
    documents = [json.loads(letter)["document"] for letter in letters]
    assert documents == [{"id": 1, "price": 0.1}, '{"id": 8, "text": "暴雨"', r'{"id": 9, "text": "\xd3\xea"}']


# --- resume ------------------------------------------------------------------------------------------------


def test_a_run_that_was_killed_is_resumed(tmp_path: Path) -> None:
    count = 1_500
    assert es_simhash("init --rule exact", cwd=tmp_path).code == 0
    (tmp_path / "news.jsonl").write_bytes(b"".join(map(line, range(count))))
    words = ["ingest", "news.jsonl", "--json", "--resume", "c", "--workers", "0"]
    with subprocess.Popen([*COMMAND, *words], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    done = es_simhash(*words, cwd=tmp_path)
    assert done.code == 0
    assert {each["outcome"] for each in done.json[:-1]} <= {"new", "exact_duplicate", "unchanged"}
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        assert {row.id for row in documents.export()} == set(map(str, range(count)))
    again = es_simhash(*words, cwd=tmp_path)
    assert (again.code, len(again.json)) == (0, 1)


# --- where the lines come from -----------------------------------------------------------------------------


def test_files_and_standard_input_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(line("b1") + line("b2", HARVEST))
    name = os.fsdecode(b"caf\xe9.jsonl")
    (tmp_path / name).write_bytes(line("a1") + b"\n  \n\t\r\n{\n")
    done = ingest(tmp_path, line("s1"), "b.jsonl", "-", name)
    places = ["b.jsonl:1", "b.jsonl:2", "stdin:1", "caf\ufffd.jsonl:1", "caf\ufffd.jsonl:5"]
    assert [each["place"] for each in done.json[:-1]] == places
    assert [each["duplicate_of"] for each in done.json[:-1]] == [None, None, "b1", "b1", None]


@pytest.mark.posix
def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[line("n1")], daemon=True)
    writer.start()
    assert [each["id"] for each in ingest(tmp_path, b"", "pipe").json[:-1]] == ["n1"]
    writer.join()


def test_the_documents_of_another_store_are_read(tmp_path: Path) -> None:
    ingest(tmp_path, NEWS)
    done = ingest(tmp_path, b"", "sqlite:///es-simhash.db", "--store", "sqlite:///new.db")
    assert (done.code, done.err, done.json[-1]["total"]) == (0, "", 6)
    found = links(f"sqlite:///{tmp_path}/new.db")
    assert found.keys() == {"n1", "2", "n3", "n4", "n5", "n6"}
    assert sum(original is None for original in found.values()) == 3
    with Documents(f"sqlite:///{tmp_path}/new.db") as documents:
        assert {match.id for match in documents.similar(STORM)} == {"n1", "n3", "n4", "n5"}


def test_a_store_is_read_alone_and_not_into_itself(tmp_path: Path) -> None:
    ingest(tmp_path, NEWS)
    assert complaint(ingest(tmp_path, b"", "sqlite:///es-simhash.db")).endswith("es-simhash.db: name two files")
    for more in (["-"], ["--id-field", "url"], ["--resume", "c"]):
        done = ingest(tmp_path, b"", "sqlite:///es-simhash.db", "--store", "sqlite:///new.db", *more)
        assert (done.code, "a store is read alone" in done.err) == (2, True)
    done = ingest(tmp_path, b"", "sqlite:///es-simhash.db", "--store", "sqlite:///new.db", "--text-field", "title")
    said = complaint(done) if done.code == 1 and not done.out else done.json[0]["reason"]
    assert "no text in field 'title'" in said


# --- terminals ---------------------------------------------------------------------------------------------


def on_a_terminal(folder: Path, *arguments: str, stdin: bool = False) -> tuple[int, str, str]:
    """Run with standard error (and input) on a terminal: the exit code, standard output, what the terminal got."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        stdin=theirs if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 65_536):
                shown += data
        except OSError:  # how Linux says that the other side is closed
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


@pytest.mark.posix
def test_progress_is_shown_on_a_terminal_and_wiped_off_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(NEWS)
    code, out, shown = on_a_terminal(tmp_path, "ingest", "--json", "news.jsonl")
    assert code == 0
    assert "100%" in shown or "0%" in shown
    assert not shown.rstrip("\r").rpartition("\r")[2].strip()
    assert len([json.loads(each) for each in out.splitlines()]) == 7


@pytest.mark.posix
def test_a_terminal_without_files_is_a_usage_error(tmp_path: Path) -> None:
    code, _, shown = on_a_terminal(tmp_path, "ingest", stdin=True)
    assert code == 2
    assert "no input: name a file of documents, or pipe them in" in shown


@pytest.mark.slow
@pytest.mark.parametrize(("json_option", "id"), [("", "\\U0001f600"), ("--json", '"id": "😀"')])
def test_text_is_escaped_for_the_terminal_and_json_is_utf8(tmp_path: Path, json_option: str, id: str) -> None:
    data = line("n1") + line("😀")
    done = es_simhash(f"ingest {json_option}", cwd=tmp_path, stdin=data, env={"PYTHONIOENCODING": "gbk"}, alone=True)
    assert done.code == 0
    assert id in done.out


@pytest.mark.slow
def test_a_reader_that_goes_away_leaves_no_worker(tmp_path: Path) -> None:
    assert es_simhash("init --rule exact", cwd=tmp_path).code == 0
    (tmp_path / "news.jsonl").write_bytes(b"".join(map(line, range(3_000))))
    command = [*COMMAND, *["ingest", "--json", "--workers", "1", "news.jsonl"]]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""  # the workers have it too: it is at its end when they are
    assert process.returncode == 1
