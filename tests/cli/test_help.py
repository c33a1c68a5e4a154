"""``--help``, ``--version``, shell completion, and what is said about a mistyped command or option."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import click
import pytest
from click.testing import CliRunner

import es_simhash as package
from es_simhash.cli import cli
from tests.cli import environment, es_simhash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCREEN = 40


def named(group: click.Group, name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = named(group, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = [((), cli), *commands()]
each_command = pytest.mark.parametrize(
    ("path", "command"), [pytest.param(*each, id=" ".join(("es-simhash", *each[0]))) for each in ALL]
)


def options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def help_of(path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(cli, [*path, "--help"], prog_name="es-simhash", terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_store_is_named_by_the_same_four_options_everywhere() -> None:
    for path, command in ALL:
        names = {option.opts[0] for option in options(command)}
        if "--store" in names:
            assert names >= {"--api-key", "--ca-certs", "--deadline"}, path
        assert ("--scheme" in names) == ("--html" in names) == (path in {("init",), ("dedupe",), ("compare",)}), path


@each_command
def test_help_fits_on_a_screen_and_documents_each_option(path: tuple[str, ...], command: click.Command) -> None:
    text = help_of(path)
    rows = text.splitlines()
    assert len(rows) <= SCREEN
    for row in rows:
        assert sum(2 if east_asian_width(character) in "WF" else 1 for character in row) <= 80, row
    for option in options(command):
        assert option.help, option
        assert option.opts[-1] in text


@each_command
def test_help_has_examples_that_the_command_understands(path: tuple[str, ...], command: click.Command) -> None:
    examples = re.findall(r"^ +(?:.* \| )?es-simhash (.*?)(?: {3,}.*| [>|] .*)?$", help_of(path), re.MULTILINE)
    assert examples
    for example in examples:
        assert example.startswith(" ".join(path))
        words = shlex.split(re.sub(r"\$\(.*?\)", "0", example))
        parsing: click.Command = cli
        while isinstance(parsing, click.Group):
            parsing = named(parsing, words.pop(0))
        parsing.make_context("", words)  # parses, and raises for what it doesn't know


def test_help_explains_every_exit_code() -> None:
    said = " ".join(help_of(()).split())
    codes = ["0 done", "1 stopped by an error; or all", "2 the command", "3 done, but"]
    assert [code for code in (*codes, "130 interrupted", "143 terminated") if code not in said] == []


def test_help_loads_no_dictionary_and_a_command_imports_no_other_one(tmp_path: Path) -> None:
    program = (
        "import sys, click; from es_simhash.cli import _COMMANDS, cli\n"
        "cli.get_command(click.Context(cli), 'similar')\n"
        "modules = {f'es_simhash.{module}' for module in _COMMANDS.values()}\n"
        "print(*sorted((modules | {'jieba', 'rjieba', 'elasticsearch'}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["es_simhash.cli.similar"]


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = es_simhash("--version", cwd=tmp_path)
    assert (done.code, done.out) == (0, f"es-simhash, version {package.__version__}\n")


@pytest.mark.parametrize("group", ["", "seen"])
def test_a_group_of_commands_alone_shows_its_help(group: str, tmp_path: Path) -> None:
    done = es_simhash(group, cwd=tmp_path)
    assert done.err.splitlines()[0] == f"Usage: {' '.join(['es-simhash', *group.split()])} [OPTIONS] COMMAND [ARGS]..."


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        ("ingets", "No such command 'ingets'"),
        ("seen unsen", "No such command 'unsen'"),
        ("ingest --on-duplicates skip", "--on-duplicate"),
        ("similar --fitler {}", "--filter"),
    ],
)
def test_a_mistyped_word_is_an_error_and_a_mistyped_option_names_the_nearest(
    tmp_path: Path, words: str, nearest: str
) -> None:
    done = es_simhash(words, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert nearest in done.err


def test_the_shell_completes_commands_options_and_files(tmp_path: Path) -> None:
    for words, completed in (
        ("es-simhash in", "plain,ingest"),
        ("es-simhash ingest --enc", "plain,--encoding"),
        *((f"es-simhash {each} n", "file,n") for each in ("ingest", "pin", "dedupe --report", "remove --save")),
    ):
        env = {"_ES_SIMHASH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        assert completed in es_simhash("", cwd=tmp_path, env=env, alone=True).out.splitlines()
