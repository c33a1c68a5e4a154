"""``es-simhash dedupe``: print the documents of files that are no copies of each other."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from es_simhash import DuplicateRule, Fingerprinter, InputError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import Input, check_different_files, input_paths, is_store, sqlite_file
from es_simhash.cli.options import (
    FILE,
    api_key_option,
    ca_certs_option,
    encoding_option,
    format_option,
    id_field_option,
    lang_option,
    open_documents,
    read_fingerprinter,
    rule_options,
    scheme_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.output import checked_start, echo, echo_counts, not_compared, without_text
from es_simhash.errors import saying_what_is_done
from es_simhash.machine import LinesFile
from es_simhash.tools.dedupe.copies import Decisions, as_line, item_of
from es_simhash.tools.dedupe.report import CopiesReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.similarity.rule import Rule
    from es_simhash.tools.dedupe.copies import Copy, Item
    from es_simhash.tools.report.page import Language

_OUTPUT = "/dev/stdout"


@click.command()
@click.argument("files", metavar="[FILE…|-]", type=FILE, nargs=-1)
@rule_options
@text_field_option
@id_field_option
@click.option("--against", metavar="FILE|URL", multiple=True, help="Leave out copies of what is there, too.")
@click.option("--duplicates", metavar="FILE", type=FILE, help="Write what is left out, each with its original.")
@click.option("--report", metavar="FILE", type=FILE, help="Write a page that shows what is left out.")
@lang_option
@click.option("--pairs", is_flag=True, help="Print who copies whom, not the documents.")
@format_option
@encoding_option
@workers_option
@click.option("--quiet", is_flag=True, help="Print no counts.")
@scheme_options
@api_key_option
@ca_certs_option
def dedupe(
    files: tuple[str, ...],
    rule: Rule | None,
    min_similarity: float | None,
    text_field: tuple[str, ...] | None,
    id_field: str | None,
    against: tuple[str, ...],
    duplicates: str | None,
    report: str | None,
    lang: Language,
    pairs: bool,
    format: str | None,
    encoding: str,
    workers: int,
    quiet: bool,
    scheme: str | None,
    html: bool,
    api_key: str | None,
    ca_certs: str | None,
) -> None:
    """Print the documents of files without their copies.

    Reads what `es-simhash ingest` reads, and prints JSON lines in the order of the input. Each document that is left
    out is a copy of one that is printed. Documents need no id. --pairs has {"id", "place", "duplicate_of",
    "original_place", "similarity", "distance"}, --duplicates also "document" and "original_text".

    \b
    es-simhash dedupe crawl.jsonl --report copies.html > kept.jsonl
    es-simhash dedupe train.jsonl --against test.jsonl > clean.jsonl
    es-simhash dedupe today.jsonl --against http://es:9200/archive > new.jsonl
    """
    chosen = DuplicateRule(rule or "copy", min_similarity=min_similarity, text_field=text_field)
    known = tuple(name for name in against if not is_store(name))
    before = Input(input_paths(known) if known else (), format, encoding)
    source = Input(input_paths(files), format, encoding)
    inputs = (*before.paths, *source.paths, *map(sqlite_file, against), scheme)
    check_different_files({"the output": _OUTPUT, "--duplicates": duplicates, "--report": report}, inputs)
    fingerprinter = read_fingerprinter(scheme, html) or Fingerprinter()
    with ExitStack() as stack:
        archives = [
            stack.enter_context(open_documents(store=name, api_key=api_key, ca_certs=ca_certs, deadline=None))
            for name in against
            if is_store(name)
        ]
        texts = duplicates is not None or report is not None
        decisions = Decisions(fingerprinter, chosen, archives, workers, texts=texts)
        copies = None if duplicates is None else stack.enter_context(closing(LinesFile(duplicates, "wb")))
        if report is not None:
            LinesFile(report, "wb").close()  # it is written at the end

        def items(files: Input, *, against: bool) -> Iterator[Item]:
            for line in files.lines():
                yield item_of(line, chosen.text_fields, id_field or "id", against=against)

        shown = None if report is None else CopiesReport()
        output = _Output(copies, shown, pairs=pairs)
        try:
            every = chain(items(before, against=True), items(source, against=False))
            with (
                saying_what_is_done(lambda: "the output is not whole: run it again"),
                closing(decisions.of(every)) as decided,
            ):
                for item, copy in checked_start(decided, lambda item_and_copy: item_and_copy[0].problem):
                    output.take(item, copy)
            sys.stdout.flush()
        except OSError:
            quiet = True  # what was counted was not printed
            raise
        finally:
            if not quiet:
                output.show_counts(decisions.not_compared, decisions.blank)
    if shown is not None and report is not None:
        shown.write(report, source.names, chosen, fingerprinter, lang)
    if not output.counts.total():
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(output.rejected, output.counts.total())


class _Output:
    """Prints the documents that stay, or the pairs, and counts what became of all.

    :param copies: the file that the documents that are left out are written to.
    :param report: takes all documents.
    """

    def __init__(self, copies: LinesFile | None, report: CopiesReport | None, *, pairs: bool) -> None:
        self.counts = Counter({"kept": 0, "exact duplicates": 0, "near-duplicates": 0, "rejected": 0})
        self._copies, self._report, self._pairs = copies, report, pairs
        self.rejected = 0
        """Documents that cannot be used, those of ``--against`` too."""
        self._started = time.monotonic()

    def take(self, item: Item, copy: Copy | None) -> None:
        """Count a document, and print it if it stays. A rejected one is reported."""
        if item.problem is not None:
            echo(f"rejected: {item.place}: {item.problem}", err=True)
            self.rejected += 1
            self.counts["rejected"] += not item.against
            return
        if self._report is not None:
            self._report.note(item, copy)
        if item.against:
            return
        if copy is None:
            self.counts["kept"] += 1
            if not self._pairs:
                sys.stdout.buffer.write(item.output)
            return
        self.counts["exact duplicates" if copy.exact else "near-duplicates"] += 1
        if self._pairs:
            sys.stdout.buffer.write(as_line(_pair(item, copy)))
        if self._copies is not None:
            document = {"document": json.loads(item.output), "original_text": copy.text}
            self._copies.write(as_line({**_pair(item, copy), **document}))

    def show_counts(self, left_out: int, blank: int) -> None:
        """Print the counts on standard error, if there are any.

        :param left_out: pairs of documents that were not compared.
        :param blank: documents without a text.
        """
        if self.counts.total():
            echo_counts(self.counts.items(), self.counts.total(), time.monotonic() - self._started, err=True)
            if left_out:
                echo(not_compared(left_out), err=True)
            if blank:
                echo(without_text(blank), err=True)


def _pair(item: Item, copy: Copy) -> dict[str, Any]:
    """Return who copies whom, for JSON."""
    return {
        "id": item.id,
        "place": item.place,
        "duplicate_of": copy.id,
        "original_place": copy.place,
        "similarity": copy.similarity,
        "distance": copy.distance,
    }
