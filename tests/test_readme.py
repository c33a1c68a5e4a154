"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def test_the_examples_print_what_stands_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for (language, block), (next_language, output) in pairwise([*BLOCKS, ("", "")]):
        if language == "python":
            exec(block, names)
            printed = capsys.readouterr().out
            assert printed == (output if printed else ""), block
            assert bool(printed) == bool(re.search(r"\bprint\(", block))
            assert next_language == "" or not printed
    names["documents"].close()
    names["seen"].close()


def commands_in(text: str) -> list[list[str]]:
    lines = [line.split("#")[0] for line in text.splitlines() if line.startswith("es-simhash ")]
    return [shlex.split(line)[1:] for line in lines]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    command: click.Command = cli
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def all_commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from all_commands(command)
        else:
            yield command


def test_every_command_shown_is_understood() -> None:
    shown = [words for _, block in BLOCKS for words in commands_in(block)]
    assert shown
    for words in shown:
        command, arguments = command_of(words)
        command.make_context(command.name, arguments)  # parses, and raises for what it doesn't know


def test_every_command_is_shown() -> None:
    shown = {id(command_of(words)[0]) for _, block in BLOCKS for words in commands_in(block)}
    assert {command.name for command in all_commands(cli) if id(command) not in shown} == set()


def test_every_option_has_a_help_text() -> None:
    for command in all_commands(cli):
        for parameter in command.params:
            assert isinstance(parameter, click.Argument) or parameter.help, (command.name, parameter.name)  # type: ignore[attr-defined]


def test_every_file_named_is_there() -> None:
    named = re.findall(r"`((?:es_simhash|mappings|docker|scripts|tests)/[\w./-]*)`", README)
    named += re.findall(r"\]\(([\w./-]+)\)", README) + re.findall(r"docker/[\w-]+\.yml", README)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
