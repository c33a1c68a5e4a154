"""Worker processes change nothing but the time: the same outcomes, in the same places, whatever becomes of them."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from es_simhash import Documents, DuplicateRule, Fingerprinter, Outcome
from es_simhash.decide.outcome import Document
from es_simhash.decide.rule import ResolvedRule
from es_simhash.ingest.reader import IdField, Reader
from es_simhash.ingest.workers import Workers
from es_simhash.lines import Line
from tests.cli import environment
from tests.client import STORM, before
from tests.ingest import contents, worker_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


def corpus(count: int) -> list[Any]:
    """Originals, copies, near-copies, repeated ids, and what can't be used, all over."""
    made: list[Any] = []
    for number in range(count):
        text: Any = f"{STORM}{number // 10}号" if number % 3 else f"另一条新闻，第{number}条，{STORM[number % 40 :]}"
        text = None if number % 17 == 5 else text
        made.append({"id": number if number % 13 else number // 2, "text": text} if number % 19 else Line("x", 5))
    return made


def lines(count: int) -> list[Line]:
    return [Line(f"a:{number}", {"id": number, "text": STORM}) for number in range(count)]


@pytest.fixture
def workers() -> Iterator[Workers]:
    rule = ResolvedRule(DuplicateRule("fingerprint", text_field="text"), Fingerprinter(), keys=False)
    with closing(Workers(Reader(rule, IdField("id", is_stored=True)), 1)) as workers:
        yield workers


def test_documents_that_are_stored_as_they_are_cost_no_write(new_address: Callable[[], str]) -> None:
    """With workers, also a batch that was looked up before all documents of the store are held in memory."""
    address = new_address()
    sources = [{"id": number, "text": f"第{number}号公告，{STORM}"} for number in range(1_600)]
    for outcome in ("new", "unchanged"):
        with Documents(address) as documents:
            documents.setup("exact")
            writes = before(documents.store, "write")
            assert {made.outcome for made in documents.ingest(sources, workers=1)} == {outcome}
            assert bool(writes) == (outcome == "new")


def played(workers: int, *, kill: bool = False) -> tuple[list[Outcome], list[Any]]:
    with Documents("memory://") as documents:
        documents.setup("fingerprint")
        outcomes: list[Outcome] = []
        for outcome in documents.ingest(corpus(4_000), workers=workers):
            outcomes.append(outcome)
            if kill and len(outcomes) == 600:
                for worker in worker_processes():
                    worker.kill()
        return outcomes, contents(documents)


def test_outcomes_and_store_are_those_without_workers(caplog: pytest.LogCaptureFixture) -> None:
    alone = played(0)
    assert {outcome.outcome for outcome in alone[0]} >= {"new", "updated", "exact_duplicate", "rejected"}
    assert played(2) == alone
    assert worker_processes() == []
    with caplog.at_level(logging.WARNING, "es_simhash"):
        assert played(2, kill=True) == alone
    assert [message.partition(" (")[0] for message in caplog.messages] == ["the worker processes ended"]


def test_what_can_t_be_sent_to_a_worker_is_read_here(workers: Workers) -> None:
    workers.submit(lines(1))()
    odd = [Line("a:1", {"id": 1, "text": STORM, "odd": threading.Lock()}), *lines(1)]
    for _ in range(2):
        assert [item.row.id if isinstance(item, Document) else item.id for item in workers.submit(odd)()] == ["1", "0"]
    assert [item.row.id for item in workers.submit(lines(3))() if isinstance(item, Document)] == ["0", "1", "2"]


def test_a_short_input_starts_no_process(workers: Workers) -> None:
    workers.submit(lines(3))()
    assert worker_processes() == []


def test_a_close_does_not_wait_for_a_long_text(workers: Workers) -> None:
    text = "市气象台今晨发布暴雨橙色预警" * 500_000
    for number in range(3):
        workers.submit([Line("a:1", {"id": number, "text": text if number else "x"})])
    time.sleep(1)
    started = time.monotonic()
    workers.close()
    assert time.monotonic() - started < 5
    assert worker_processes() == []


def test_a_run_ends_where_no_other_program_is_installed() -> None:  # as in python:3-slim
    program = (
        "from es_simhash import Documents\n"
        "documents = ({'id': n, 'text': 'x'} for n in range(2_000))\n"
        "print(len(list(Documents('memory://').ingest(documents, workers=2))))"
    )
    env = environment(PATH="/none")
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("2000\n", "")


RUN = """
import time
from es_simhash import Documents
print("printed by the script", flush=True)
documents = ({"id": n, "text": "x"} for n in range(100_000))
outcomes = Documents("memory://").ingest(documents, workers=2)
for _ in range(1_100):
    next(outcomes)
print("started", flush=True)
time.sleep(60)
"""


def test_workers_do_not_run_the_script_again_and_end_when_it_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(RUN)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment()) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"printed by the script\n"
        assert program.stdout.readline() == b"started\n"
        children = worker_processes(program.pid)
        program.kill()
    assert children
    _, left = psutil.wait_procs(children, timeout=20)
    assert left == []


def test_no_worker_is_left_when_the_program_is_killed_while_they_start(tmp_path: Path) -> None:
    mark = {"MARK_OF_TEST": str(tmp_path)}

    def left() -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if mark.items() <= environment_of(process).items()]

    (tmp_path / "script.py").write_text(RUN)
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, tmp_path / "script.py"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(**mark),
        ) as program:
            while not worker_processes(program.pid):
                assert program.poll() is None
                time.sleep(0.01)
            time.sleep(random.uniform(0, 1))
            program.kill()
    _, alive = psutil.wait_procs(left(), timeout=10)
    for process in alive:
        process.kill()
    assert alive == []


def environment_of(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}
