"""``es-simhash init``: make the index or the file, or add the fields to an index that exists."""

from __future__ import annotations

from typing import Any

import click

from es_simhash.cli.options import store_options
from es_simhash.cli.scheme import open_documents, scheme_options

_SAYS = {
    "created": "created, ready for `es-simhash ingest`",
    "added": "the fields for fingerprints were added to what was there",
    "unchanged": "was set up already; nothing to do",
}


@click.command()
@store_options
@scheme_options
def init(**store: Any) -> None:
    """Set a store up for fingerprints.

    Makes the index (or the SQLite file), or adds the object `simhash` to the mapping of an index that exists; other
    fields stay as they are. May be repeated. An SQLite file is also made by the first ingest.

    \b
    es-simhash init --store http://localhost:9200/news
    es-simhash init --store https://elastic:secret@es.example:9200/news --ca-certs ca.crt
    """
    with open_documents(**store) as documents:
        result = documents.setup()
        click.echo(f"{documents.name}: {_SAYS[result]}")
