"""``es-simhash ingest``: documents in, an outcome for each out."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.dead_letters import DeadLetters, check_not_input
from es_simhash.cli.input import input_paths, lines_of, progress_bar
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    display,
    filter_option,
    json_option,
    near_options,
    print_json,
    store_options,
    text_field_option,
    with_near,
)
from es_simhash.cli.scheme import open_documents, scheme_options
from es_simhash.errors import DuplicateFound, InputError, SimhashError
from es_simhash.flows.ingest import DEADLINE, ON_DUPLICATE
from es_simhash.flows.outcome import Counts
from es_simhash.reading.documents import MAX_TEXT
from es_simhash.reading.source import BATCH
from es_simhash.reading.state import IngestState

if TYPE_CHECKING:
    from tqdm import tqdm

    from es_simhash.flows.outcome import Outcome

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


workers_option = click.option(
    "--workers",
    type=click.IntRange(0),
    default=lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    show_default="the cores",
    help="Processes that fingerprint; with 0 this one does.",
)


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@store_options
@scheme_options
@click.option("--id-field", default="id", show_default=True, metavar="FIELD", help="Where a document's id is.")
@text_field_option("Where its text is; several fields are joined.")
@near_options
@click.option(
    "--on-duplicate",
    type=click.Choice(ON_DUPLICATE),
    default="index",
    show_default=True,
    help="A new document that duplicates another: store it with what it duplicates, leave it out, or stop there.",
)
@filter_option("says which stored documents a new one can duplicate")
@workers_option
@click.option(
    "--dead-letter",
    metavar="FILE",
    help="Where to put what was rejected or failed: JSON lines with the document and the reason, which can be ingested "
    "again.",
)
@click.option(
    "--resume",
    metavar="STATE",
    help="A file that notes how far this is. The same command, repeated after whatever stopped it, goes on from there.",
)
@click.option(
    "--deadline",
    metavar="SECONDS",
    type=click.FloatRange(0, 86_400),
    default=DEADLINE,
    show_default=True,
    help="How long to try again while the store is busy or away.",
)
@click.option("--batch-size", type=click.IntRange(1), default=BATCH, show_default=True, help="Documents of a request.")
@click.option("--max-text", type=click.IntRange(1), default=MAX_TEXT, show_default=True, help="Characters of a text.")
@json_option
@with_near
def ingest(
    files: tuple[str, ...],
    id_field: str,
    near: dict[str, Any],
    on_duplicate: Any,
    clause: dict[str, Any] | None,
    workers: int,
    dead_letter: str | None,
    resume: str | None,
    deadline: float,
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
    es-simhash ingest big.jsonl --store http://localhost:9200/news --resume big.state --dead-letter big.dead
    es-simhash ingest big.dead --store http://localhost:9200/news

    Ctrl-C or SIGTERM finishes what was read and reports; a second one ends at once. With --resume nothing is lost or
    doubled by either, nor by a crash.

    \b
    With --json each document is a line {"id", "outcome", "duplicate_of", "distance", "stored", "fingerprinted",
    "place"}, with "reason" where it was not taken and "similarity" under --confirm; the counts are the last line.
    """
    paths = input_paths(files)
    if dead_letter is not None:
        check_not_input(dead_letter, paths)
    started = time.monotonic()
    stopped: DuplicateFound | None = None
    with ExitStack() as stack:
        state = stack.enter_context(closing(IngestState(resume))) if resume else None
        letters = None
        if dead_letter is not None:
            letters = stack.enter_context(closing(DeadLetters(dead_letter, state.note if state else None)))
        if state is not None and letters is not None:
            state.note = letters.note
        counts = state.counts if state else Counts()
        before = counts.total
        documents = stack.enter_context(open_documents(**store))
        progress = stack.enter_context(progress_bar(paths))
        interruptible = stack.enter_context(Interruptible())
        outcomes = stack.enter_context(
            closing(
                documents.ingest(
                    interruptible.until_interrupted(lines_of(paths, progress)),
                    id_field=id_field,
                    on_duplicate=on_duplicate,
                    filter=clause,
                    batch_size=batch_size,
                    max_text=max_text,
                    workers=workers,
                    deadline=deadline,
                    state=state,
                    **near,
                )
            )
        )
        try:
            for outcome in outcomes:
                if letters is not None and outcome.reason is not None:
                    letters.put(outcome)
                if state is not None and letters is not None:
                    state.note = letters.note
                counts.add(outcome)
                report(outcome, as_json, progress)
        except DuplicateFound as error:
            stopped = error
        except InputError:
            if interruptible.signal is None:
                raise
            # else the input was ended before it came to where the run before had been
        except (SimhashError, KeyboardInterrupt):
            if counts.total:  # what was done until then
                print_counts(counts, before, time.monotonic() - started, as_json)
            raise
    print_counts(counts, before, time.monotonic() - started, as_json)
    _exit(counts, stopped, paths, interruptible)


def report(outcome: Outcome, as_json: bool, progress: tqdm[Any]) -> None:
    """One outcome, as a line of JSON; or where there is something to say, as a line of text."""
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


def print_counts(counts: Counts, before: int, seconds: float, as_json: bool) -> None:
    """The counts; ``before`` is how many of them are from former runs with the same state."""
    if as_json:
        print_json(counts.to_dict())
        return
    total = counts.total
    rate = f", {(total - before) / seconds:,.0f} a second" if seconds > 1 else ""
    click.echo(f"{total - before:,} document{'' if total - before == 1 else 's'} in {seconds:.1f} s{rate}")
    if before:
        click.echo(f"{total:,} with those before the interruption")
    for name, label in _LABELS.items():
        if counts.outcomes[name]:
            click.echo(f"  {label:<17}{counts.outcomes[name]:>12,}")
    if counts.without_fingerprint:
        click.echo(
            f"{counts.without_fingerprint:,} stored with too little to say: only exact copies of them can be found"
        )


def _exit(counts: Counts, stopped: DuplicateFound | None, paths: tuple[str, ...], interruptible: Interruptible) -> None:
    if stopped is not None:
        click.echo(f"es-simhash: {stopped}", err=True)
        sys.exit(STOPPED_AT_DUPLICATE)
    if interruptible.signal is not None:
        click.echo("es-simhash: interrupted", err=True)
        sys.exit(interruptible.exit_code)
    if not counts.total:
        raise InputError(f"no documents in {', '.join(map(display, paths))}: JSON lines are wanted")
    if counts.not_taken:
        sys.exit(SOME_NOT_STORED if counts.not_taken < counts.total else 1)
