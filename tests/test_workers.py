"""Worker processes change nothing but the time: the same outcomes, in the same places, whatever becomes of them."""

from __future__ import annotations

import logging
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents, Fingerprinter, Outcome
from es_simhash.ingest.reader import Reader
from es_simhash.lines import Line
from es_simhash.worker_process import _PROGRAM, _send
from es_simhash.workers import Workers
from tests.ingest import worker_pids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

STORM = "市气象台今晨发布暴雨橙色预警，城区部分路段已经出现积水，交警提醒市民提前规划路线，注意出行安全。"
BATCH = 20


def corpus(count: int) -> list[Any]:
    """Originals, copies, near-copies, repeated ids, and what can't be used, all over."""
    made: list[Any] = []
    for number in range(count):
        text: Any = f"{STORM}{number // 10}号" if number % 3 else f"另一条新闻，第{number}条，{STORM[number % 40 :]}"
        text = None if number % 17 == 5 else text
        made.append({"id": number if number % 13 else number // 2, "text": text} if number % 19 else Line("x", 5))
    return made


# Some are the same, some have another text, and their copies find another original.
STORED = [{"id": number, "text": f"{STORM}{number // 20}号"} for number in range(50, 150, 3)] + corpus(190)[180:]


def lines(count: int) -> list[Line]:
    return [Line(f"a:{number}", {"id": number, "text": STORM}) for number in range(count)]


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers(Reader(Fingerprinter(), "id", ("text",)), 1)
    yield workers
    workers.close()


def contents(documents: Documents) -> list[Any]:
    return sorted((row.id, row.fingerprint, row.digest, row.group, row.duplicate_of) for row in documents.export())


# --- the same ----------------------------------------------------------------------------------------------


def played(address: str, workers: int) -> tuple[list[Outcome], list[Any]]:
    with Documents(address) as documents:
        documents.setup(keys=False)
        list(documents.ingest(STORED, rule="fingerprint"))
        outcomes = list(documents.ingest(corpus(200), workers=workers, batch_size=BATCH, rule="fingerprint"))
        return outcomes, contents(documents)


@pytest.fixture(scope="module")
def alone() -> tuple[list[Outcome], list[Any]]:
    return played("sqlite:///:memory:", 0)


def test_the_documents_of_these_tests_have_every_outcome(alone: tuple[list[Outcome], list[Any]]) -> None:
    assert {outcome.outcome for outcome in alone[0]} == {
        "new",
        "updated",
        "unchanged",
        "exact_duplicate",
        "near_duplicate",
        "rejected",
    }


@pytest.mark.parametrize("workers", [1, 3])
def test_outcomes_and_store_are_those_without_workers(tmp_path: Path, alone: Any, workers: int) -> None:
    assert played(f"sqlite:///{tmp_path}/a.db", workers) == alone


@pytest.mark.slow
@pytest.mark.elasticsearch
def test_so_are_those_of_elasticsearch(elasticsearch_url: str, make_index: Callable[[], str], alone: Any) -> None:
    assert played(f"{elasticsearch_url}/{make_index()}", 2) == alone


# --- what can happen to them -------------------------------------------------------------------------------


def test_a_worker_that_is_killed_loses_nothing(workers: Workers, caplog: pytest.LogCaptureFixture) -> None:
    chunks = [lines(40) for _ in range(6)]
    begun = [workers.submit(chunk) for chunk in chunks]
    while not (pids := worker_pids()):  # a thread starts the process
        time.sleep(0.01)
    with caplog.at_level(logging.WARNING, "es_simhash"):
        os.kill(pids[0], signal.SIGKILL)
        read = [result() for result in begun]
        read.append(workers.submit(chunks[0])())
    assert [[item.id for item in items] for items in read] == [[str(number) for number in range(40)]] * 7
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "a worker process died (killed, or out of memory)"
    ]


def test_workers_that_cannot_start_lose_nothing(
    workers: Workers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", b"/no/such/python")
    chunks = [lines(3) for _ in range(4)]
    begun = [workers.submit(chunk) for chunk in chunks]
    with caplog.at_level(logging.WARNING, "es_simhash"):
        assert [[item.id for item in result()] for result in begun] == [["0", "1", "2"]] * 4
    [said] = caplog.messages
    assert "cannot start (" in said
    assert "No such file" in said


def test_a_run_goes_on_when_all_its_workers_are_killed() -> None:
    with Documents("sqlite:///:memory:") as documents:
        outcomes: list[Outcome] = []
        for outcome in documents.ingest(corpus(200), workers=2, batch_size=BATCH, rule="fingerprint"):
            outcomes.append(outcome)
            if len(outcomes) == 30:
                for pid in worker_pids():
                    os.kill(pid, signal.SIGKILL)
    with Documents("sqlite:///:memory:") as documents:
        assert outcomes == list(documents.ingest(corpus(200), rule="fingerprint"))


@pytest.mark.parametrize("value", [threading.Lock(), lambda: 5, [(1).__add__]], ids=["lock", "lambda", "method"])
def test_what_can_t_be_sent_to_a_worker_is_rejected_and_stops_nothing(value: Any) -> None:
    given = [{"id": 1, "text": "x"}, {"id": 2, "text": "x", "odd": value}, {"id": 3, "text": "x"}]
    with Documents("sqlite:///:memory:") as documents:
        outcomes = list(documents.ingest(given, workers=1, batch_size=1, rule="fingerprint"))
    assert [outcome.outcome for outcome in outcomes] == ["new", "rejected", "exact_duplicate"]
    assert "cannot be written as JSON" in (outcomes[1].reason or "")


RUN = """
import time
from es_simhash import Documents
documents = ({"id": n, "text": "x"} for n in range(10_000))
outcomes = Documents("sqlite:///:memory:").ingest(documents, workers=2, batch_size=10)
for _ in range(25):
    next(outcomes)
print("started", flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    """No such process, or one that ended and whose parent has not asked."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_workers_end_when_their_program_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(RUN)
    root = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"started\n"
        children = worker_pids(program.pid)
        program.kill()
    assert children
    end = time.monotonic() + 20
    while not all(map(gone, children)) and time.monotonic() < end:
        time.sleep(0.1)
    assert [pid for pid in children if not gone(pid)] == []


COUNTS_ITS_RUNS = """
from es_simhash import Documents

class Text(str):  # a worker does not know it
    pass

with open("runs", "a") as runs:
    runs.write("x")
print("printed by the script")
with Documents("sqlite:///:memory:") as documents:
    given = ({"id": n, "text": (Text if n % 7 == 3 else str)(f"第{n}条新闻")} for n in range(300))
    outcomes = list(documents.ingest(given, workers=2, batch_size=20))
    assert [outcome.id for outcome in outcomes if outcome.stored] == [str(n) for n in range(300)]
"""


def test_a_worker_whose_parent_has_ended_says_nothing() -> None:
    reader = pickle.dumps(Reader(Fingerprinter(), "id", ("text",)))
    command = [sys.executable, "-c", _PROGRAM, *sys.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # the end of a parent closes this first, or the other pipe
        _send(process.stdin, reader)
        _send(process.stdin, pickle.dumps(lines(2)))
        assert (process.stderr.read(), process.wait()) == (b"", 1)


@pytest.mark.parametrize("arguments", [["script.py"], ["-m", "script"], ["-"]], ids=" ".join)
def test_workers_do_not_run_the_main_module_again(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "script.py").write_text(COUNTS_ITS_RUNS)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        input=COUNTS_ITS_RUNS.encode(),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"printed by the script\n", b"")
    assert (tmp_path / "runs").read_text() == "x"


def test_a_close_does_not_wait_for_a_long_text(workers: Workers) -> None:
    text = "市气象台今晨发布暴雨橙色预警" * 500_000
    for number in range(3):
        workers.submit([Line("a:1", {"id": number, "text": text if number else "x"})])
    while not worker_pids():
        time.sleep(0.01)
    time.sleep(0.5)
    started = time.monotonic()
    workers.close()
    assert time.monotonic() - started < 3
    assert worker_pids() == []


# --- their number ------------------------------------------------------------------------------------------


def test_a_short_input_starts_no_process(workers: Workers) -> None:
    workers.submit(lines(3))()
    assert worker_pids() == []
