"""``es-simhash doctor``: look for everything that a load needs, before the load."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Any

import click

from es_simhash.console.exits import STOPPED_BY_ERROR
from es_simhash.console.help import Command
from es_simhash.console.option_names import with_options
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import echo, print_json
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.tools.doctor.diagnosis import doctor as look


@click.command(cls=Command)
@json_option
@store_options
@scheme_options
def doctor(as_json: bool, **store: Any) -> None:
    """Check a store before a load.

    Prints one line for each thing that it looks at: ok, advice, problem or not tried; what it found; and what to do.
    Looks at the server and its version, privileges, the index or the file, the mapping, the Scheme, keys, _source,
    routing, blocks, disks, replicas, shards, templates and aliases. Writes nothing.

    Exits with 1 if there is a problem. A load would fail then, or its result would be wrong.

    \b
    es-simhash doctor --store http://localhost:9200/news
    es-simhash doctor --store sqlite:///news.db --json
    """
    with open_documents(**store) as documents:
        diagnosis = look(documents)
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        # Neighbouring lines with one text, as all that was not tried, are one line.
        lines = [(list(some), *key) for key, some in groupby(diagnosis.checks, lambda each: (each.status, each.text))]
        for checks, status, text in lines:
            echo(f"{status:<9}  {', '.join(check.name for check in checks):<10}  {with_options(text)}")
    if not diagnosis.ok:
        sys.exit(STOPPED_BY_ERROR)
