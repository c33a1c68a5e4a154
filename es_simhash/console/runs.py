"""What ingest, backfill and copy share: the options of a run, and how outcomes and counts are printed."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

import click

from es_simhash.console.help import RUN, option
from es_simhash.console.option_names import outcome_with_options
from es_simhash.console.options import collect_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.errors import SimhashError
from es_simhash.fingerprinting.normalisation import MAX_TEXT
from es_simhash.ingest.batches import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tqdm import tqdm
    from typing_extensions import Self

    from es_simhash.deciding.outcome import Counts, Outcome

_COUNT_LABELS = {
    "new": "new",
    "updated": "updated",
    "unchanged": "unchanged",
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
    "rejected": "rejected",
    "failed": "failed",
}
_OUTCOME_LABELS = {
    "exact_duplicate": "exact duplicate of",
    "near_duplicate": "near-duplicate of",
    "updated": "updated, now a duplicate of",
}


workers_option = option(
    "--workers",
    section=RUN,
    metavar="N",
    type=click.IntRange(0),
    default=lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    show_default="the number of cores",
    help="Number of processes that normalise and fingerprint texts. 0: the main process does it.",
)
max_text_option = option(
    "--max-text",
    section=RUN,
    metavar="N",
    type=click.IntRange(1),
    default=MAX_TEXT,
    show_default=True,
    help="Reject a document whose text has more characters.",
)
_RUN_OPTIONS = [
    workers_option,
    option(
        "--batch-size",
        section=RUN,
        metavar="N",
        type=click.IntRange(1),
        default=BATCH,
        show_default=True,
        help="Number of documents in one request.",
    ),
    max_text_option,
]


run_options = collect_options("run", ("workers", "batch_size", "max_text"), _RUN_OPTIONS)
"""Add the options of a run to a command, as the argument ``run``."""


class Outcomes(Protocol):
    """The outcomes of a run, which ends when they are closed."""

    def __iter__(self) -> Iterator[Outcome]: ...

    def close(self) -> None: ...


class OutcomePrinter:
    """Prints outcomes. At the end of its ``with`` block it prints how many were only counted.

    As JSON, every outcome is a line. As text, only duplicates are printed, and on standard error the documents that
    were rejected or failed. Documents that failed for the same reason as the last one are counted, not printed.

    :param progress: the bar of the command; it is cleared before a line is printed.
    :param quiet: print only the documents that were rejected or failed, as text.
    """

    def __init__(self, as_json: bool, progress: tqdm[Any], *, quiet: bool = False) -> None:
        self._as_json = as_json and not quiet
        self._quiet = quiet
        self._progress = progress
        self._last_reason: str | None = None
        self._for_same_reason = 0
        self._started = time.monotonic()

    def show(self, outcome: Outcome) -> None:
        """Print one outcome."""
        if self._as_json:
            print_json(outcome.to_dict())
        elif outcome.reason is not None:
            self._print_reason(outcome, outcome.reason)
        elif not self._quiet and outcome.duplicate_of is not None and outcome.outcome != "unchanged":
            self._progress.clear()
            known = outcome.outcome != "exact_duplicate" and outcome.distance is not None
            bits = f", {count_of(outcome.distance or 0, 'bit')}" if known else ""
            skipped = "" if outcome.stored else "  (not stored)"
            echo(f"{outcome.id}  {_OUTCOME_LABELS[outcome.outcome]} {outcome.duplicate_of}{bits}{skipped}")

    def show_counts(self, counts: Counts, before: int) -> None:
        """Print how many documents had each outcome.

        :param before: how many of the documents were counted by earlier runs with the same checkpoint.
        """
        if not self._quiet:
            self._progress.clear()
            _print_counts(counts, before, time.monotonic() - self._started, self._as_json)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._print_counted()

    def _print_counted(self) -> None:
        if self._for_same_reason:
            self._progress.clear()
            echo(f"failed: {count_of(self._for_same_reason, 'more document')}, for the same reason", err=True)
            self._for_same_reason = 0

    def _print_reason(self, outcome: Outcome, reason: str) -> None:
        why = reason.removeprefix(f"{outcome.place}: ")
        if outcome.outcome == "failed" and why == self._last_reason:
            self._for_same_reason += 1
            return
        self._print_counted()
        self._last_reason = why if outcome.outcome == "failed" else None
        self._progress.clear()
        echo(f"{outcome.outcome}: {reason}", err=True)


def print_outcomes(
    outcomes: Outcomes,
    counts: Counts,
    printer: OutcomePrinter,
    note: Callable[[Outcome], object],
) -> None:
    """Print the outcomes of a run, then the counts. They are also printed before an error is raised.

    :param outcomes: is closed at the end.
    :param counts: the counts of earlier runs with the same checkpoint. Each outcome is added.
    :param note: is called with each outcome, before it is printed. Its reason names options.
    """
    before = counts.total
    with closing(outcomes):
        try:
            with printer:
                for outcome in map(outcome_with_options, outcomes):
                    note(outcome)
                    counts.add(outcome)
                    printer.show(outcome)
        except (SimhashError, KeyboardInterrupt):
            if counts.total:  # without any counts the error message is enough
                printer.show_counts(counts, before)
            raise
        printer.show_counts(counts, before)


def _print_counts(counts: Counts, before: int, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(counts.to_dict())
        return
    labelled = [(label, counts.outcomes[name]) for name, label in _COUNT_LABELS.items()]
    echo_counts(labelled, counts.total - before, seconds, before=before)
    if counts.without_fingerprint:
        echo(
            f"{counts.without_fingerprint:,} stored without a fingerprint (text too short): the rule fingerprint finds "
            "only exact duplicates of them"
        )


def echo_counts(
    labelled: Iterable[tuple[str, int]], done: int, seconds: float, *, before: int = 0, err: bool = False
) -> None:
    """Print how many documents were done, how fast, and the counts that are not 0.

    :param labelled: pairs (label, count).
    :param before: documents of earlier runs with the same checkpoint.
    :param err: print on standard error.
    """
    rate = f", {done / seconds:,.0f} a second" if seconds > 1 else ""
    echo(f"{count_of(done, 'document')} in {seconds:.1f} s{rate}", err=err)
    if before:
        echo(f"{done + before:,} including earlier runs with the same --resume file", err=err)
    for label, count in labelled:
        if count:
            echo(f"  {label:<17}{count:>12,}", err=err)
