"""``es-simhash backfill``: add fingerprints to the documents of an existing index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import Interruptible, exit_unless_all_done
from es_simhash.cli.options import (
    filter_option,
    json_option,
    keep_fields,
    open_documents,
    quiet_option,
    store_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.outcomes import OutcomePrinter, print_outcomes
from es_simhash.cli.progress import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions


@click.command()
@text_field_option
@filter_option("Process only documents that match this query clause.")
@click.option("--again", is_flag=True, help="Also documents that have a fingerprint: their texts may have changed.")
@workers_option
@json_option
@quiet_option
@store_options
def backfill(
    text_field: tuple[str, ...] | None,
    filter: dict[str, Any] | None,
    again: bool,
    workers: int,
    as_json: bool,
    quiet: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Add fingerprints to an existing index and report duplicates.

    Adds our field to each document without a fingerprint, and changes no other one. A document that another program
    changes in the meantime is not overwritten: it is read again. With --text-field it sets up an index that was not, as
    `es-simhash init` does.

    If the command is interrupted, run it again: it skips what is done. After a backfill run `es-simhash group`.

    \b
    es-simhash backfill --store http://localhost:9200/news --text-field title,body
    es-simhash backfill --text-field body --filter '{"term": {"lang": "zh"}}'
    """
    with open_documents(**store) as documents, Interruptible() as interruptible:
        documents.store.count(None)  # a store that does not exist is not made here
        keep_fields(documents, text_field)
        outcomes = documents.backfill(
            filter=filter, again=again, stop=lambda: interruptible.signal is not None, workers=workers
        )
        with Progress(None, quiet=quiet) as progress:
            total = 0 if progress.disable else documents.store.count(filter, missing=None if again else True)
            printer = OutcomePrinter(documents.name, as_json, progress, quiet=quiet)
            print_outcomes(outcomes, printer, lambda _: progress.reach(printer.counts.total + 1, total))
    interruptible.exit_if_interrupted()
    exit_unless_all_done(printer.counts.not_taken, printer.counts.total)
