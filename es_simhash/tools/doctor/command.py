"""``es-simhash doctor``: look for everything that a load needs, before the load."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from es_simhash.cli.exits import STOPPED_BY_ERROR
from es_simhash.cli.options import json_option, open_documents, store_options
from es_simhash.cli.output import echo, print_json
from es_simhash.tools.doctor.diagnosis import doctor as look

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions


SECONDS = 10.0
"""The deadline if the caller gives none. A server that is busy for longer has a problem that ``doctor`` should show."""


@click.command()
@json_option
@store_options
def doctor(as_json: bool, **options: Unpack[StoreOptions]) -> None:
    """Check a store before a load, and show what it holds.

    Prints one line for each thing that it looks at: ok, advice, problem or not tried; what it found; and what to do.
    Looks at the server or the file, the set-up, the mapping, blocks, privileges, documents, groups and bytes. Writes
    nothing. GET _cluster/health and _cat/allocation say how the server itself does. A busy server is asked again for 10
    seconds, or as long as --deadline says.

    Exits with 1 if there is a problem. A load would fail then, or its result would be wrong.

    \b
    es-simhash doctor --store http://localhost:9200/news
    es-simhash doctor --store sqlite:///news.db --json
    """
    if options["deadline"] is None:
        options["deadline"] = SECONDS
    with open_documents(**options) as documents:
        diagnosis = look(documents)
    if as_json:
        print_json(diagnosis.to_dict())
    else:
        for check in diagnosis.checks:
            echo(f"{check.status:<9}  {check.name:<12}  {check.text}")
    if not diagnosis.ok:
        sys.exit(STOPPED_BY_ERROR)
