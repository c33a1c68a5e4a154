"""``es-simhash ingest``: documents in, an outcome for each out."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, closing
from typing import Any

import click

from es_simhash.cli.dead_letters import DeadLetters, check_not_input
from es_simhash.cli.exits import STOPPED_AT_DUPLICATE, exit_unless_all_done
from es_simhash.cli.input import input_paths, lines_of, progress_bar
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    display,
    filter_option,
    json_option,
    near_options,
    store_options,
)
from es_simhash.cli.runs import print_counts, report, run_options
from es_simhash.cli.scheme import open_documents, scheme_options
from es_simhash.errors import DuplicateFound, InputError, SimhashError
from es_simhash.ingest.checkpoint import Checkpoint
from es_simhash.verbs.ingest import ON_DUPLICATE
from es_simhash.verbs.outcome import Counts


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@store_options
@scheme_options
@click.option("--id-field", default="id", show_default=True, metavar="FIELD", help="Where a document's id is.")
@near_options("Where its text is; several fields are joined.")
@click.option(
    "--on-duplicate",
    type=click.Choice(ON_DUPLICATE),
    default="index",
    show_default=True,
    help="A new document that duplicates another: store it with what it duplicates, leave it out, or stop there.",
)
@filter_option("says which stored documents a new one can duplicate")
@run_options
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
@json_option
def ingest(
    files: tuple[str, ...],
    id_field: str,
    near: dict[str, Any],
    on_duplicate: Any,
    clause: dict[str, Any] | None,
    dead_letter: str | None,
    resume: str | None,
    run: dict[str, Any],
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
        state = stack.enter_context(closing(Checkpoint(resume))) if resume else None
        letters = None
        if dead_letter is not None:
            letters = stack.enter_context(closing(DeadLetters(dead_letter, state.note if state else None)))
        if state is not None and letters is not None:
            state.note = letters.note
        counts = state.counts if state else Counts()
        before = counts.total
        documents = stack.enter_context(open_documents(**store, deadline=run["deadline"] if state else 0.0))
        progress = stack.enter_context(progress_bar(paths))
        interruptible = stack.enter_context(Interruptible())
        outcomes = stack.enter_context(
            closing(
                documents.ingest(
                    interruptible.until_interrupted(lines_of(paths, progress)),
                    id_field=id_field,
                    on_duplicate=on_duplicate,
                    filter=clause,
                    state=state,
                    **near,
                    **run,
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
        except (SimhashError, KeyboardInterrupt) as error:
            # An interruption may end the input before it comes to where the run before had been.
            if not (isinstance(error, InputError) and interruptible.signal):
                if counts.total:  # what was done until then
                    print_counts(counts, before, time.monotonic() - started, as_json)
                raise
    print_counts(counts, before, time.monotonic() - started, as_json)
    _exit(counts, stopped, paths, interruptible)


def _exit(counts: Counts, stopped: DuplicateFound | None, paths: tuple[str, ...], interruptible: Interruptible) -> None:
    if stopped is not None:
        click.echo(f"es-simhash: {stopped}", err=True)
        sys.exit(STOPPED_AT_DUPLICATE)
    if interruptible.signal is not None:
        click.echo("es-simhash: interrupted", err=True)
        sys.exit(interruptible.exit_code)
    if not counts.total:
        raise InputError(f"no documents in {', '.join(map(display, paths))}: JSON lines are wanted")
    exit_unless_all_done(counts.not_taken, counts.total)
