"""A signal stops every command at once, with 130 or 143. Nothing acknowledged is lost; a repetition does the rest."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from es_simhash import Documents
from tests.cli import COMMAND, STORM, environment, es_simhash, line, links, wait_until_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.posix

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
AGAIN = b"es-simhash: interrupted; run the same command again\n"
both = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[Any]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *words], cwd=folder, env=environment(), bufsize=0, **pipes) as process:
        yield process


@pytest.mark.slow
@pytest.mark.parametrize(("number", "resume"), [(signal.SIGINT, False), (signal.SIGTERM, True)])
def test_what_was_acknowledged_is_stored_and_a_repetition_does_the_rest(
    new_address: Callable[[], str], tmp_path: Path, number: int, resume: bool
) -> None:
    data = b"".join(line(id, f"第{id // 2}号公告，{STORM}") for id in range(4_000))
    (tmp_path / "news.jsonl").write_bytes(data)
    address = new_address()
    assert es_simhash("init --rule exact --store", address, cwd=tmp_path).code == 0
    words = ["ingest", "news.jsonl", "--json", "--workers", "1", "--store", address, *(["--resume", "c"] * resume)]
    with running(tmp_path, *words) as process:
        out = b"".join(process.stdout.readline() for _ in range(1_200))
        workers = psutil.Process(process.pid).children()
        process.send_signal(number)
        rest, err = process.communicate(timeout=20)
    *outcomes, counts = map(json.loads, (out + rest).splitlines())
    assert (process.returncode, err.strip()[:24]) == (SIGNALS[signal.Signals(number)], b"es-simhash: interrupted;")
    assert counts["total"] - len(outcomes) in (0, 1), "one may be counted, and not printed yet"
    assert len(outcomes) < 4_000
    acknowledged = {each["id"]: each["duplicate_of"] for each in outcomes}
    with Documents(address) as documents:
        documents.store.refresh()
    assert acknowledged.items() <= links(address).items()
    assert psutil.wait_procs(workers, timeout=20)[1] == []
    again = es_simhash("", *words, cwd=tmp_path)
    assert again.code == 0
    assert again.json[-1]["total"] >= 4_000 - len(outcomes)
    assert links(address) == {str(id): str(id - 1) if id % 2 else None for id in range(4_000)}


@pytest.mark.slow
@both
def test_a_command_that_waits_for_its_input_stops(tmp_path: Path, number: int) -> None:
    for words, data in (("ingest --workers 0", line(1)), ("seen add", b'{"user": "ann", "items": [1, 2]}\n')):
        with running(tmp_path, *words.split()) as process:
            process.stdin.write(data)
            wait_until_read(process)
            started = time.monotonic()
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
        assert time.monotonic() - started < 10
        assert (process.returncode, out) == (SIGNALS[signal.Signals(number)], b"")
        assert err.startswith(b"\nes-simhash: interrupted; ")


@pytest.mark.slow
@both
def test_a_command_without_input_stops(tmp_path: Path, number: int) -> None:
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
    assert done.stderr.strip() == AGAIN.strip()
