"""Faults around an ingest: full disks, files that can't be written, several at once, input that is cut."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.deciding.outcome import OUTCOMES
from es_simhash.errors import StoreError
from tests.cli import COMMAND, STORM, complaint, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow


def stored(folder: Path) -> dict[str, Any]:
    """The group of each document."""
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as documents:
        return {row.id: row.group for row in documents.export()}


def news(name: str, count: int) -> bytes:
    return b"".join(line(f"{name}{number}", f"{STORM}{number}号" * 3) for number in range(count))


# --- dead letters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["missing/x.dead", "folder", "news.jsonl/x.dead"])
def test_a_dead_letter_file_that_cannot_be_written_is_an_error_before_anything_is_stored(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "news.jsonl").write_bytes(line("a"))
    done = es_simhash("ingest", "--rule", "fingerprint", "news.jsonl", "--dead-letter", path, cwd=tmp_path)
    assert complaint(done).startswith(f"es-simhash: cannot write dead letters to {path}: ")
    assert not (tmp_path / "es-simhash.db").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize("checkpoint", [[], ["--resume", "x.checkpoint"]])
def test_a_disk_without_room_for_dead_letters_ends_the_run(tmp_path: Path, checkpoint: Sequence[str]) -> None:
    data = line("a") + b"5\n" + line("b")
    command = ["ingest", "--rule", "fingerprint", "--json", "--batch-size", "1", "--workers", "0", *checkpoint]
    done = es_simhash(*command, "--dead-letter", "/dev/full", cwd=tmp_path, stdin=data)
    assert (done.code, len(done.json)) == (1, 2)
    assert done.err == "es-simhash: cannot write dead letters to /dev/full: No space left on device\n"
    assert stored(tmp_path).keys() == {"a"}
    if checkpoint:  # nothing is lost: the next call has the dead letter
        done = es_simhash(*command, "--dead-letter", "x.dead", cwd=tmp_path, stdin=data)
        assert json.loads((tmp_path / "x.dead").read_bytes())["document"] == 5
        assert done.json[-1]["total"] == 3
        assert stored(tmp_path).keys() == {"a", "b"}


def test_dead_letters_are_appended_and_can_be_ingested(tmp_path: Path) -> None:
    for data in (b"5\n" + line("a"), b'{"id": 1\n'):
        es_simhash("ingest", "--rule", "fingerprint", "--dead-letter", "x.dead", cwd=tmp_path, stdin=data)
    done = es_simhash("ingest", "--rule", "fingerprint", "--json", "x.dead", "--dead-letter", "y.dead", cwd=tmp_path)
    assert [each["reason"].partition(": ")[0] for each in done.json[:-1]] == ["x.dead:1", "x.dead:2"]
    carried = [
        [{**json.loads(each), "reason": "", "place": ""} for each in (tmp_path / name).read_bytes().splitlines()]
        for name in ("x.dead", "y.dead")
    ]
    assert carried[0] == carried[1]


@pytest.mark.parametrize("room", [0, 50])
def test_a_dead_letter_without_room_on_the_disk_is_not_written_in_part(tmp_path: Path, room: int) -> None:
    limit, before = 1_000_000, b"5\n" * 500_000
    (tmp_path / "x.dead").write_bytes(before[room:])
    done = subprocess.run(
        [*COMMAND, "ingest", "--rule", "fingerprint", "--dead-letter", "x.dead", "--workers", "0"],
        cwd=tmp_path,
        env=environment(),
        input=b"6\n",
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    assert done.stderr.decode() == "es-simhash: cannot write dead letters to x.dead: File too large\n"
    assert (tmp_path / "x.dead").read_bytes() == before[room:]


def test_a_dead_letter_after_a_cut_one_starts_on_its_own_line(tmp_path: Path) -> None:
    cut = b'{"dead_letter": 1, "outcome": "reje'
    (tmp_path / "x.dead").write_bytes(cut)
    es_simhash("ingest", "--rule", "fingerprint", "--dead-letter", "x.dead", cwd=tmp_path, stdin=b"6\n7\n")
    first, *rest = (tmp_path / "x.dead").read_bytes().splitlines()
    assert first == cut
    assert [json.loads(each)["document"] for each in rest] == [6, 7]


@pytest.mark.parametrize("files", [["x.dead"], ["a.jsonl", "./x.dead"], ["link"], ["-"], ["/dev/stdin"]], ids=" ".join)
def test_an_input_file_cannot_be_the_dead_letter_file(tmp_path: Path, files: list[str]) -> None:
    dead = tmp_path / "x.dead"
    dead.write_bytes(b"5\n5\n5")
    (tmp_path / "link").symlink_to(dead)
    (tmp_path / "a.jsonl").write_bytes(line("a"))
    command = [
        *COMMAND,
        "ingest",
        "--rule",
        "fingerprint",
        *files,
        "--dead-letter",
        "x.dead",
        "--batch-size",
        "1",
        "--workers",
        "0",
    ]
    with dead.open("rb") as stdin:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdin=stdin, capture_output=True, text=True, timeout=20
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == ("es-simhash: --dead-letter and the input are one file, x.dead: name two files\n")
    assert dead.read_bytes() == b"5\n5\n5"
    assert not (tmp_path / "es-simhash.db").exists()


def test_dev_null_can_be_input_and_dead_letter_file(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", "/dev/null", "--dead-letter", "/dev/null", cwd=tmp_path)
    assert done.err == "es-simhash: no documents in /dev/null: give one JSON object per line\n"


# --- the disk ----------------------------------------------------------------------------------------------


def test_a_full_disk_is_a_clear_error_and_every_line_that_was_read_has_an_outcome(tmp_path: Path) -> None:
    data = news("a", 1_000)
    (tmp_path / "news.jsonl").write_bytes(data)
    done = subprocess.run(
        [
            *COMMAND,
            "ingest",
            "--rule",
            "fingerprint",
            "news.jsonl",
            "--json",
            "--batch-size",
            "100",
            "--dead-letter",
            "/dev/null",
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000)),
    )
    *outcomes, counts = [json.loads(each) for each in done.stdout.splitlines()]
    assert done.returncode == 1
    assert done.stderr.decode() == "es-simhash: sqlite:///es-simhash.db: disk I/O error; nothing more was read\n"
    assert [each["id"] for each in outcomes] == [f"a{number}" for number in range(len(outcomes))]
    assert 100 <= len(outcomes) == counts["total"] < 1_000
    acknowledged = {each["id"] for each in outcomes if each["stored"]}
    assert acknowledged
    assert {each["outcome"] for each in outcomes if not each["stored"]} == {"failed"}
    assert stored(tmp_path).keys() == acknowledged


def test_an_ingest_into_a_full_store_continues_when_there_is_room() -> None:
    documents = Documents("sqlite:///:memory:", deadline=0.2)
    documents.setup(keys=False)
    given = [{"id": number, "text": f"{STORM}{number}"} for number in range(200)]
    connection = documents._store._database._connection  # type: ignore[union-attr]
    connection.execute("PRAGMA max_page_count = 40")
    found: list[Any] = []
    with pytest.raises(StoreError, match="the disk is full: make room and try again"):
        found.extend(documents.ingest(given, batch_size=10, rule="fingerprint"))
    assert {row.id for row in documents.export()} == {outcome.id for outcome in found if outcome.stored}
    connection.execute("PRAGMA max_page_count = 4000")
    assert {outcome.outcome for outcome in documents.ingest(given, rule="fingerprint")} == {
        "unchanged",
        "near_duplicate",
    }


# --- several at once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 4])
def test_several_ingests_into_one_new_file_lose_nothing_and_group_merges_their_duplicates(
    tmp_path: Path, count: int
) -> None:
    names = "abcd"[:count]
    for name in names:
        (tmp_path / f"{name}.jsonl").write_bytes(news(name, 150) + b"5\n")
    command = [*COMMAND, "ingest", "--rule", "fingerprint", "--json", "--batch-size", "20", "--workers", "0"]
    running = [
        subprocess.Popen([*command, f"{name}.jsonl"], cwd=tmp_path, env=environment(), stdout=-1, stderr=-1)
        for name in names
    ]
    for process in running:
        out, err = process.communicate(timeout=60)
        counts = json.loads(out.splitlines()[-1])
        assert (process.returncode, err) == (3, b"")
        assert counts["total"] == 151 == sum(counts[outcome] for outcome in OUTCOMES)
        assert counts["rejected"] == 1
    assert stored(tmp_path).keys() == {f"{name}{number}" for name in names for number in range(150)}
    es_simhash("group", "--rule", "fingerprint", cwd=tmp_path)
    groups = stored(tmp_path)
    assert all(len({groups[f"{name}{number}"] for name in names}) == 1 for number in range(150))


# --- the input ---------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_leaves_no_worker(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(news("a", 2_000))
    command = [
        *COMMAND,
        "ingest",
        "--rule",
        "fingerprint",
        "--json",
        "--workers",
        "1",
        "--batch-size",
        "20",
        "news.jsonl",
    ]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""  # the workers have it too: it is at its end when they are
    assert process.returncode == 1
    assert process.returncode != -signal.SIGPIPE
