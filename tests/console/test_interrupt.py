"""Ctrl-C and SIGTERM during an ingest: it finishes what it has read. A second signal stops it at once."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash import Documents
from es_simhash.console.interrupt import Interruptible
from es_simhash.deciding.outcome import OUTCOMES
from tests.cli import COMMAND, environment, es_simhash, line
from tests.stores.elasticsearch.test_odd_servers import server, usual

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

SIGNALS = [pytest.param(signal.SIGINT, 130, id="SIGINT"), pytest.param(signal.SIGTERM, 143, id="SIGTERM")]
FINISHING = b"es-simhash: finishing the documents that are already read; a second signal stops at once\n"
COUNT = 1_500


def news(count: int = COUNT) -> bytes:
    return b"".join(line(number, f"第{number}条新闻") for number in range(count))


@contextmanager
def running(folder: Path, *arguments: str, **options: Any) -> Iterator[Any]:
    """An ingest under way; killed at the end if it is not there."""
    process = subprocess.Popen(
        [*COMMAND, "ingest", "--rule", "fingerprint", "--json", "--batch-size", "50", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # or communicate would miss what readline read ahead
        **options,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: Any) -> tuple[int, list[Any], bytes]:
    """The exit code, what is left of standard output, and standard error."""
    out, err = process.communicate(timeout=40)
    assert b"Traceback" not in err, err.decode()
    return process.returncode, [json.loads(each) for each in out.splitlines()], err


def sum_of(counts: dict[str, int]) -> int:
    """The total, which must be the sum of all outcomes."""
    assert counts["total"] == sum(counts[outcome] for outcome in OUTCOMES)
    return counts["total"]


def stored(folder: Path) -> set[str]:
    with Documents(f"sqlite:///{folder / 'es-simhash.db'}") as documents:
        return {row.id for row in documents.export()}


def wait_for_handler(pid: int) -> None:
    """Until a process handles SIGTERM itself."""
    while True:
        [caught] = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("SigCgt")]
        if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.02)


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.slow
def test_from_a_file_lines_that_were_read_are_finished_and_the_next_run_continues(
    tmp_path: Path, number: int, code: int, workers: str
) -> None:
    (tmp_path / "news.jsonl").write_bytes(news())
    command = ["news.jsonl", "--resume", "x.checkpoint", "--workers", workers]
    with running(tmp_path, *command) as process:
        first = json.loads(process.stdout.readline())
        process.send_signal(number)
        returned, (*outcomes, counts), err = ended(process)
    assert (returned, err) == (code, FINISHING + b"es-simhash: interrupted\n")
    ids = [each["id"] for each in (first, *outcomes)]
    assert ids == [str(each) for each in range(len(ids))]
    assert sum_of(counts) == len(ids) < COUNT
    assert stored(tmp_path) == set(ids)
    *rest, counts = es_simhash("ingest", "--rule", "fingerprint", "--json", *command, cwd=tmp_path).json
    assert [each["id"] for each in rest] == [str(each) for each in range(len(ids), COUNT)]
    assert sum_of(counts) == COUNT


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_from_a_pipe_lines_that_were_read_are_finished(tmp_path: Path, number: int, code: int) -> None:
    with running(tmp_path, "--workers", "1") as process:
        process.stdin.write(news(330))
        process.stdin.flush()
        first = json.loads(process.stdout.readline())  # the pipe is idle now, or soon
        process.send_signal(number)
        returned, (*outcomes, counts), err = ended(process)
    assert (returned, err) == (code, FINISHING + b"es-simhash: interrupted\n")
    assert sum_of(counts) == len([first, *outcomes]) <= 330
    assert stored(tmp_path) == {first["id"], *(each["id"] for each in outcomes)}


@needs_proc
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_ends_an_ingest_that_waits_for_a_pipe(tmp_path: Path, number: int, code: int) -> None:
    with running(tmp_path) as process:
        wait_for_handler(process.pid)
        time.sleep(0.3)  # until it waits for a line
        process.send_signal(number)
        process.wait(timeout=40)  # with its input still open
        returned, (counts,), err = ended(process)
    assert (returned, counts["total"]) == (code, 0)
    assert err == FINISHING + b"es-simhash: interrupted\n"


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_an_export_that_is_interrupted_says_how_many_documents_it_has_printed(
    tmp_path: Path, number: int, code: int
) -> None:
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        list(documents.ingest(({"id": n, "text": f"第{n}条新闻"} for n in range(COUNT)), rule="exact"))
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen([*COMMAND, "export"], cwd=tmp_path, env=environment(), **pipes) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(1)  # until the pipe is full
        process.send_signal(number)
        out, err = process.communicate(timeout=40)
    assert process.returncode == code
    printed = (first + out).count(b"\n")
    said = re.fullmatch(
        rb"es-simhash: interrupted; ([0-9,]+) documents exported, others are missing: export again",
        err.splitlines()[-1],
    )
    assert said, err
    assert 0 < int(said[1].replace(b",", b"")) <= printed < COUNT


@needs_proc
def test_a_signal_during_the_skipping_of_finished_lines_is_an_interruption(tmp_path: Path) -> None:
    es_simhash("ingest", "--rule", "fingerprint", "--resume", "x.checkpoint", cwd=tmp_path, stdin=news(20))
    with running(tmp_path, "--resume", "x.checkpoint") as process:
        process.stdin.write(news(10))
        process.stdin.flush()
        wait_for_handler(process.pid)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=40)
        returned, (counts,), err = ended(process)
    assert (returned, counts["total"]) == (143, 20)
    assert err == FINISHING + b"es-simhash: interrupted\n"
    *rest, counts = es_simhash(
        "ingest --rule fingerprint --json --resume x.checkpoint", cwd=tmp_path, stdin=news(25)
    ).json
    assert ([each["id"] for each in rest], counts["total"]) == ([str(each) for each in range(20, 25)], 25)


@pytest.mark.parametrize("moment", range(12))
def test_after_a_signal_at_any_line_of_code_no_more_input_is_waited_for(moment: int) -> None:
    """Just before each line that :meth:`until_interrupted` runs, in turn."""
    interruptible = Interruptible()
    waited: list[bool] = []
    lines = 0

    def idle() -> Iterator[int]:
        for number in range(100):
            waited.append(interruptible.signal is not None)
            yield number

    def strike(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if frame.f_code is not interruptible.until_interrupted.__func__.__code__:
            return None
        if event == "line":
            lines += 1
            if lines == moment + 1:
                interruptible._handle(signal.SIGINT, None)
        return strike

    before = sys.gettrace()
    sys.settrace(strike)
    try:
        list(interruptible.until_interrupted(idle()))
    finally:
        sys.settrace(before)
    assert interruptible.signal == signal.SIGINT
    assert not any(waited)


@pytest.mark.parametrize(
    ("first", "second", "code"), [("SIGTERM", "SIGTERM", 143), ("SIGTERM", "SIGINT", 130), ("SIGINT", "SIGTERM", 143)]
)
@pytest.mark.slow
def test_the_exit_code_is_that_of_the_second_signal(tmp_path: Path, first: str, second: str, code: int) -> None:
    (tmp_path / "news.jsonl").write_bytes(news())
    with running(tmp_path, "news.jsonl", "--workers", "1", "--batch-size", "500") as process:
        process.stdout.readline()
        process.send_signal(signal.Signals[first])
        assert process.stderr.readline() == FINISHING
        process.send_signal(signal.Signals[second])
        returned, _, err = ended(process)
    assert (returned, err) == (code, b"\nes-simhash: interrupted\n")


@pytest.mark.slow
def test_a_second_signal_stops_at_once_and_with_a_checkpoint_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(news())
    command = ["news.jsonl", "--resume", "x.checkpoint", "--workers", "1"]
    with running(tmp_path, *command, "--batch-size", "500") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == FINISHING
        process.send_signal(signal.SIGINT)
        returned, _, err = ended(process)
    assert (returned, err) == (130, b"\nes-simhash: interrupted\n")  # the empty line is of the broken off
    counts = es_simhash("ingest", "--rule", "fingerprint", "--json", *command, cwd=tmp_path).json[-1]
    assert sum_of(counts) == COUNT
    assert stored(tmp_path) == {str(each) for each in range(COUNT)}


def test_ctrl_c_does_not_stop_workers_that_are_starting(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(news())
    with running(tmp_path, "news.jsonl", "--workers", "2", start_new_session=True) as process:
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        returned, (*outcomes, counts), err = ended(process)
    assert (returned, err) == (130, FINISHING + b"es-simhash: interrupted\n")
    assert counts["total"] == len(outcomes) + 1


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used: the wall clock also counts the work of others."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@needs_proc
def test_signals_are_honoured_inside_one_long_text(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_bytes(line("a", "市气象台今晨发布暴雨橙色预警" * 700_000))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with running(tmp_path, "news.jsonl", "--workers", "0") as process:
        wait_for_handler(process.pid)
        while cpu_seconds(process.pid) < 2.5:
            time.sleep(0.05)
        at_signal = cpu_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == FINISHING
        process.send_signal(signal.SIGINT)
        returned, _, err = ended(process)
    assert (returned, err.strip()) == (130, b"es-simhash: interrupted")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert used - at_signal < 2, "one second for each signal"


def test_sigterm_ends_a_run_on_a_slow_server_within_ten_seconds_and_the_counts_are_printed(tmp_path: Path) -> None:
    slow = False

    def answer(last: str, handler: Any) -> Any:
        if slow and last in ("_msearch", "_bulk"):
            time.sleep(8)
        if last == "_bulk":
            return {"errors": False, "items": [{"index": {"status": 201}}] * (len(handler.lines) // 2)}
        return usual(last, handler)

    with server(answer) as address, running(tmp_path, "--store", address, "--workers", "1") as process:
        process.stdin.write(news(600))
        process.stdout.readline()
        slow = True
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, lines, err = ended(process)
        seconds = time.monotonic() - started
    assert code == 143
    assert err.startswith(FINISHING + b"es-simhash: not all that was read is finished after 7 s\n")
    assert 0 < sum_of(lines[-1]) < 600
    assert seconds < 20  # 9 s, and a busy machine


def test_a_signal_after_an_error_of_the_input_does_not_stop_what_was_read_from_being_finished() -> None:
    def damaged() -> Iterator[int]:
        yield 1
        raise EOFError

    with Interruptible() as interruptible:
        with pytest.raises(EOFError):
            list(interruptible.until_interrupted(damaged()))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)
    assert interruptible.signal == signal.SIGINT
