"""The first signal ends the input, the second one stops the command; it says what is done, with 130 or 143."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from es_simhash.cli.exits import Interruptible, Stopped
from tests.cli import COMMAND, STORM, environment, es_simhash, line, wait_until_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
FINISHING = b"es-simhash: finishing the batch that is already read; a second signal stops at once\n"
both = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[Any]:
    with subprocess.Popen(
        [*COMMAND, *words], cwd=folder, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-1
    ) as process:
        yield process


@both
def test_a_pipe_without_more_input_ends_at_the_first_signal_and_what_was_read_is_stored(
    tmp_path: Path, number: int
) -> None:
    with running(tmp_path, "ingest", "--json", "--workers", "0") as process:
        for id in range(50):
            process.stdin.write(line(id, f"{STORM}{id}"))
        wait_until_read(process)
        started = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (SIGNALS[signal.Signals(number)], FINISHING + b"es-simhash: interrupted\n")
    assert json.loads(out.splitlines()[-1])["total"] == 50
    assert time.monotonic() - started < 10
    again = b"".join(line(id, f"{STORM}{id}") for id in range(50))
    assert es_simhash("ingest --json --workers 0", cwd=tmp_path, stdin=again).json[-1]["unchanged"] == 50


def test_a_long_file_ends_after_the_batch_with_the_counts_and_is_resumed(tmp_path: Path) -> None:
    count = 2_500
    (tmp_path / "news.jsonl").write_bytes(b"".join(line(id, f"{STORM}{id}号" * 3) for id in range(count)))
    assert es_simhash("init --rule exact", cwd=tmp_path).code == 0
    words = ["ingest", "news.jsonl", "--json", "--resume", "c"]
    with running(tmp_path, *words) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    counts = json.loads(out.splitlines()[-1])
    assert process.returncode == 143
    assert (err, counts["failed"]) == (FINISHING + b"es-simhash: interrupted\n", 0)
    assert 0 < counts["total"] < count
    done = es_simhash(*words, "--workers", "0", cwd=tmp_path)
    assert done.code == 0
    assert len(done.json) - 1 + counts["total"] == count


@both
def test_the_second_signal_stops_at_once(tmp_path: Path, number: int) -> None:
    assert es_simhash("init --rule exact", cwd=tmp_path).code == 0
    (tmp_path / "news.jsonl").write_bytes(b"".join(map(line, range(4_000))))
    with running(tmp_path, "ingest", "news.jsonl", "--json", "--workers", "0") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == FINISHING
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode in (130, 143)  # the batch may have ended before the second one
    assert err.strip().startswith(b"es-simhash: interrupted")


@both
def test_a_command_without_input_stops_at_the_first_signal(tmp_path: Path, number: int) -> None:
    program = (
        "import os, sys; from es_simhash.cli import main\n"
        "class Signals:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == 'elasticsearch': os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Signals())\n"
        "sys.argv = ['es-simhash', 'group', '--store', 'http://127.0.0.1:1/news']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True)
    assert (done.returncode, done.stdout) == (SIGNALS[signal.Signals(number)], b"")
    assert done.stderr.strip() == b"es-simhash: interrupted"


def test_seen_items_of_the_lines_before_a_signal_are_added(tmp_path: Path) -> None:
    with running(tmp_path, "seen", "add") as process:
        process.stdin.write(b'{"user": "ann", "items": [1, 2]}\n')
        wait_until_read(process)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, b"1 line, 2 items, 2 not seen before, 0 lines rejected, 0 users failed\n")


def test_a_signal_after_an_error_of_the_input_stops_nothing_that_was_read() -> None:
    def damaged() -> Iterator[int]:
        yield 1
        raise EOFError

    with Interruptible() as interruptible:
        with pytest.raises(EOFError):
            list(interruptible.until_interrupted(damaged()))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)
        assert interruptible.signal == signal.SIGINT
        assert list(interruptible.until_interrupted(iter([1]))) == []
        with pytest.raises(Stopped):
            os.kill(os.getpid(), signal.SIGTERM)
