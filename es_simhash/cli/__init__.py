"""The command line: a file a command; each parses, makes one call of the library, and prints.

What it ends with is in :mod:`es_simhash.cli.exits`.
"""

from __future__ import annotations

import io
import sys

import click

from es_simhash import __version__
from es_simhash.cli.backfill import backfill
from es_simhash.cli.compare import compare
from es_simhash.cli.evaluate import evaluate
from es_simhash.cli.exits import INTERRUPTED, STOPPED_BY_ERROR
from es_simhash.cli.export import export
from es_simhash.cli.fingerprint import fingerprint
from es_simhash.cli.group import group
from es_simhash.cli.idf import idf
from es_simhash.cli.ingest import ingest
from es_simhash.cli.init import init
from es_simhash.cli.interrupt import Stopped
from es_simhash.cli.remove import remove
from es_simhash.cli.seen import seen
from es_simhash.cli.similar import similar
from es_simhash.errors import SimhashError

EPILOG = """\b
Exit codes: 0 done; 1 stopped by an error, what was done before it is counted;
2 command not understood; 3 done, but some documents were rejected or failed;
4 stopped at a duplicate (--on-duplicate fail);
130 interrupted (Ctrl-C), 143 terminated (SIGTERM)."""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Find near-duplicate documents, mostly Chinese ones, in SQLite or Elasticsearch.

    \b
    es-simhash ingest news.jsonl               which articles are copies of which
    es-simhash similar "市气象台发布暴雨预警…"      what is stored that is near
    es-simhash init --store http://localhost:9200/news      the same on a cluster:
    es-simhash ingest news.jsonl --store http://localhost:9200/news
    """


for command in (init, ingest, backfill, similar, group, export, remove, fingerprint, compare, evaluate, idf, seen):
    cli.add_command(command)


def main() -> None:
    """Run the command line; errors of the library are one line on stderr."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an id may have characters that the terminal lacks
    try:
        sys.exit(cli.main(prog_name="es-simhash", standalone_mode=False))
    except click.Abort as error:
        click.echo("es-simhash: interrupted", err=True)
        sys.exit(error.__cause__.exit_code if isinstance(error.__cause__, Stopped) else INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SimhashError as error:
        click.echo(f"es-simhash: {error}", err=True)
        sys.exit(STOPPED_BY_ERROR)
