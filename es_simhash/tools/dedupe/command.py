"""``es-simhash dedupe``: print the documents of files that are no copies of each other."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import click

from es_simhash import Documents, DuplicateRule, Fingerprinter, InputError, SimhashError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import Input, check_different_files, check_fields, input_paths
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import (
    api_key_option,
    ca_certs_option,
    chosen_rule,
    confirm_option,
    encoding_option,
    format_option,
    id_field_option,
    quiet_option,
    read_fingerprinter,
    rule_option,
    scheme_options,
    text_field_option,
    workers_option,
)
from es_simhash.cli.outcomes import echo_counts
from es_simhash.cli.output import display, echo, not_compared
from es_simhash.cli.stored import is_store, open_beside
from es_simhash.files import open_for_owner
from es_simhash.tools.dedupe.copies import Batches, decided
from es_simhash.tools.dedupe.items import Item, Name, item_of, json_line
from es_simhash.tools.dedupe.originals import Decision, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import Match
    from es_simhash.cli.options import StoreOptions
    from es_simhash.cli.progress import Progress
    from es_simhash.similarity.rule import Rule

_TEXTS = 100
"""Documents that are looked up together in a store of ``--against``."""
_OUTPUT = "/dev/stdout"
_KINDS = ("kept", "exact duplicates", "near-duplicates", "rejected")


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@rule_option
@confirm_option
@text_field_option
@id_field_option
@click.option("--against", metavar="FILE|URL", multiple=True, help="Leave out copies of what is there, too.")
@click.option("--duplicates", metavar="FILE", help="Write what is left out to this file, each with its original.")
@click.option("--pairs", is_flag=True, help="Print who copies whom, in place of the documents that stay.")
@format_option
@encoding_option
@workers_option
@quiet_option
@scheme_options
@api_key_option
@ca_certs_option
def dedupe(
    files: tuple[str, ...],
    rule: Rule | None,
    confirm: float | None,
    text_field: tuple[str, ...] | None,
    id_field: str | None,
    against: tuple[str, ...],
    duplicates: str | None,
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
    out is a copy of one that is printed. Documents need no id. A bad line is reported with its place. --pairs and
    --duplicates have {"id", "place", "duplicate_of", "original_place", "similarity", "distance"}.

    \b
    es-simhash dedupe crawl.jsonl > kept.jsonl
    es-simhash dedupe train.jsonl --against test.jsonl > clean.jsonl
    es-simhash dedupe today.jsonl --against http://es:9200/archive > new.jsonl
    """
    chosen = _rule(rule, confirm, text_field)
    known = tuple(name for name in against if not is_store(name))
    before = Input(input_paths(known) if known else (), format, encoding)
    source = Input(input_paths(files), format, encoding)
    inputs = (*before.paths, *source.paths)
    check_different_files({"the output": _OUTPUT, "--duplicates": duplicates}, inputs)
    fingerprinter = read_fingerprinter(scheme, html) or Fingerprinter()
    with ExitStack() as stack:
        options: StoreOptions = {"store": None, "api_key": api_key, "ca_certs": ca_certs, "deadline": None}
        archives = [stack.enter_context(open_beside(name, options)) for name in against if is_store(name)]
        # The texts of a store may be in other fields.
        archive = _Archives(archives, replace(chosen, text_field=None))
        progress = stack.enter_context(Input(inputs).progress(quiet=quiet))
        copies = None if duplicates is None else stack.enter_context(_opened(duplicates))
        interruptible = stack.enter_context(Interruptible())

        def items(files: Input, *, against: bool) -> Iterator[tuple[Item, Text | Decision]]:
            check = partial(check_fields, id_field=None, text_fields=chosen.text_fields)
            for line in interruptible.until_interrupted(files.lines(progress, check)):
                item = item_of(line, chosen, id_field or "id", against=against)
                yield item, item.asked

        everything = archive.without_copies(chain(items(before, against=True), items(source, against=False)))
        distances = pairs or copies is not None
        decisions = decided(everything, fingerprinter, chosen, distances=distances, workers=workers)
        report = _Report(progress)
        try:
            _print(decisions, report, copies, pairs=pairs)
        except (SimhashError, KeyboardInterrupt):
            report.print(archive.not_compared, quiet=quiet)
            raise
        report.print(archive.not_compared, quiet=quiet)
    interruptible.exit_if_interrupted()
    if not report.counts:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(progress.rejected, report.counts.total())


def _rule(rule: Rule | None, confirm: float | None, text_field: tuple[str, ...] | None) -> DuplicateRule:
    chosen = chosen_rule(DuplicateRule(), rule, confirm, text_field)
    return chosen if isinstance(chosen, DuplicateRule) else DuplicateRule(rule=chosen or "copy")


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "wb", opener=open_for_owner)
    except OSError as error:
        raise InputError(f"cannot write {display(path)}: {error.strerror}") from error


def _print(
    decisions: Iterable[tuple[Item, Decision]], report: _Report, copies: IO[bytes] | None, *, pairs: bool
) -> None:
    """Print the documents that stay, or the pairs.

    :param copies: the file that the documents that are left out are written to.
    """
    output = sys.stdout.buffer
    for item, decision in decisions:
        report.note(item, decision)
        if item.against or decision.problem is not None:
            continue
        if decision.original is None:
            if not pairs:
                output.write(item.output)
            continue
        if pairs:
            output.write(json_line(_pair(item, decision)))
        if copies is not None:
            copies.write(json_line({**_pair(item, decision), "document": json.loads(item.output)}))
    output.flush()


class _Archives:
    """The stores of ``--against``.

    :param stores: each is asked at once, so one that cannot be searched stops the command before anything is printed.
    """

    def __init__(self, stores: list[Documents], rule: DuplicateRule) -> None:
        self._stores = stores
        self._rule = rule
        self.not_compared = 0
        """How many of their documents were not compared."""
        for store in stores:
            store.similar_many([], rule=rule)

    def without_copies(self, items: Iterable[tuple[Item, Text | Decision]]) -> Iterator[tuple[Item, Text | Decision]]:
        """Yield the items. Those that are copies of a document in a store get their Decision.

        If the items end in an error, those before it are yielded first.
        """
        for store in self._stores:
            items = self._without_copies_of(store, items)
        yield from items

    def _without_copies_of(
        self, store: Documents, items: Iterable[tuple[Item, Text | Decision]]
    ) -> Iterator[tuple[Item, Text | Decision]]:
        batches = Batches(items, _TEXTS)
        while batch := batches.take():
            texts = [text.text for _, text in batch if isinstance(text, Text)]
            matches_of_texts = iter(store.similar_many(texts, rule=self._rule))
            for item, text in batch:
                if isinstance(text, Decision):
                    yield item, text
                    continue
                matches = next(matches_of_texts)
                self.not_compared += matches.left_out
                yield item, _copy_of(store.name, matches[0]) if matches else text
        if batches.error is not None:
            raise batches.error


def _copy_of(store: str, nearest: Match) -> Decision:
    similarity = 1.0 if nearest.exact else nearest.similarity
    return Decision(Name(store, nearest.id), nearest.exact, similarity, nearest.distance)


def _pair(item: Item, decision: Decision) -> dict[str, Any]:
    """Return who copies whom, for JSON."""
    return {
        "id": item.name.id,
        "place": item.name.place,
        "duplicate_of": decision.original.id,
        "original_place": decision.original.place,
        "similarity": decision.similarity,
        "distance": decision.distance,
    }


class _Report:
    """What became of the documents."""

    def __init__(self, progress: Progress) -> None:
        self.counts: Counter[str] = Counter()
        self._progress = progress
        self._not_compared = 0
        self._started = time.monotonic()

    def note(self, item: Item, decision: Decision) -> None:
        """Count a document. A rejected one is printed."""
        self._progress.done()
        self._not_compared += decision.left_out
        if decision.problem is not None:
            self._progress.reject(f"{item.name.place}: {decision.problem}")
        if not item.against:
            self.counts[_kind(decision)] += 1

    def print(self, not_compared_with: int, *, quiet: bool) -> None:
        """Print the counts on standard error, if there are any.

        :param not_compared_with: documents of stores that were not compared.
        """
        if quiet or not self.counts:
            return
        self._progress.clear()
        labelled = [(kind, self.counts[kind]) for kind in _KINDS]
        echo_counts(labelled, self.counts.total(), time.monotonic() - self._started, err=True)
        if pairs := self._not_compared + not_compared_with:
            echo(not_compared(pairs), err=True)


def _kind(decision: Decision) -> str:
    """Return what a document counts as: one of ``_KINDS``."""
    kept, exact, near, rejected = _KINDS
    if decision.problem is not None:
        return rejected
    if decision.original is None:
        return kept
    return exact if decision.exact else near
