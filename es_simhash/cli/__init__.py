"""What does a person call? One module per command: it parses options, calls the library once, and prints the result.

The commands of ``es_simhash.tools`` use the same options and print in the same way. The exit codes are in ``exits``.
"""

from __future__ import annotations

from importlib import import_module

import click

from es_simhash import __version__
from es_simhash.cli.exits import run
from es_simhash.cli.output import show_details

_COMMANDS = {
    "init": "cli.init",
    "doctor": "tools.doctor.command",
    "ingest": "cli.ingest",
    "similar": "cli.similar",
    "group": "cli.group",
    "report": "tools.report.command",
    "pin": "cli.pin",
    "remove": "cli.remove",
    "dedupe": "tools.dedupe.command",
    "backfill": "cli.ingest",
    "compare": "tools.compare",
    "evaluate": "tools.evaluation.command",
    "seen": "cli.seen",
    "serve": "tools.serve.command",
}
"""Each command, and the module that defines it under its name. Nothing else in the core names a tool."""

EPILOG = """\b
Exit codes:
0    done
1    stopped by an error; or all input was rejected, failed or not found
2    the command line is wrong
3    done, but some of the input was rejected, failed or not found
130  interrupted (Ctrl-C)
143  terminated (SIGTERM)"""


class _Commands(click.Group):
    """All commands. The module of a command is imported when it is needed: to import all takes long."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of this name."""
        module = _COMMANDS.get(cmd_name)
        return None if module is None else getattr(import_module(f"es_simhash.{module}"), cmd_name)


@click.group(cls=_Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbose", is_flag=True, help="Log each request to a server and each batch on standard error.")
@click.version_option(__version__)
def cli(verbose: bool) -> None:
    """Find near-duplicate documents in SQLite, Elasticsearch or OpenSearch. Made for Chinese texts.

    \b
    es-simhash ingest news.jsonl
    es-simhash similar "市气象台发布暴雨预警…"

    \b
    The same in Elasticsearch:
    es-simhash init --store http://localhost:9200/news
    es-simhash ingest news.jsonl --store http://localhost:9200/news
    """
    if verbose:
        show_details()


def main() -> None:
    """Run ``es-simhash``."""
    run(cli, "es-simhash")
