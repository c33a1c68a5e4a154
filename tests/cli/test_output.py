"""What is printed: control characters escaped, columns in line; and output that cannot be written."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from es_simhash import Documents, Outcome, SeenItems, cli
from es_simhash.cli.output import OutcomePrinter, printable
from es_simhash.decide.result import MOVED
from tests.cli import COMMAND, STORM, STORM_FARTHER, environment, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROLS = [
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069",
]
RAW = re.compile("[{}]".format(re.escape("".join(each for each in CONTROLS if each != "\n"))))
ATTACK = "\x1b[31m\x9b2J\u202eid\x07"
SHOWN = r"\x1b[31m\x9b2J\u202eid\x07"


# --- control characters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_a_control_character_is_shown_escaped(control: str) -> None:
    code = ord(control)
    assert printable(f"a{control}b") == (f"a\\x{code:02x}b" if code < 256 else f"a\\u{code:04x}b")


def test_all_other_characters_are_shown_as_they_are() -> None:
    text = "橙色\u3000ａ é👩\u200d👩 ‘’"
    assert printable(text) == text


def test_no_command_prints_around_the_function_that_escapes() -> None:
    folder = Path(cli.__file__).parent
    sources = {path.name: path.read_text() for path in folder.rglob("*.py") if path.name != "output.py"}
    assert [name for name, source in sources.items() if re.search(r"click\.s?echo|(?<![\w.])print\(", source)] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest"],
        ["ingest", "--json"],
        ["similar", STORM],
        ["similar", "--json", STORM],
        ["similar", "--id", ATTACK + "3"],
        ["similar", "a", ATTACK],
        ["remove", "--yes", "--matching", json.dumps({ATTACK: {}})],
        ["seen", "unseen", "--user", ATTACK, ATTACK],
        [ATTACK],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_an_id_with_control_characters_is_printed_escaped(tmp_path: Path, arguments: list[str]) -> None:
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        documents.add({"id": ATTACK, "text": STORM})
    stdin = line(ATTACK + "2") + line(ATTACK, 5) if arguments[0] == "ingest" else b""
    done = es_simhash(*arguments, cwd=tmp_path, stdin=stdin)
    assert RAW.search(done.out + done.err) is None
    if "--json" in arguments:
        assert any(row.get("id", "").startswith(ATTACK) for row in done.json)
    elif arguments[0] != "seen":
        assert SHOWN in done.out + done.err


# --- output that cannot be written -------------------------------------------------------------------------

COMMANDS: list[tuple[Sequence[str], bytes]] = [
    (["--help"], b""),
    (["ingest", "--json", "--workers", "0"], line("b")),
    (["similar", STORM], b""),
    (["dedupe", "--workers", "0"], line("a")),
    (["doctor"], b""),
    (["seen", "add"], b'{"user": "ann", "items": [1, 2]}\n'),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store of a document and its near-duplicate, and of a user."""
    with Documents(f"sqlite:///{tmp_path}/es-simhash.db") as documents:
        documents.add_many([{"id": "a", "text": STORM}, {"id": "farther", "text": STORM_FARTHER}])
    with SeenItems(f"sqlite:///{tmp_path}/es-simhash.db") as seen:
        seen.add("ann", [1])
    return tmp_path


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize(("words", "stdin"), COMMANDS, ids=[" ".join(words)[:40] for words, _ in COMMANDS])
def test_standard_output_on_a_full_disk_is_one_line(folder: Path, words: Sequence[str], stdin: bytes) -> None:
    done = es_simhash(*words, cwd=folder, stdin=stdin, out="/dev/full")
    assert done.code == 1
    assert done.err.splitlines() == ["es-simhash: cannot write the output: No space left on device"]


@pytest.mark.posix
@pytest.mark.parametrize(("words", "stdin"), [(["ingest"], b"5\n"), (["nonsense"], b"")])
def test_standard_error_on_a_full_disk_is_silence(folder: Path, words: Sequence[str], stdin: bytes) -> None:
    assert es_simhash(*words, cwd=folder, stdin=stdin, err="/dev/full").code in (1, 2)


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize(("closed", "code"), [("<&-", 1), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_closed_streams_are_those_of_a_null_device(folder: Path, closed: str, code: int) -> None:
    command = " ".join([*COMMAND, "ingest", "--workers", "0", closed])
    done = subprocess.run(command, shell=True, cwd=folder, env=environment(), input=line("b"), capture_output=True)
    assert done.returncode == code
    said = b"es-simhash: no documents in stdin: give one JSON object per line\n"
    assert done.stderr == (said if closed == "<&-" else b"")


def test_a_backfill_beside_another_one_is_not_stopped_by_what_that_one_has_done() -> None:
    outcomes = (Outcome(str(number), "failed", reason=MOVED) for number in range(150))
    printer = OutcomePrinter("store", as_json=True, quiet=True)
    printer.show_all(outcomes, None, check=True)
    assert printer.counts["failed"] == 150
