"""``es-simhash backfill``: fingerprints for the documents of an index that exists."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import Any

import click
from tqdm import tqdm

from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    json_option,
    near_options,
    parse_clause,
    store_options,
)
from es_simhash.cli.runs import print_counts, report, run_options
from es_simhash.cli.scheme import open_documents, scheme_options
from es_simhash.verbs.outcome import Counts


def _parse_slice(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    part, _, parts = value.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise click.BadParameter(f"{value!r}: use I/N, such as 1/4 for the first of four parts")
    return int(part) - 1, int(parts)


@click.command()
@store_options
@scheme_options
@click.option(
    "--query",
    "--filter",
    "clause",
    metavar="JSON",
    callback=parse_clause,
    help="A query clause: only documents that match it.",
)
@near_options("Where the text is; several are joined.", default=None)
@click.option("--again", is_flag=True, help="Look at documents with a fingerprint too: their text may have changed.")
@click.option("--slice", metavar="I/N", callback=_parse_slice, help="One part of N, for several programs at once.")
@run_options
@json_option
def backfill(
    near: dict[str, Any],
    clause: dict[str, Any] | None,
    again: bool,
    slice: tuple[int, int] | None,
    run: dict[str, Any],
    as_json: bool,
    **store: Any,
) -> None:
    """Give the documents of an index that exists their fingerprints, and say of each what it is.

    Our fields are added to the mapping and to each document; nothing else is touched, and a document that others write
    meanwhile is not overwritten. Interrupted, the same command goes on: what has a fingerprint is passed over.

    \b
    es-simhash backfill --store http://localhost:9200/articles --text-field title,body
    es-simhash backfill --store http://localhost:9200/articles --text-field body --query '{"term": {"lang": "zh"}}'

    Then `es-simhash group` unites what lies between two groups.
    """
    counts = Counts()
    started = time.monotonic()
    with open_documents(**store) as documents, Interruptible() as interruptible:
        total = None if again else documents.missing(filter=clause) // (slice[1] if slice else 1)
        outcomes = documents.backfill(
            filter=clause,
            again=again,
            slice=slice,
            stop=lambda: interruptible.signal is not None,
            **near,
            **run,
        )
        with closing(outcomes), tqdm(total=total, unit=" documents", disable=None, leave=False) as progress:
            try:
                for outcome in outcomes:
                    counts.add(outcome)
                    progress.update()
                    report(outcome, as_json, progress)
            except BaseException:
                if counts.total:  # else the error says it all
                    print_counts(counts, 0, time.monotonic() - started, as_json)
                raise
    print_counts(counts, 0, time.monotonic() - started, as_json)
    if interruptible.signal is not None:
        click.echo("es-simhash: interrupted; the same command goes on", err=True)
        sys.exit(interruptible.exit_code)
    exit_unless_all_done(counts.not_taken, counts.total)
