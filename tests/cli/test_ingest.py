"""``es-simhash ingest``: an outcome for every line, the counts at the end, and what is stored afterwards."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import resource
import shutil
import struct
import subprocess
import termios
import threading
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, DuplicateRule, fingerprint
from es_simhash.console.output import count_of
from tests.cli import (
    COMMAND,
    HARVEST,
    STORM,
    STORM_FARTHER,
    STORM_FARTHEST,
    STORM_NEAR,
    Done,
    environment,
    es_simhash,
    line,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NEAR, FARTHEST = (fingerprint(STORM).distance(fingerprint(text)) or 0 for text in (STORM_NEAR, STORM_FARTHEST))

OUTCOMES = ["new", "updated", "unchanged", "exact_duplicate", "near_duplicate", "rejected", "failed"]

NEWS = b"".join(
    [
        line("n1"),
        line(2, HARVEST),
        line("n3", STORM_NEAR),
        line("n4", STORM + "。"),
        line("n5", STORM),
        line("n6", "你好"),
    ]
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """NEWS, ingested once; not to be changed."""
    folder = tmp_path_factory.mktemp("first")
    return folder, ingest(folder, NEWS)


@pytest.fixture
def after(first: tuple[Path, Done], tmp_path: Path) -> Path:
    """A folder of one's own with NEWS in the store."""
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def ingest(folder: Path, data: bytes, *arguments: str) -> Done:
    return es_simhash("ingest", "--rule", "fingerprint", "--json", *arguments, cwd=folder, stdin=data)


def what(done: Done) -> list[tuple[Any, ...]]:
    """Of each document: its id, its outcome, what it duplicates, and the distance."""
    return [(each["id"], each["outcome"], each["duplicate_of"], each["distance"]) for each in done.json[:-1]]


def stored(folder: Path, text: str = STORM) -> set[str]:
    """The ids of everything in the store that is near a text."""
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as documents:
        return {match.id for match in documents.similar(text, rule=DuplicateRule("fingerprint", max_distance=7))}


# --- output ------------------------------------------------------------------------------------------


def test_each_document_is_a_line_of_json_in_its_order(first: tuple[Path, Done]) -> None:
    done = first[1]
    plain = {"duplicate_of": None, "distance": None, "stored": True, "fingerprinted": True}
    near = {**plain, "outcome": "near_duplicate", "duplicate_of": "n1"}
    assert (done.code, done.err) == (0, "")
    assert done.json[:-1] == [
        {**plain, "id": "n1", "outcome": "new", "place": "stdin:1"},
        {**plain, "id": "2", "outcome": "new", "place": "stdin:2"},
        {**near, "id": "n3", "distance": NEAR, "place": "stdin:3"},
        {**near, "id": "n4", "distance": 0, "place": "stdin:4"},
        {**near, "id": "n5", "distance": 0, "place": "stdin:5", "outcome": "exact_duplicate"},
        {**plain, "id": "n6", "outcome": "new", "place": "stdin:6", "fingerprinted": False},
    ]


def test_other_fields_are_stored_unless_they_are_kept(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/x.db"

    def ingested(status: str, *options: str) -> tuple[str, Any]:
        given = line("a", STORM, status=status)
        done = es_simhash("ingest", "--store", store, "--json", *options, cwd=tmp_path, stdin=given)
        with Documents(store) as documents:
            stored = documents.store.fetch_fields(("a",), None)["a"]
        return json.loads(done.out.splitlines()[0])["outcome"], stored["status"]

    assert ingested("draft") == ("new", "draft")
    assert ingested("checked", "--keep-fields") == ("unchanged", "draft")
    assert ingested("checked") == ("updated", "checked")
    assert ingested("checked") == ("unchanged", "checked")


def test_the_texts_have_the_distances_that_the_tests_assume() -> None:
    assert 0 < NEAR <= 3 < FARTHEST <= 7
    assert fingerprint(STORM + "。").value == fingerprint(STORM).value


def test_the_counts_are_the_last_line(first: tuple[Path, Done]) -> None:
    counts = {"new": 3, "exact_duplicate": 1, "near_duplicate": 2, "without_fingerprint": 1}
    assert first[1].json[-1] == {"total": 6, **dict.fromkeys(OUTCOMES, 0), **counts}


def test_the_counts_add_up_to_the_lines_that_are_not_empty(tmp_path: Path) -> None:
    data = NEWS + b"\n  \n\t\r\n" + b"{bad\n" + line("n1") + b"\n" + line("n9", 9) + b"null"
    (tmp_path / "more.jsonl").write_bytes(data)
    done = es_simhash("ingest", "--rule", "fingerprint", "--json", "-", "more.jsonl", cwd=tmp_path, stdin=data)
    counts = done.json[-1]
    lines = 2 * sum(bool(each.strip()) for each in data.splitlines())
    assert lines == 20
    assert counts["total"] == sum(counts[outcome] for outcome in OUTCOMES) == len(done.json) - 1 == lines


def test_the_text_form_names_the_duplicates_and_prints_the_counts(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", cwd=tmp_path, stdin=NEWS)
    assert (done.code, done.err) == (0, "")
    assert re.sub(r"in \d+\.\d s.*", "in … s", done.out).splitlines() == [
        "n3  near-duplicate of n1, 1 bit",
        "n4  near-duplicate of n1, 0 bits",
        "n5  exact duplicate of n1",
        "6 documents in … s",
        "  new                         3",
        "  exact duplicates            1",
        "  near-duplicates             2",
        "1 stored without a fingerprint (text too short): the rule fingerprint finds only exact duplicates of them",
    ]


@pytest.mark.elasticsearch
def test_elasticsearch_and_sqlite_give_the_same_output(
    first: tuple[Path, Done], after: Path, elasticsearch_url: str, index_name: str
) -> None:
    again = NEWS + line(2, STORM_FARTHER) + b"{}\n" + line("n7", HARVEST)
    address = f"{elasticsearch_url}/{index_name}"
    with Documents(address) as documents:
        documents.setup()
    assert ingest(after, NEWS, "--store", address).out == first[1].out
    assert ingest(after, again, "--store", address).out == ingest(after, again).out


# --- the same id again -------------------------------------------------------------------------------------


# --- options -----------------------------------------------------------------------------------------------


POLICIES = {"index": 0, "skip": 0, "fail": 4}


@pytest.fixture(scope="module", params=POLICIES)
def by_policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Done]:
    """Under each policy, an ingest of five documents of which n3 and n4 are duplicates."""
    folder = tmp_path_factory.mktemp("policy")
    data = line("n1") + line("n2", HARVEST) + line("n3", STORM_NEAR) + line("n4", HARVEST) + line("n5", "你好")
    return request.param, folder, ingest(folder, data, "--on-duplicate", request.param)


def test_the_policy_decides_which_documents_are_stored_and_the_exit_code(by_policy: tuple[str, Path, Done]) -> None:
    policy, folder, done = by_policy
    kept = {"index": {"n1", "n2", "n3", "n4", "n5"}, "skip": {"n1", "n2", "n5"}, "fail": {"n1", "n2"}}[policy]
    assert done.code == POLICIES[policy]
    assert stored(folder, STORM) | stored(folder, HARVEST) | stored(folder, "你好") == kept
    assert {each["id"] for each in done.json[:-1] if each["stored"]} == kept


def test_under_each_policy_the_counts_are_of_the_documents_that_were_processed(
    by_policy: tuple[str, Path, Done],
) -> None:
    policy, _, done = by_policy
    looked_at = ["n1", "n2", "n3", "n4", "n5"][: 3 if policy == "fail" else 5]
    assert [each["id"] for each in done.json[:-1]] == looked_at
    assert done.json[-1]["total"] == len(looked_at)
    assert done.json[-1]["near_duplicate"] == 1


def test_only_fail_names_the_document_that_stopped_it_and_its_original(by_policy: tuple[str, Path, Done]) -> None:
    policy, _, done = by_policy
    if policy == "fail":
        bits = count_of(NEAR, "bit")
        assert done.err.startswith(f"es-simhash: stdin:3: 'n3' is a duplicate of 'n1' at a distance of {bits}. ")
        assert done.err.count("\n") == 1
    else:
        assert done.err == ""


def test_skip_says_that_a_duplicate_was_not_stored(tmp_path: Path) -> None:
    done = es_simhash("ingest --rule fingerprint --on-duplicate skip", cwd=tmp_path, stdin=line("n1") + line("n2"))
    assert done.out.startswith("n2  exact duplicate of n1  (not stored)\n")


def test_id_and_text_come_from_the_fields_named_and_several_texts_are_joined(tmp_path: Path) -> None:
    document = json.dumps({"url": "a/1", "title": STORM[:40], "body": STORM[40:], "id": 5, "text": HARVEST}).encode()
    done = ingest(tmp_path, document, "--id-field", "url", "--text-field", "title,lead, body")
    assert what(done) == [("a/1", "new", None, None)]
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        [match] = documents.similar(STORM[:40] + "\n" + STORM[40:])
    assert (match.id, match.exact) == ("a/1", True)


def test_max_text_is_inclusive(tmp_path: Path) -> None:
    done = ingest(tmp_path, line("n1") + line("n2", STORM + "。"), "--max-text", str(len(STORM)))
    assert [outcome for _, outcome, _, _ in what(done)] == ["new", "rejected"]
    assert "--max-text" in done.json[1]["reason"]


# --- where the lines come from -----------------------------------------------------------------------------


def test_files_and_standard_input_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(line("b1") + line("b2", HARVEST))
    (tmp_path / "a.jsonl").write_bytes(line("a1") + b"{\n")
    done = es_simhash("ingest --rule fingerprint --json b.jsonl - a.jsonl", cwd=tmp_path, stdin=line("s1"))
    places = ["b.jsonl:1", "b.jsonl:2", "stdin:1", "a.jsonl:1", "a.jsonl:2"]
    assert [each["place"] for each in done.json[:-1]] == places
    assert [each["duplicate_of"] for each in done.json[:-1]] == [None, None, "b1", "b1", None]


def test_more_files_than_may_be_open_are_read(tmp_path: Path) -> None:
    for number in range(150):
        (tmp_path / f"{number:03}.jsonl").write_bytes(line(number, "你好"))
    files = sorted(path.name for path in tmp_path.iterdir())
    done = subprocess.run(
        [*COMMAND, "ingest", *files],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[line("n1")], daemon=True)
    writer.start()
    done = es_simhash("ingest", "--rule", "fingerprint", "--json", "pipe", cwd=tmp_path)
    writer.join()
    assert what(done) == [("n1", "new", None, None)]


def test_a_file_name_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    (tmp_path / name).write_bytes(line("n1") + b"{\n")
    done = es_simhash("ingest", "--rule", "fingerprint", "--json", name, cwd=tmp_path)
    assert [each["place"] for each in done.json[:-1]] == ["caf\ufffd.jsonl:1", "caf\ufffd.jsonl:2"]


# --- terminals, pipes and interruptions --------------------------------------------------------------------


def on_a_terminal(folder: Path, *arguments: str, stdin: bool = False) -> tuple[int, str, str]:
    """Run with standard error (and input) on a terminal: the exit code, standard output, what the terminal got."""
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


def test_progress_is_shown_on_a_terminal_and_wiped_off_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(NEWS)
    code, out, shown = on_a_terminal(tmp_path, "ingest", "--json", "news.jsonl")
    assert code == 0
    assert "100%" in shown or "0%" in shown
    assert shown.endswith("\r")
    assert not shown.rstrip("\r").rpartition("\r")[2].strip()
    assert len([json.loads(each) for each in out.splitlines()]) == 7


def test_without_a_terminal_only_reasons_go_to_standard_error(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", cwd=tmp_path, stdin=NEWS + b"{}\n" + line("n7", HARVEST))
    assert done.err == "rejected: stdin:7: no field 'id': name the field that holds the id (--id-field)\n"
    assert "\r" not in done.out


def test_a_terminal_without_files_is_a_usage_error(tmp_path: Path) -> None:
    code, _, shown = on_a_terminal(tmp_path, "ingest", stdin=True)
    assert code == 2
    assert "no input: name a file of documents, or pipe them in" in shown


def test_ids_that_the_terminal_cannot_show_are_escaped(tmp_path: Path) -> None:
    done = es_simhash(
        "ingest --rule fingerprint", cwd=tmp_path, stdin=line("n1") + line("😀"), env={"PYTHONIOENCODING": "gbk"}
    )
    assert done.code == 0
    assert done.out.startswith("\\U0001f600  exact duplicate of n1\n")


def test_json_is_utf8_whatever_the_terminal_has(tmp_path: Path) -> None:
    done = es_simhash(
        "ingest --rule fingerprint --json", cwd=tmp_path, stdin=line("😀"), env={"PYTHONIOENCODING": "gbk"}
    )
    assert done.json[0]["id"] == "😀"
