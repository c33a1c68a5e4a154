"""``--help`` of each command fits on a screen, and ``--help-all`` explains everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from es_simhash.cli import cli
from es_simhash.console.help import Command
from tests.cli import es_simhash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCREEN = 60


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


each_command = pytest.mark.parametrize(
    ("path", "command"),
    [pytest.param(*each, id=" ".join(("es-simhash", *each[0]))) for each in [((), cli), *commands()]],
)


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, prog_name="es-simhash")
    assert result.exit_code == 0, result.output
    return result.output


@each_command
def test_help_fits_on_a_screen_and_no_text_is_cut(path: tuple[str, ...], command: click.Command) -> None:
    text = shown(*path, "--help")
    assert len(text.splitlines()) <= SCREEN
    assert "..." not in text.replace("[ARGS]...", "")


@each_command
def test_every_option_is_named_in_help_and_explained_in_help_all(path: tuple[str, ...], command: click.Command) -> None:
    if not isinstance(command, Command):
        return  # a group has no options of its own
    short, long = shown(*path, "--help"), " ".join(shown(*path, "--help-all").replace("-", "").split())
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in short
            help = " ".join((parameter.help or "").replace("-", "").split())
            assert help.partition("  ")[0] in long


@pytest.mark.parametrize("group", ["", "groups", "seen"])
def test_a_group_of_commands_alone_shows_its_help(group: str, tmp_path: Path) -> None:
    done = es_simhash(group, cwd=tmp_path)
    shown = done.out or done.err  # click before 8.2 prints it on standard output
    assert shown.splitlines()[0] == f"Usage: {' '.join(['es-simhash', *group.split()])} [OPTIONS] COMMAND [ARGS]..."
    assert "Commands:" in shown.splitlines()
