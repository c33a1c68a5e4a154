"""``es-simhash ingest``: documents in, an outcome for each out."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.input import input_paths, lines_of, progress_bar
from es_simhash.cli.options import (
    display,
    json_option,
    max_distance_option,
    open_documents,
    print_json,
    store_options,
    weights_option,
)
from es_simhash.errors import DuplicateFound, InputError, SimhashError
from es_simhash.flows.ingest import ON_DUPLICATE, Counts, Outcome
from es_simhash.reading import BATCH, MAX_TEXT

if TYPE_CHECKING:
    from tqdm import tqdm

SOME_NOT_STORED = 3
STOPPED_AT_DUPLICATE = 4

_LABELS = {
    "new": "new",
    "updated": "updated",
    "unchanged": "unchanged",
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
    "rejected": "rejected",
    "failed": "failed",
}


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@store_options
@weights_option
@click.option("--id-field", default="id", show_default=True, metavar="FIELD", help="Where a document's id is.")
@click.option(
    "--text-field",
    default="text",
    show_default=True,
    metavar="FIELD[,FIELD]",
    help="Where its text is; several fields are joined.",
)
@max_distance_option
@click.option(
    "--on-duplicate",
    type=click.Choice(ON_DUPLICATE),
    default="index",
    show_default=True,
    help="A new document that duplicates another: store it with what it duplicates, leave it out, or stop there.",
)
@click.option("--batch-size", type=click.IntRange(1), default=BATCH, show_default=True, help="Documents of a request.")
@click.option("--max-text", type=click.IntRange(1), default=MAX_TEXT, show_default=True, help="Characters of a text.")
@json_option
def ingest(
    files: tuple[str, ...],
    id_field: str,
    text_field: str,
    max_distance: int,
    on_duplicate: Any,
    batch_size: int,
    max_text: int,
    as_json: bool,
    **store: Any,
) -> None:
    """Store documents, and say of each whether it is new or what it duplicates.

    Reads JSON lines, one object a line, from files or standard input. A line that can't be used is reported with its
    place and stops nothing. The same id with another text is an update; with the same text it is not written again.

    \b
    es-simhash ingest news.jsonl
    zcat crawl.jsonl.gz | es-simhash ingest - --store http://localhost:9200/news --json > outcomes.jsonl

    With --json each document is a line {"id", "outcome", "duplicate_of", "distance", "stored", "fingerprinted",
    "place"}, with "reason" where it was not taken; the counts are the last line.
    """
    paths = input_paths(files)
    counts = Counts()
    started = time.monotonic()
    stopped: DuplicateFound | None = None
    with ExitStack() as stack:
        documents = stack.enter_context(open_documents(**store))
        progress = stack.enter_context(progress_bar(paths))
        outcomes = documents.ingest(
            lines_of(paths, progress),
            id_field=id_field,
            text_field=[field.strip() for field in text_field.split(",")],
            max_distance=max_distance,
            on_duplicate=on_duplicate,
            batch_size=batch_size,
            max_text=max_text,
        )
        try:
            for outcome in outcomes:
                counts.add(outcome)
                _report(outcome, as_json, progress)
        except DuplicateFound as error:
            stopped = error
        except (SimhashError, KeyboardInterrupt):
            if counts.total:  # what was done until then
                _print_counts(counts, time.monotonic() - started, as_json)
            raise
    _print_counts(counts, time.monotonic() - started, as_json)
    _exit(counts, stopped, paths)


def _report(outcome: Outcome, as_json: bool, progress: tqdm[Any]) -> None:
    if as_json:
        print_json(outcome.to_dict())
    elif outcome.reason is not None:
        progress.clear()
        click.echo(f"{outcome.outcome}: {outcome.reason}", err=True)
    elif outcome.duplicate_of is not None and outcome.outcome != "unchanged":
        progress.clear()
        skipped = "" if outcome.stored else "  (not stored)"
        bits = "" if outcome.outcome == "exact_duplicate" else f", {outcome.distance} bits"
        kind = outcome.outcome.replace("_", " ") + (" of" if outcome.outcome != "updated" else ", now like")
        click.echo(f"{outcome.id}  {kind} {outcome.duplicate_of}{bits}{skipped}")


def _print_counts(counts: Counts, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(counts.to_dict())
        return
    total = counts.total
    rate = f", {total / seconds:,.0f} a second" if seconds > 1 else ""
    click.echo(f"{total:,} document{'' if total == 1 else 's'} in {seconds:.1f} s{rate}")
    for name, label in _LABELS.items():
        if counts.outcomes[name]:
            click.echo(f"  {label:<17}{counts.outcomes[name]:>12,}")
    if counts.without_fingerprint:
        click.echo(
            f"{counts.without_fingerprint:,} stored with too little to say: only exact copies of them can be found"
        )


def _exit(counts: Counts, stopped: DuplicateFound | None, paths: tuple[str, ...]) -> None:
    if stopped is not None:
        click.echo(f"es-simhash: {stopped}", err=True)
        sys.exit(STOPPED_AT_DUPLICATE)
    if not counts.total:
        raise InputError(f"no documents in {', '.join(map(display, paths))}: JSON lines are wanted")
    if counts.not_taken:
        sys.exit(SOME_NOT_STORED if counts.not_taken < counts.total else 1)
