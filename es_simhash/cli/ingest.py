"""``es-simhash ingest``: store documents and print the outcome of each."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.dead_letters import DeadLetters
from es_simhash.console.exits import STOPPED_AT_DUPLICATE, exit_unless_all_done
from es_simhash.console.first_lines import check_fields
from es_simhash.console.help import Command
from es_simhash.console.input import Input, check_different_files, input_options, input_paths
from es_simhash.console.interrupt import Interruptible
from es_simhash.console.options import (
    filter_option,
    id_field_option,
    json_option,
    quiet_option,
    rule_options,
    sqlite_file,
    store_options,
    text_field_option,
)
from es_simhash.console.output import echo
from es_simhash.console.runs import OutcomePrinter, print_outcomes, run_options
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.deciding.ingest import ON_DUPLICATE
from es_simhash.deciding.outcome import Counts
from es_simhash.errors import DuplicateFound, InputError
from es_simhash.ingest.checkpoint import Checkpoint

if TYPE_CHECKING:
    from es_simhash.deciding.outcome import Outcome
    from es_simhash.similarity.rule import RuleOptions


@click.command(cls=Command)
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@id_field_option
@rule_options(text_field_option("Field that holds the text."))
@click.option(
    "--on-duplicate",
    type=click.Choice(ON_DUPLICATE),
    default="index",
    show_default=True,
    help="What to do with a new duplicate. index: store it with a link to its original. skip: do not store it. "
    "fail: stop.",
)
@click.option(
    "--keep-fields",
    is_flag=True,
    help="Leave a stored document with the same text as it is, even if its other fields have changed.",
)
@filter_option("Only documents that match this query clause can be originals.")
@click.option(
    "--dead-letter",
    metavar="FILE",
    help="Append rejected and failed documents to this file: JSON lines with the document and the reason. You can "
    "ingest the file.",
)
@click.option(
    "--resume",
    metavar="FILE",
    help="Record the progress in this file (a checkpoint). If the command is stopped, run it again with the same "
    "options and the same input to continue.",
)
@json_option
@quiet_option
@input_options
@run_options
@store_options
@scheme_options
def ingest(
    files: tuple[str, ...],
    id_field: str | None,
    rule: RuleOptions,
    on_duplicate: Any,
    keep_fields: bool,
    filter: dict[str, Any] | None,
    dead_letter: str | None,
    resume: str | None,
    reading: dict[str, Any],
    run: dict[str, Any],
    as_json: bool,
    quiet: bool,
    **store: Any,
) -> None:
    """Store documents and report which are duplicates.

    Reads files or standard input: JSON lines such as {"id": "news-1", "text": "…"}, a JSON array, CSV, TSV or Parquet;
    also compressed. A bad line is reported with its place and skipped. If the id is already stored, a document
    with another text or other fields replaces the stored one, and an equal one changes nothing.

    \b
    es-simhash ingest news.jsonl
    es-simhash ingest news.jsonl --json > outcomes.jsonl
    es-simhash ingest crawl.csv.gz --id-field url
    es-simhash ingest big.jsonl --resume big.checkpoint --dead-letter big.dead
    es-simhash ingest big.dead

    \f
    Ctrl-C or SIGTERM: finishes the documents that are already read, prints the counts and exits. A second signal stops
    at once. After SIGTERM it finishes for 7 s at most. With --resume nothing is lost or stored twice, not even after a
    crash.

    Without --json it prints the duplicates, then the counts. With --json it prints one line for each document: {"id",
    "outcome", "duplicate_of", "distance", "stored", "fingerprinted", "place"}. A rejected or failed document also has
    "reason". If texts decide, a near-duplicate also has "similarity". The last line holds the counts.
    """
    source = Input(input_paths(files), **reading)
    check_different_files(
        {"--store": sqlite_file(store["store"]), "--resume": resume, "--dead-letter": dead_letter}, source.paths
    )
    stopped: DuplicateFound | None = None
    with ExitStack() as stack:
        documents = stack.enter_context(open_documents(**store))  # before any file is created
        checkpoint = stack.enter_context(closing(Checkpoint(resume))) if resume else None
        letters = None
        if dead_letter is not None:
            letters = stack.enter_context(closing(DeadLetters(dead_letter, checkpoint.note if checkpoint else None)))
        if checkpoint is not None and letters is not None:
            checkpoint.note = letters.note
        counts = checkpoint.counts if checkpoint else Counts()
        progress = stack.enter_context(source.progress(quiet=quiet))
        interruptible = stack.enter_context(Interruptible())
        text_fields = documents.rule(**rule).text_fields
        check = partial(check_fields, id_field=id_field or documents.id_field(), text_fields=text_fields)
        outcomes = documents.ingest(
            interruptible.until_interrupted(source.lines(progress, check)),
            id_field=id_field,
            on_duplicate=on_duplicate,
            keep_fields=keep_fields,
            filter=filter,
            checkpoint=checkpoint,
            **rule,
            **run,
        )

        def note(outcome: Outcome) -> None:
            if letters is not None and outcome.reason is not None:
                letters.put(outcome)
            if checkpoint is not None and letters is not None:
                checkpoint.note = letters.note
            progress.done()

        try:
            print_outcomes(outcomes, counts, OutcomePrinter(as_json, progress, quiet=quiet), note)
        except DuplicateFound as error:
            stopped = error
        except InputError:
            # After a signal the input may end before the line that an earlier run had reached. That is no error.
            if not interruptible.signal:
                raise
    _exit(counts, stopped, source, interruptible)


def _exit(counts: Counts, stopped: DuplicateFound | None, source: Input, interruptible: Interruptible) -> None:
    if stopped is not None:
        echo(f"es-simhash: {stopped}", err=True)
        sys.exit(STOPPED_AT_DUPLICATE)
    interruptible.exit_if_interrupted()
    if not counts.total:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(counts.not_taken, counts.total)
