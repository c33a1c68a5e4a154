"""An error of the library names arguments; on the command line it names options."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

import es_simhash
from es_simhash.cli import cli
from es_simhash.console.option_names import _OPTIONS, with_options

PACKAGE = Path(es_simhash.__file__).parent
OF_COMMANDS = {"cli", "console", "tools"}
_OPTION = re.compile(r"--[a-z]")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("name the field that holds the id (id_field)", "name the field that holds the id (--id-field)"),
        ("give the time of the text (time='2024-05-01')", "give the time of the text (--time 2024-05-01)"),
        ("set confirm too (confirm=0.8): x", "set confirm too (--confirm 0.8): x"),
        ("that all of them are removed (everything=True)", "that all of them are removed (--everything)"),
        ("wait longer (request_timeout)", "wait longer (--timeout)"),
        ("id_field (that is no argument) (encodings)", "id_field (that is no argument) (encodings)"),
    ],
)
def test_options_stand_in_place_of_arguments(said: str, shown: str) -> None:
    assert with_options(said) == shown


def options_of(command: click.Command) -> set[str]:
    found = {name for parameter in command.params for name in parameter.opts}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            found |= options_of(inner)
    return found


def test_there_are_such_options() -> None:
    assert set(_OPTIONS.values()) - options_of(cli) <= {"--order"}  # of the Spark job


def messages(path: Path) -> list[str]:
    """Return the texts that a module raises or logs: all of its strings but docstrings, and no whole commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            told |= set(map(id, node.values))
            texts.append("".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            texts.append(node.value)
    return [re.sub(r"`es-simhash [^`]*(`|$)|^backfill .*", "", text) for text in texts]


def test_no_error_of_the_library_names_an_option() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in OF_COMMANDS and any(map(_OPTION.search, messages(path)))
    }
    assert found == set()
