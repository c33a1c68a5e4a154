"""``es-simhash dedupe``: print the documents of files that are no copies of each other."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash import Documents, InputError, Outcome, SimhashError
from es_simhash.console.dead_letters import DeadLetters
from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.first_lines import check_fields
from es_simhash.console.help import Command
from es_simhash.console.input import Input, check_different_files, input_options, input_paths
from es_simhash.console.interrupt import Interruptible
from es_simhash.console.option_names import outcome_with_options
from es_simhash.console.options import (
    client_options,
    connection_options,
    quiet_option,
    rule_options,
    text_field_option,
)
from es_simhash.console.output import echo, not_compared
from es_simhash.console.runs import echo_counts, max_text_option, workers_option
from es_simhash.console.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.console.whole_lines import WholeLines
from es_simhash.similarity.rule import DuplicateRule
from es_simhash.tools.dedupe.copies import Batches, decided
from es_simhash.tools.dedupe.items import KEEP, Item, Name, Spool, item_of, json_line
from es_simhash.tools.dedupe.originals import Decision, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash.console.progress import Progress
    from es_simhash.tools.dedupe.items import Keep

    T = TypeVar("T", Item, tuple[int, Item])

_TEXTS = 100
"""Documents that are looked up together in a store of ``--against``."""
_OUTPUT = "/dev/stdout"
_KINDS = ("kept", "exact duplicates", "near-duplicates", "rejected")


@click.command(cls=Command)
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@rule_options(text_field_option("Field that holds the text."))
@click.option(
    "--keep",
    type=click.Choice(KEEP),
    default=KEEP[0],
    show_default=True,
    help="Which of several copies stays. For longest and last, the whole input is read before the first line is "
    "printed.",
)
@click.option(
    "--against",
    metavar="FILE|URL",
    multiple=True,
    help="Leave out what is a copy of a document in this file, or in this store, too. May be repeated.",
)
@click.option(
    "--duplicates",
    metavar="FILE",
    help="Write the documents that are left out to this file: JSON lines with the document, its original, the "
    "similarity and the distance.",
)
@click.option("--pairs", is_flag=True, help="Print who copies whom, in place of the documents that stay.")
@click.option(
    "--id-field",
    default="id",
    show_default=True,
    metavar="FIELD",
    help="Field with the id that --duplicates and --pairs name. Documents need none.",
)
@click.option(
    "--dead-letter",
    metavar="FILE",
    help="Append rejected documents to this file: JSON lines with the document and the reason.",
)
@quiet_option
@input_options
@workers_option
@max_text_option
@connection_options
@plain_scheme_options
def dedupe(
    files: tuple[str, ...],
    given: dict[str, Any],
    keep: Keep,
    against: tuple[str, ...],
    duplicates: str | None,
    pairs: bool,
    id_field: str,
    dead_letter: str | None,
    reading: dict[str, Any],
    workers: int,
    max_text: int,
    quiet: bool,
    connection: dict[str, Any],
    **choices: Any,
) -> None:
    """Print the documents of files without their copies. No store is needed.

    Reads what `es-simhash ingest` reads, and prints JSON lines: each document with its own fields, in the order of the
    input. Each document that is left out is a copy of one that is printed. Documents need no id. A bad line is reported
    with its place and left out. The counts go to standard error.

    \b
    es-simhash dedupe crawl.jsonl > kept.jsonl
    es-simhash dedupe monday.jsonl tuesday.csv.gz > kept.jsonl
    es-simhash dedupe crawl.jsonl --duplicates copies.jsonl > kept.jsonl
    es-simhash dedupe train.jsonl --against test.jsonl > clean.jsonl
    es-simhash dedupe today.jsonl --against http://es:9200/archive > new.jsonl
    es-simhash dedupe crawl.jsonl --pairs

    \f
    A line of --pairs is {"id", "place", "duplicate_of", "original_place", "similarity", "distance"}; one of
    --duplicates also has "document". The ids are null where documents have none. A copy of a document in a store has
    the name of the store as "original_place". With the rule copy, the similarity is that of the texts; exact
    duplicates have 1.

    Beyond 64 MB, the texts that stay and their keys are in temporary files in the folder $TMPDIR: some kilobyte for
    each document, and its text. The system removes them, however the command ends.

    Ctrl-C or SIGTERM: finishes the documents that are already read, prints the counts and exits. With --keep longest
    or last it prints no documents then. A second signal stops at once.
    """
    chosen = DuplicateRule(**given)
    stored = replace(chosen, text_field=None)  # the texts of a store may be in other fields
    stores = [name for name in against if "://" in name]
    known = input_paths(tuple(name for name in against if name not in stores)) if len(stores) < len(against) else ()
    source = Input(input_paths(files), **reading)
    inputs = (*known, *source.paths)
    check_different_files({"the output": _OUTPUT, "--duplicates": duplicates, "--dead-letter": dead_letter}, inputs)
    fingerprinter = make_fingerprinter(**choices)
    with ExitStack() as stack:
        archives = [stack.enter_context(_open(name, connection)) for name in stores]
        for archive in archives:
            archive.similar_many([], rule=stored)  # a store that cannot be searched stops the command here
        distances = pairs or duplicates is not None
        letters = None if dead_letter is None else stack.enter_context(closing(DeadLetters(dead_letter)))
        progress = stack.enter_context(Input(inputs).progress(quiet=quiet))
        report = _Report(progress, letters)
        kept = stack.enter_context(WholeLines(None))
        copies = None if duplicates is None else stack.enter_context(WholeLines(duplicates))
        interruptible = stack.enter_context(Interruptible())

        def items(of: Input, *, against: bool) -> Iterator[Item]:
            check = partial(check_fields, id_field=None, text_fields=chosen.text_fields)
            for line in interruptible.until_interrupted(of.lines(progress, check)):
                yield item_of(line, chosen, id_field, against=against)

        everything = chain(items(Input(known, **reading), against=True), items(source, against=False))

        def decide(items: Iterable[tuple[T, Item]]) -> Iterator[tuple[T, Decision]]:
            asked: Iterable[tuple[T, Text | Decision]] = ((each, item.asked) for each, item in items)
            for archive in archives:
                asked = _not_in(archive, asked, stored, report)
            return decided(asked, fingerprinter, chosen, distances=distances, max_text=max_text, workers=workers)

        try:
            if keep == "first":
                decisions = decide((item, item) for item in everything)
            else:
                decisions = _in_other_order(stack, everything, keep, decide, interruptible)
            for item, decision in decisions:
                progress.done()
                report.note(item, decision)
                if item.against or decision.problem is not None:
                    continue
                if decision.original is None:
                    if not pairs:
                        kept.put(item.output)
                elif distances:
                    pair = _pair(item, decision)
                    if pairs:
                        kept.put(json_line(pair))
                    if copies is not None:
                        copies.put(json_line({**pair, "document": json.loads(item.output)}))
            for output in filter(None, (kept, copies)):
                output.flush()
        except (SimhashError, KeyboardInterrupt):
            if not quiet and report.counts:
                report.print()
            raise
        if not quiet and report.counts:
            report.print()
    whole = keep != "first" and not report.counts
    interruptible.exit_if_interrupted(
        f"; no documents are printed, because --keep {keep} needs the whole input" if whole else ""
    )
    if not report.counts:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(progress.rejected, report.counts.total())


def _open(address: str, connection: dict[str, Any]) -> Documents:
    _, options = client_options(address, connection)
    return Documents(address, **options)


def _in_other_order(
    stack: ExitStack, items: Iterable[Item], keep: Keep, decide: Any, interruptible: Interruptible
) -> Iterator[tuple[Item, Decision]]:
    """Yield the items with their Decisions in the order of the input; nothing after a signal.

    :param decide: returns Decisions in the order in which it is asked.
    """
    spool = stack.enter_context(Spool())
    spool.fill(items)
    ordered = interruptible.until_interrupted(spool.ordered(keep))
    for position, decision in decide(ordered):
        spool.note(position, decision)
    return iter(()) if interruptible.signal is not None else spool.decisions()


def _not_in(
    archive: Documents, items: Iterable[tuple[T, Text | Decision]], rule: DuplicateRule, report: _Report
) -> Iterator[tuple[T, Text | Decision]]:
    """Yield the items. Those that are copies of a document in a store get their Decision.

    If the items end in an error, those before it are yielded first.
    """
    batches = Batches(items, _TEXTS)
    while batch := batches.take():
        asked = [text for _, text in batch if isinstance(text, Text)]
        times = None if rule.time_field is None else [text.time or 0 for text in asked]
        found = iter(archive.similar_many([text.text for text in asked], times=times, rule=rule))
        for item, text in batch:
            if not isinstance(text, Text):
                yield item, text
                continue
            matches = next(found)
            report.not_compared += matches.left_out
            if not matches:
                yield item, text
                continue
            nearest = matches[0]
            similarity = 1.0 if nearest.exact else nearest.similarity
            yield item, Decision(Name(archive.name, nearest.id), nearest.exact, similarity, nearest.distance)
    if batches.error is not None:
        raise batches.error


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
    """What became of the documents: counts, and dead letters."""

    def __init__(self, progress: Progress, letters: DeadLetters | None) -> None:
        self.counts: Counter[str] = Counter()
        self._progress = progress
        self._letters = letters
        self.not_compared = 0
        self._started = time.monotonic()

    def note(self, item: Item, decision: Decision) -> None:
        """Count a document. A rejected one is printed, and becomes a dead letter."""
        self.not_compared += decision.left_out
        if decision.problem is not None:
            place, reason = item.name.place, f"{item.name.place}: {decision.problem}"
            self._progress.reject(reason)
            if self._letters is not None:
                outcome = Outcome(None, "rejected", reason=reason, place=place, document=item.output)
                self._letters.put(outcome_with_options(outcome))
        if not item.against:
            self.counts[_kind(decision)] += 1

    def print(self) -> None:
        """Print the counts on standard error."""
        self._progress.clear()
        labelled = [(kind, self.counts[kind]) for kind in _KINDS]
        echo_counts(labelled, self.counts.total(), time.monotonic() - self._started, err=True)
        if self.not_compared:
            echo(not_compared(self.not_compared), err=True)


def _kind(decision: Decision) -> str:
    """Return what a document counts as: one of ``_KINDS``."""
    kept, exact, near, rejected = _KINDS
    if decision.problem is not None:
        return rejected
    if decision.original is None:
        return kept
    return exact if decision.exact else near
