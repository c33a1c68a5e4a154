"""``es-simhash backfill``: add fingerprints to the documents of an existing index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.help import Command
from es_simhash.console.interrupt import Interruptible
from es_simhash.console.options import (
    filter_option,
    json_option,
    quiet_option,
    rule_options,
    store_options,
    text_field_option,
)
from es_simhash.console.runs import OutcomePrinter, print_outcomes, run_options
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.deciding.outcome import Counts

if TYPE_CHECKING:
    from es_simhash.similarity.rule import RuleOptions


def _parse_slice(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    part, _, parts = value.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise click.BadParameter(f"{value!r}: use I/N, such as 1/4 for the first of four parts")
    return int(part) - 1, int(parts)


@click.command(cls=Command)
@rule_options(text_field_option("Field that holds the text."))
@filter_option("Process only documents that match this query clause.")
@click.option(
    "--again",
    is_flag=True,
    help="Also process documents that have a fingerprint. Use it if texts have changed.",
)
@click.option(
    "--slice",
    metavar="I/N",
    callback=_parse_slice,
    help="Process only part I of N. Run N commands at the same time, one for each part.",
)
@json_option
@quiet_option
@run_options
@store_options
@scheme_options
def backfill(
    rule: RuleOptions,
    filter: dict[str, Any] | None,
    again: bool,
    slice: tuple[int, int] | None,
    run: dict[str, Any],
    as_json: bool,
    quiet: bool,
    **store: Any,
) -> None:
    """Add fingerprints to an existing index and report duplicates.

    Adds our fields to the mapping and to each document without a fingerprint. Changes no other field. A document that
    another program changes in the meantime is not overwritten: it is read again.

    If the command is interrupted, run it again. It skips documents that have a fingerprint. After a backfill run
    `es-simhash group`. It merges groups that a later document connects.

    \b
    es-simhash backfill --store http://localhost:9200/news --text-field title,body
    es-simhash backfill --text-field body --filter '{"term": {"lang": "zh"}}'

    \f
    By --rule copy and contained, an index that gets our fields now has keys too. After `es-simhash init --keys`, run it
    with --again: it adds the keys to documents that have a fingerprint.
    """
    counts = Counts()
    with open_documents(**store) as documents, Interruptible() as interruptible:
        total = None if again else documents.missing(filter=filter) // (slice[1] if slice else 1)
        outcomes = documents.backfill(
            filter=filter,
            again=again,
            slice=slice,
            stop=lambda: interruptible.signal is not None,
            **rule,
            **run,
        )
        progress = tqdm(total=total, unit=" documents", disable=True if quiet else None, leave=False)
        with progress:
            printer = OutcomePrinter(as_json, progress, quiet=quiet)
            print_outcomes(outcomes, counts, printer, lambda outcome: progress.update())
    interruptible.exit_if_interrupted("; run the same command again to continue")
    exit_unless_all_done(counts.not_taken, counts.total)
