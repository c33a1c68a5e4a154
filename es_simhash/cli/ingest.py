"""``es-simhash ingest`` and ``backfill``: store documents, or fingerprint stored ones, and print the outcomes."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click

from es_simhash import InputError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import Input, check_different_files, input_paths, is_store, sqlite_file
from es_simhash.cli.options import (
    FILE,
    dead_letter_option,
    encoding_option,
    filter_option,
    format_option,
    id_field_option,
    json_option,
    keep_fields,
    open_documents,
    quiet_option,
    store_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.output import OutcomePrinter, progress_bar
from es_simhash.decide.run import ON_DUPLICATE, ON_UPDATE
from es_simhash.machine import LinesFile
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from es_simhash import Outcome
    from es_simhash.cli.options import F, StoreOptions


def _word_option(name: str, words: Sequence[str], help: str) -> Callable[[F], F]:
    """Return an option that takes one of some words. The first one is the default."""
    return click.option(name, metavar="WORD", type=click.Choice(words), default=words[0], show_default=True, help=help)


class DeadLetters(LinesFile):
    """A file of documents that were rejected or have failed, each with its outcome, as lines of JSON.

    :raises InputError: if it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "ab")
        if os.path.getsize(path):
            with open(path, "rb") as file:
                file.seek(-1, os.SEEK_END)
                if file.read() != b"\n":  # a kill has cut the last line
                    self.write(b"\n")

    def put(self, outcome: Outcome) -> None:
        """Append an outcome with its document, if it was not taken. A line that is no document stands there as text.

        :raises StoreError: if it cannot be written. The run must end then: otherwise the document would be lost.
        """
        if outcome.reason is None:
            return
        document = outcome.document
        if isinstance(document, bytes):
            document = document.decode(errors="backslashreplace")
        letter = json.dumps({**outcome.to_dict(), "document": document}, ensure_ascii=False, default=str)
        self.write(letter.encode(errors="backslashreplace") + b"\n")


@click.command()
@click.argument("files", metavar="[FILE…|STORE|-]", type=FILE, nargs=-1)
@id_field_option
@text_field_option
@_word_option("--on-duplicate", ON_DUPLICATE, "A new duplicate: index or skip.")
@_word_option("--on-update", ON_UPDATE, "A copy of the text stored under its id: write, or keep the stored one.")
@filter_option("Only documents that match can be originals.")
@dead_letter_option
@click.option("--resume", metavar="FILE", type=FILE, help="Record the progress here; the same command goes on.")
@format_option
@encoding_option
@workers_option
@json_option
@click.option("--contradictions", is_flag=True, help="Print which stored texts are similar and contradict.")
@quiet_option
@store_options
def ingest(
    files: tuple[str, ...],
    id_field: str | None,
    text_field: tuple[str, ...] | None,
    on_duplicate: Any,
    on_update: Any,
    filter: dict[str, Any] | None,
    dead_letter: str | None,
    resume: str | None,
    format: str | None,
    encoding: str,
    workers: int,
    as_json: bool,
    contradictions: bool,
    quiet: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Store documents and report which are duplicates.

    Reads files, standard input or another store: JSON lines such as {"id": "news-1", "text": "…"}, CSV, TSV or Parquet.
    A bad line is reported with its place and skipped. A document replaces the stored one with its id. A store
    without documents keeps the fields that are named. `es-simhash init` makes an index, and sets the rule.

    \b
    es-simhash ingest news.jsonl
    es-simhash ingest big.jsonl.gz --resume big.checkpoint --dead-letter big.dead
    es-simhash ingest http://es:9200/news-1 --store http://es:9200/news-2
    """
    with ExitStack() as stack:
        if any(map(is_store, files)):
            if len(files) > 1 or id_field is not None or resume is not None:
                raise click.UsageError("a store is read alone, without --id-field and --resume")
            other: StoreOptions = {**store, "store": files[0]}
            origin = stack.enter_context(open_documents(**other))
            source = Input((sqlite_file(origin.name) or origin.name,), documents=origin)
        else:
            source = Input(input_paths(files), format, encoding)
        named = {"--store": sqlite_file(store["store"]), "--resume": resume, "--dead-letter": dead_letter}
        check_different_files(named, source.paths)
        documents = stack.enter_context(open_documents(**store))  # before any file is created
        put = None if dead_letter is None else stack.enter_context(closing(DeadLetters(dead_letter))).put
        if documents.store.lags:
            documents.fetch([])  # raises if the index is not set up: init and backfill alone do that
        field = "_id" if source.documents is not None else id_field
        lines = stack.enter_context(closing(source.lines()))
        is_start = resume is None or not os.path.exists(resume)
        outcomes = documents.ingest(
            lines,
            id_field=field,
            on_duplicate=on_duplicate,
            on_update=on_update,
            filter=filter,
            workers=workers,
            checkpoint=resume,
        )
        keep_fields(documents, text_field, id_field)
        printer = OutcomePrinter(documents.name, as_json=as_json, quiet=quiet, contradictions=contradictions)
        printer.show_all(outcomes, put, check=is_start)
    if not printer.counts.total() and resume is None:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(printer.not_taken, printer.counts.total())


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
    changes in the meantime is not overwritten: it has failed, and the next backfill takes it. With --text-field it
    first adds our fields to the mapping, as `es-simhash init` does.

    If the command is interrupted, run it again: it skips what is done. After a backfill run `es-simhash group`.

    \b
    es-simhash backfill --store http://localhost:9200/news --text-field title,body
    es-simhash backfill --text-field body --filter '{"term": {"lang": "zh"}}'
    """
    with open_documents(**store) as documents:
        documents.store.count(Scan())  # a store that does not exist is not made here
        keep_fields(documents, text_field)
        is_start = again or not documents.store.count(Scan())
        outcomes = documents.backfill(filter=filter, again=again, workers=workers)
        with progress_bar() as progress:
            if not progress.disable:
                progress.total = documents.store.count(Scan(filter=filter, missing=None if again else True))
            printer = OutcomePrinter(documents.name, as_json=as_json, quiet=quiet)
            printer.show_all(outcomes, lambda _: progress.update(), check=is_start)
    exit_unless_all_done(printer.not_taken, printer.counts.total())
