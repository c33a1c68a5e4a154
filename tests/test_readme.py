"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli import cli

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def test_the_example_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = next(i for i, (language, _) in enumerate(BLOCKS) if language == "python")
    names: dict[str, Any] = {}
    exec(BLOCKS[place][1], names)
    names["documents"].close()
    assert capsys.readouterr().out == BLOCKS[place + 1][1]


def test_every_python_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, block in BLOCKS:
        if language == "python":
            names: dict[str, Any] = {}
            exec(block, names)
            if "documents" in names:
                names["documents"].close()


def commands_in(text: str) -> list[list[str]]:
    lines = [line.split("#")[0] for line in text.splitlines() if line.startswith("es-simhash ")]
    return [shlex.split(line)[1:] for line in lines]


def test_every_command_shown_is_understood() -> None:
    shown = [words for _, block in BLOCKS for words in commands_in(block)]
    assert shown
    for words in shown:
        command = cli.commands[words[0]]
        command.make_context(words[0], words[1:])  # parses, and raises for what it doesn't know


def test_every_command_is_shown() -> None:
    shown = {words[0] for _, block in BLOCKS for words in commands_in(block)}
    assert shown == set(cli.commands)


def test_every_option_has_a_help_text() -> None:
    for command in cli.commands.values():
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, (command.name, parameter.name)  # type: ignore[attr-defined]


def test_every_file_named_is_there() -> None:
    named = re.findall(r"`((?:es_simhash|mappings|docker|scripts|tests)/[\w./-]*)`", README)
    named += re.findall(r"\]\(([\w./-]+)\)", README) + re.findall(r"docker/[\w-]+\.yml", README)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
