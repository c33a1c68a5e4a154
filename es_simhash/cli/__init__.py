"""What does a person call? One module per command: it parses options, calls the library once, and prints the result.

The exit codes are in :mod:`es_simhash.cli.exits`.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

import click

from es_simhash import __version__
from es_simhash.cli.backfill import backfill
from es_simhash.cli.compare import compare
from es_simhash.cli.copy import copy
from es_simhash.cli.doctor import doctor
from es_simhash.cli.evaluate import evaluate
from es_simhash.cli.exits import INTERRUPTED, STOPPED_BY_ERROR
from es_simhash.cli.export import export
from es_simhash.cli.fingerprint import fingerprint
from es_simhash.cli.group import group
from es_simhash.cli.groups import groups
from es_simhash.cli.help import Group
from es_simhash.cli.idf import idf
from es_simhash.cli.ingest import ingest
from es_simhash.cli.init import init
from es_simhash.cli.interrupt import Stopped
from es_simhash.cli.label import label
from es_simhash.cli.output import echo, printable, show_log_lines
from es_simhash.cli.remove import remove
from es_simhash.cli.report import report
from es_simhash.cli.seen import seen
from es_simhash.cli.similar import similar
from es_simhash.cli.size import size
from es_simhash.cli.stats import stats
from es_simhash.errors import SimhashError

EPILOG = """\b
Exit codes:
0    done
1    stopped by an error; or all documents were rejected, failed or not found
2    the command line is wrong
3    done, but some documents were rejected, failed or not found
4    stopped at a duplicate (--on-duplicate fail)
130  interrupted (Ctrl-C)
143  terminated (SIGTERM)

After an error or an interruption, ingest, backfill and copy print the counts of the documents done so far. For evaluate
read pairs in place of documents. For the seen commands see es-simhash seen --help."""


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


for command in (
    init,
    doctor,
    ingest,
    similar,
    group,
    groups,
    report,
    remove,
    export,
    backfill,
    copy,
    stats,
    size,
    compare,
    fingerprint,
    label,
    evaluate,
    idf,
    seen,
):
    cli.add_command(command)


def main(command: click.Command = cli, name: str = "es-simhash") -> None:
    """Run the command line. An error of the library is one line on standard error.

    So is an error of standard output, such as a full disk. If the reader of a pipe has ended, nothing is said.

    :param name: of the command, for messages.
    """
    try:
        code = _run(command, name)
    except OSError as error:  # input files have errors of their own, so this is the output
        code = _output_error(error)
    sys.exit(code)


def _run(command: click.Command, name: str) -> int:
    """Run the command, and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the terminal may not have all characters of an id
    show_log_lines()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt) as error:
        echo(f"{name}: interrupted", err=True)
        second = error.__cause__ or error
        return second.exit_code if isinstance(second, Stopped) else INTERRUPTED
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)  # it may quote an argument
        error.show()
        return error.exit_code
    except SimhashError as error:
        echo(f"{name}: {error}", err=True)
        return STOPPED_BY_ERROR
    return code or 0


def _output_error(error: OSError) -> int:
    if error.errno != errno.EPIPE:
        where = "the output" if error.filename is None else error.filename
        with suppress(OSError):  # standard error may be full, too
            os.write(2, f"es-simhash: cannot write {where}: {error.strerror or error}\n".encode())
    # What is still in a buffer would fail once more when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    return STOPPED_BY_ERROR
