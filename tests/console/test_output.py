"""Output that cannot be written, and signals while the command starts: one line or silence, and a real exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, SeenItems
from tests.cli import COMMAND, STORM, STORM_FARTHER, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIR = b'{"a": "x", "b": "y", "duplicate": true}\n{"a": "x", "b": "z", "duplicate": false}\n'
LOG = b'{"user": "ann", "items": [1, 2]}\n'

COMMANDS: list[tuple[Sequence[str], bytes]] = [
    (["--help"], b""),
    (["--version"], b""),
    (["ingest", "--rule", "fingerprint", "--help"], b""),
    (["init", "--store", "sqlite:///new.db"], b""),
    (["ingest"], line("b")),
    (["ingest", "--rule", "fingerprint", "--json", "--workers", "0"], line("b")),
    (["similar", STORM], b""),
    (["similar", "--rule", "fingerprint", "--json", STORM], b""),
    (["group"], b""),
    (["remove", "a"], b""),
    (["export"], b""),
    (["restore", "removed.jsonl"], b""),
    (["backfill", "--rule", "fingerprint", "--again", "--text-field", "text"], b""),
    (["compare", STORM, STORM_FARTHER], b""),
    (["fingerprint", STORM], b""),
    (["evaluate", "-"], PAIR),
    (["idf"], line("a")),
    (["dedupe"], line("a")),
    (["doctor"], b""),
    (["groups", "show", "farther"], b""),
    (["report", "--rule", "fingerprint", "--out", "report.html"], b""),
    (["label", "--sample", "1"], b"q\n"),
    (["seen", "--help"], b""),
    (["serve", "--help"], b""),
    (["seen", "init", "--store", "sqlite:///new.db"], b""),
    (["seen", "add", "--user", "ann", "5"], b""),
    (["seen", "add"], LOG),
    (["seen", "forget", "--user", "ann", "1"], b""),
    (["seen", "rebuild"], LOG),
    (["seen", "unseen", "--user", "ann", "7"], b""),
    (["seen", "unseen"], b'{"user": "ann", "items": [7]}\n'),
    (["seen", "stats", "--user", "ann"], b""),
    (["seen", "rotate"], b""),
]
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store of a document and its near-duplicate, and of a user."""
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        items = [{"id": "a", "text": STORM}, {"id": "farther", "text": STORM_FARTHER}]
        list(documents.ingest(items, rule="fingerprint"))
        documents.remove_duplicates([], save=str(tmp_path / "removed.jsonl"))
    with SeenItems(f"sqlite:///{tmp_path}/es-simhash.db") as seen:
        seen.add("ann", [1])
    return tmp_path


def test_the_commands_of_this_test_write_and_are_all_commands(folder: Path) -> None:
    from es_simhash.cli import cli

    named = {words[0] for words, _ in COMMANDS}
    assert named >= set(cli.commands)
    for words, stdin in COMMANDS:
        assert es_simhash(*words, cwd=folder, stdin=stdin).out, words


@needs_full
@pytest.mark.parametrize(("words", "stdin"), COMMANDS, ids=[" ".join(words)[:40] for words, _ in COMMANDS])
def test_standard_output_on_a_full_disk_is_one_line(folder: Path, words: Sequence[str], stdin: bytes) -> None:
    done = es_simhash(*words, cwd=folder, stdin=stdin, out="/dev/full")
    assert (done.code, done.err) == (1, "es-simhash: cannot write the output: No space left on device\n")


@needs_full
@pytest.mark.parametrize(
    ("words", "stdin"), [(["ingest"], b"5\n"), (["nonsense"], b""), (["seen", "unseen"], b"5\n"), (["remove"], b"")]
)
def test_standard_error_on_a_full_disk_is_silence(folder: Path, words: Sequence[str], stdin: bytes) -> None:
    done = es_simhash(*words, cwd=folder, stdin=stdin, err="/dev/full")
    assert done.code in (1, 2)


@pytest.mark.parametrize(
    ("words", "stdin"), [(["export"], b""), (["ingest", "--rule", "fingerprint", "--workers", "0"], line("b"))]
)
def test_a_pipe_whose_reader_has_ended_is_silence(folder: Path, words: Sequence[str], stdin: bytes) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *words], cwd=folder, env=environment(), input=stdin, stdout=write, stderr=subprocess.PIPE
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(("closed", "code"), [("<&-", 1), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_closed_streams_are_those_of_a_null_device(folder: Path, closed: str, code: int) -> None:
    command = " ".join([*COMMAND, "ingest", "--rule", "fingerprint", "--workers", "0", closed])
    done = subprocess.run(command, shell=True, cwd=folder, env=environment(), input=line("b"), capture_output=True)
    assert done.returncode == code
    assert done.stderr == (
        b"es-simhash: no documents in stdin: give one JSON object per line\n" if closed == "<&-" else b""
    )


SIGNAL_AT_IMPORT = """
import os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a program that runs in the background ignores it

class Signals:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{signal})

sys.meta_path.insert(0, Signals())
sys.argv = ["es-simhash", "similar", "--store", "http://127.0.0.1:1/news", "text"]
runpy.run_module("es_simhash", run_name="__main__", alter_sys=True)
"""
MODULES = ["es_simhash.cli", "click", "numpy", "es_simhash.contract", "es_simhash.client"]
LATER = "elasticsearch"
"""A module that loads when the command has begun, so the command itself ends at SIGTERM."""


@pytest.mark.parametrize(
    ("module", "name", "code"),
    [
        *((module, "SIGTERM", -signal.SIGTERM) for module in MODULES),  # 143 in a shell
        *((module, "SIGINT", 130) for module in (*MODULES, LATER)),
        (LATER, "SIGTERM", 143),
    ],
)
@pytest.mark.slow
def test_a_signal_while_modules_load_ends_the_command_with_one_line(
    tmp_path: Path, module: str, name: str, code: int
) -> None:
    program = SIGNAL_AT_IMPORT.format(module=module, signal=name)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True)
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.strip() == (b"" if code < 0 else b"es-simhash: interrupted")
