"""``es-simhash backfill``: add fingerprints to the documents of an existing index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    chosen_rule,
    filter_option,
    id_field_option,
    json_option,
    open_documents,
    quiet_option,
    rule_option,
    store_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.outcomes import OutcomePrinter, print_outcomes
from es_simhash.cli.progress import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.rule import Rule


@click.command()
@text_field_option
@id_field_option
@rule_option
@filter_option("Process only documents that match this query clause.")
@click.option("--again", is_flag=True, help="Also documents that have a fingerprint: their texts may have changed.")
@workers_option
@json_option
@quiet_option
@store_options
def backfill(
    text_field: tuple[str, ...] | None,
    id_field: str | None,
    rule: Rule | None,
    filter: dict[str, Any] | None,
    again: bool,
    workers: int,
    as_json: bool,
    quiet: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Add fingerprints to an existing index and report duplicates.

    Adds our fields to the mapping and to each document without a fingerprint. Changes no other field. A document that
    another program changes in the meantime is not overwritten: it is read again. The first backfill lets the store keep
    the rule and the fields: that of the text, and that of the id in the files of a later `es-simhash ingest`.

    If the command is interrupted, run it again: it skips what is done. After a backfill run `es-simhash group`.

    \b
    es-simhash backfill --store http://localhost:9200/news --text-field title,body
    es-simhash backfill --text-field body --filter '{"term": {"lang": "zh"}}'
    """
    with open_documents(**store) as documents, Interruptible() as interruptible:
        outcomes = documents.backfill(
            id_field=id_field,
            filter=filter,
            again=again,
            stop=lambda: interruptible.signal is not None,
            workers=workers,
            rule=chosen_rule(documents.info().rule, rule, text_field=text_field),
        )
        with Progress(None, quiet=quiet) as progress:
            total = 0 if progress.disable else documents.store.count(filter, missing=None if again else True)
            printer = OutcomePrinter(documents.name, as_json, progress, quiet=quiet)
            print_outcomes(outcomes, printer, lambda _: progress.reach(printer.counts.total + 1, total))
    interruptible.exit_if_interrupted()
    exit_unless_all_done(printer.counts.not_taken, printer.counts.total)
