"""``es-simhash dedupe``: print the documents of files that are no copies of each other."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from es_simhash import Documents, InputError, Outcome, SimhashError
from es_simhash.console.dead_letters import DeadLetters, check_not_input
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
from es_simhash.console.output import count_of, echo, not_compared
from es_simhash.console.runs import OutcomePrinter, run_options
from es_simhash.console.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.console.whole_lines import WholeLines
from es_simhash.similarity.rule import rule_of
from es_simhash.tools.dedupe.copies import TEXT, TIME, decided, temporary_documents
from es_simhash.tools.dedupe.items import KEEP, NAME, PLACE, Item, Spool, item_of, json_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import DuplicateRule, Line
    from es_simhash.console.progress import Progress
    from es_simhash.similarity.rule import RuleOptions
    from es_simhash.tools.dedupe.items import Keep

    T = TypeVar("T", Item, tuple[int, Item])

_CONNECTION = ("api_key", "ca_certs", "no_verify_certs", "timeout", "deadline")
_TEXTS = 100
"""Documents that are looked up together in a store of ``--against``."""
_OUTPUT = "/dev/stdout"
_LABELS = {"exact_duplicate": "exact duplicates", "near_duplicate": "near-duplicates", "rejected": "rejected"}


@click.command(cls=Command)
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@rule_options(text_field_option("Field that holds the text.", default="text"))
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
@run_options
@connection_options
@plain_scheme_options
def dedupe(
    files: tuple[str, ...],
    rule: RuleOptions,
    keep: Keep,
    against: tuple[str, ...],
    duplicates: str | None,
    pairs: bool,
    id_field: str,
    dead_letter: str | None,
    reading: dict[str, Any],
    run: dict[str, Any],
    quiet: bool,
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

    Memory does not grow with the input: what does not fit is in a temporary file in the folder $TMPDIR. The system
    removes it, however the command ends.

    Ctrl-C or SIGTERM: finishes the documents that are already read, prints the counts and exits. With --keep longest
    or last it prints no documents then. A second signal stops at once.
    """
    chosen = rule_of(rule)
    connection = {name: choices.pop(name) for name in _CONNECTION}
    stores = [name for name in against if "://" in name]
    known = input_paths(tuple(name for name in against if name not in stores)) if len(stores) < len(against) else ()
    source = Input(input_paths(files), **reading)
    inputs = (*known, *source.paths)
    if dead_letter is not None:
        check_not_input(dead_letter, inputs)
    check_different_files({"the output": _OUTPUT, "--duplicates": duplicates, "--dead-letter": dead_letter}, inputs)
    fingerprinter = make_fingerprinter(**choices)
    with ExitStack() as stack:
        archives = [stack.enter_context(_open(name, connection)) for name in stores]
        for archive in archives:
            archive.similar_many([], rule=chosen)  # a store that cannot be searched stops the command here
        distances = pairs or duplicates is not None
        documents = stack.enter_context(temporary_documents(fingerprinter, chosen, distances=distances))
        letters = None if dead_letter is None else stack.enter_context(closing(DeadLetters(dead_letter)))
        progress = stack.enter_context(Input(inputs).progress(quiet=quiet))
        printer = stack.enter_context(OutcomePrinter(False, progress, quiet=True))
        report = _Report(documents, printer, letters)
        kept = stack.enter_context(WholeLines(None))
        copies = None if duplicates is None else stack.enter_context(WholeLines(duplicates))
        interruptible = stack.enter_context(Interruptible())

        def items(of: Input, *, against: bool) -> Iterator[Item]:
            check = partial(check_fields, id_field=None, text_fields=chosen.text_fields)
            for line in interruptible.until_interrupted(of.lines(progress, check)):
                yield item_of(line, chosen, id_field, against=against)

        everything = chain(items(Input(known, **reading), against=True), items(source, against=False))

        def decide(asked: Iterable[tuple[T, Item]]) -> Iterator[tuple[T, Outcome]]:
            looked_up: Iterable[tuple[T, Line | Outcome]] = ((each, item.asked) for each, item in asked)
            for archive in archives:
                looked_up = _not_in(archive, looked_up, chosen)
            return decided(documents, looked_up, chosen, **run)

        try:
            if keep == "first":
                outcomes = decide((item, item) for item in everything)
            else:
                outcomes = _in_other_order(stack, everything, keep, decide, interruptible)
            for item, outcome in outcomes:
                progress.done()
                report.note(item, outcome)
                if item.against or outcome.reason is not None:
                    continue
                if outcome.duplicate_of is None:
                    if not pairs:
                        kept.put(item.output)
                elif distances:
                    pair = report.pair(item, outcome)
                    if pairs:
                        kept.put(json_line(pair))
                    if copies is not None:
                        copies.put(json_line({**pair, "document": json.loads(item.output)}))
            for output in filter(None, (kept, copies)):
                output.flush()
        except (SimhashError, KeyboardInterrupt):
            if not quiet and report.counts:
                report.print(progress)
            raise
        if not quiet and report.counts:
            report.print(progress)
    if interruptible.signal is not None:
        without = "" if keep == "first" else f"; no documents are printed, because --keep {keep} needs the whole input"
        echo(f"es-simhash: interrupted{without}", err=True)
        sys.exit(interruptible.exit_code)
    if not report.counts:
        raise InputError(f"no documents in {source.names}: give one JSON object per line")
    exit_unless_all_done(report.rejected, report.counts.total())


def _open(address: str, connection: dict[str, Any]) -> Documents:
    _, options = client_options(address, **connection)
    return Documents(address, **options)


def _in_other_order(
    stack: ExitStack, items: Iterable[Item], keep: Keep, decide: Any, interruptible: Interruptible
) -> Iterator[tuple[Item, Outcome]]:
    """Yield the items with their outcomes in the order of the input; nothing after a signal.

    :param decide: returns outcomes in the order in which it is asked.
    """
    spool = stack.enter_context(Spool())
    spool.fill(items)
    ordered = interruptible.until_interrupted(spool.ordered(keep))
    for position, outcome in decide((position, item) for position, item in ordered):
        spool.note(position, outcome)
    return iter(()) if interruptible.signal is not None else spool.outcomes()


def _not_in(
    archive: Documents, items: Iterable[tuple[T, Line | Outcome]], rule: DuplicateRule
) -> Iterator[tuple[T, Line | Outcome]]:
    """Yield the items. Those that are copies of a document in a store get their outcome."""
    items = iter(items)
    while batch := list(islice(items, _TEXTS)):
        asked = [line.document for _, line in batch if not isinstance(line, Outcome) and line.problem is None]
        times = None if rule.time_field is None else [document[TIME] for document in asked]
        found = iter(archive.similar_many([document[TEXT] for document in asked], times=times, rule=rule))
        for item, line in batch:
            if isinstance(line, Outcome) or line.problem is not None or not (matches := next(found)):
                yield item, line
                continue
            nearest = matches[0]
            kind: Any = "exact_duplicate" if nearest.exact else "near_duplicate"
            about = {"distance": nearest.distance, "similarity": nearest.similarity, "place": archive.name}
            yield item, Outcome(None, kind, nearest.id, **about)  # type: ignore[arg-type]


class _Report:
    """What became of the documents: counts, dead letters, and who copies whom.

    :param documents: the temporary store, which knows the originals.
    """

    def __init__(self, documents: Documents, printer: OutcomePrinter, letters: DeadLetters | None) -> None:
        self.counts: Counter[str] = Counter()
        self.rejected = 0
        self._documents = documents
        self._printer = printer
        self._letters = letters
        self._not_compared = 0
        self._started = time.monotonic()

    def note(self, item: Item, outcome: Outcome) -> None:
        """Count an outcome. A rejected document is printed, and becomes a dead letter."""
        self._not_compared += outcome.left_out
        if not item.against:
            self.counts[outcome.outcome] += 1
        if outcome.reason is not None:
            self.rejected += 1
            outcome = outcome_with_options(outcome)
            self._printer.show(outcome)
            if self._letters is not None:
                self._letters.put(outcome)

    def pair(self, item: Item, outcome: Outcome) -> dict[str, Any]:
        """Return who copies whom, for JSON."""
        if outcome.id is None:  # in a store
            original, place = outcome.duplicate_of, outcome.place
        else:
            id = outcome.duplicate_of or ""
            source = self._documents.sources([id], fields=[NAME, PLACE])[id]
            original, place = source.get(NAME), source[PLACE]
        return {
            "id": item.asked.document[NAME],
            "place": item.asked.place,
            "duplicate_of": original,
            "original_place": place,
            "similarity": 1.0 if outcome.outcome == "exact_duplicate" else outcome.similarity,
            "distance": outcome.distance,
        }

    def print(self, progress: Progress) -> None:
        """Print the counts on standard error."""
        progress.clear()
        total, seconds = self.counts.total(), time.monotonic() - self._started
        rate = f", {total / seconds:,.0f} a second" if seconds > 1 else ""
        echo(f"{count_of(total, 'document')} in {seconds:.1f} s{rate}", err=True)
        for name, label in {"new": "kept", **_LABELS}.items():
            if self.counts[name]:
                echo(f"  {label:<17}{self.counts[name]:>12,}", err=True)
        if self._not_compared:
            echo(not_compared(self._not_compared), err=True)
