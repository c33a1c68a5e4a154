"""Control characters of ids, texts and messages never reach a terminal: they are printed escaped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from es_simhash import Documents, cli
from es_simhash.console.output import printable
from tests.cli import STORM, complaint, es_simhash, line

CONTROLS = [
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069",
]
RAW = re.compile("[{}]".format(re.escape("".join(each for each in CONTROLS if each != "\n"))))
ATTACK = "\x1b[31m\x9b2J\u202eid\x07"
SHOWN = r"\x1b[31m\x9b2J\u202eid\x07"


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


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with a store whose documents have ids with control characters."""
    with Documents(f"sqlite:///{tmp_path / 'es-simhash.db'}") as documents:
        list(documents.ingest([{"id": ATTACK, "text": STORM}], rule="fingerprint"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest"],
        ["ingest", "--rule", "fingerprint", "--json"],
        ["similar", STORM],
        ["similar", "--rule", "fingerprint", STORM, "--json"],
        ["export"],
        ["group"],
        ["group", "--rule", "fingerprint", "--json"],
        ["ingest", "--rule", "fingerprint", "--on-duplicate", "fail"],
    ],
    ids=" ".join,
)
def test_an_id_with_control_characters_is_printed_escaped(stored: Path, arguments: list[str]) -> None:
    stdin = line(ATTACK + "2") if arguments[0] == "ingest" else b""
    done = es_simhash(*arguments, cwd=stored, stdin=stdin)
    assert RAW.search(done.out + done.err) is None
    if "--json" not in arguments and arguments[0] not in ("export", "group"):
        assert SHOWN in done.out + done.err


def test_json_output_keeps_every_character_of_an_id(stored: Path) -> None:
    assert [each["id"] for each in es_simhash("export", cwd=stored).json] == [ATTACK]


@pytest.mark.parametrize(
    "arguments",
    [
        ["similar", "--rule", "fingerprint", "--id", ATTACK + "3"],
        ["remove", "--rule", "fingerprint", "--matching", json.dumps({ATTACK: {}})],
    ],
    ids=lambda each: each[0],
)
def test_an_error_shows_control_characters_escaped(stored: Path, arguments: list[str]) -> None:
    said = complaint(es_simhash(*arguments, cwd=stored))
    assert RAW.search(said) is None


def test_a_usage_error_shows_control_characters_escaped(tmp_path: Path) -> None:
    done = es_simhash("similar", "--rule", "fingerprint", "a", ATTACK, cwd=tmp_path)
    assert done.code == 2
    assert SHOWN in done.err
    assert RAW.search(done.err) is None


def test_a_rejected_line_shows_control_characters_escaped(tmp_path: Path) -> None:
    done = es_simhash("ingest", "--rule", "fingerprint", cwd=tmp_path, stdin=line("a", 5) + line(ATTACK) + line(ATTACK))
    assert done.code == 3
    assert RAW.search(done.err) is None


@pytest.mark.parametrize("json_option", [[], ["--json"]], ids=["text", "json"])
def test_seen_items_show_control_characters_escaped(tmp_path: Path, json_option: list[str]) -> None:
    done = es_simhash("seen", "unseen", "--user", ATTACK, ATTACK, *json_option, cwd=tmp_path)
    assert done.code in (0, 1)
    assert RAW.search(done.out + done.err) is None
