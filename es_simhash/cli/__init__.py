"""What does a person call? One module per command: it parses options, calls the library once, and prints the result.

The exit codes are in :mod:`es_simhash.console.exits`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

import click

from es_simhash import __version__
from es_simhash.console import main as console
from es_simhash.console.help import Group

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

_COMMANDS = {
    "init": "cli.init",
    "doctor": "tools.doctor.command",
    "ingest": "cli.ingest",
    "similar": "cli.similar",
    "group": "cli.group",
    "report": "tools.review.report_command",
    "remove": "cli.remove",
    "dedupe": "tools.dedupe.command",
    "backfill": "cli.backfill",
    "compare": "tools.compare",
    "evaluate": "tools.evaluation.command",
    "seen": "cli.seen",
    "serve": "tools.serve.command",
}
"""Each command, and the module that defines it under its name. Nothing else in the core names a tool."""

EPILOG = """\b
Exit codes:
0    done
1    stopped by an error; or all documents were rejected, failed or not found
2    the command line is wrong
3    done, but some documents were rejected, failed or not found
4    stopped at a duplicate (--on-duplicate fail)
130  interrupted (Ctrl-C)
143  terminated (SIGTERM)

After an error or an interruption a command says how many documents are done so far. For evaluate read pairs in place of
documents. For the seen commands see es-simhash seen --help."""


@click.group(cls=Group, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Find near-duplicate documents in SQLite, Elasticsearch or OpenSearch. Made for Chinese texts.

    \b
    Store documents in SQLite and report duplicates. Then search them:
    es-simhash ingest news.jsonl
    es-simhash similar "市气象台发布暴雨预警…"

    \b
    The same in Elasticsearch:
    es-simhash init --store http://localhost:9200/news
    es-simhash ingest news.jsonl --store http://localhost:9200/news
    """


class _Commands(Mapping[str, click.Command]):
    """The commands by their names. The module of a command is imported when it is needed: to import all takes long."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = getattr(import_module(f"es_simhash.{_COMMANDS[name]}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


cli.commands = cast("MutableMapping[str, click.Command]", _Commands())


def import_command() -> None:
    """Import the module of the command that is called, if its name is the first argument."""
    if len(sys.argv) > 1 and sys.argv[1] in _COMMANDS:
        cli.commands[sys.argv[1]]


def main() -> None:
    """Run ``es-simhash``."""
    console.main(cli, "es-simhash")
