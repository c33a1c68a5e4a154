"""``es-simhash restore``: take back what ``remove --duplicates --save`` removed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.help import Command
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import open_documents, scheme_options

_NAMED = 10
"""Documents that are named in the text output."""


@click.command(cls=Command)
@click.argument("file", metavar="FILE")
@json_option
@store_options
@scheme_options
def restore(file: str, as_json: bool, **store: Any) -> None:
    """Store again what remove --duplicates --save removed.

    The documents come back exactly as they were, with their links. Documents that stayed get the links back that the
    removal changed. No ingest pipeline changes them.

    \b
    es-simhash restore removed.jsonl --store http://localhost:9200/news

    \f
    A document that exists again with other contents stays as it is, and is named on standard error. Then the exit code
    is 3, or 1 if no document was restored. You can interrupt the command and run it again.
    """
    with open_documents(**store) as documents:
        report = documents.restore(file)
    if as_json:
        print_json(asdict(report))
    else:
        links = f"the links of {count_of(report.relinked, 'document')} that stayed"
        echo(f"restored {count_of(report.restored, 'document')}, and {links}")
        if report.kept:
            named = ", ".join(report.kept[:_NAMED]) + (", …" if len(report.kept) > _NAMED else "")
            kept = count_of(len(report.kept), "document")
            echo(f"kept {kept} as now stored, because the contents are others: {named}", err=True)
        for id, reason in list(report.refused.items())[:_NAMED]:
            echo(f"{id}: {reason}", err=True)
    not_done = len(report.kept) + len(report.refused)
    exit_unless_all_done(not_done, report.restored + not_done)
