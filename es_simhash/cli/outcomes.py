"""How ingest and backfill print the outcomes of documents, and the counts."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from es_simhash.cli.output import count_of, echo, nearness, print_json
from es_simhash.decide.outcome import OUTCOMES, Counts
from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from tqdm import tqdm

    from es_simhash import Outcome

_COUNT_LABELS = {
    "kept": "kept as stored",
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
}
"""Of an outcome that is counted by another name."""
_OUTCOME_LABELS = {
    "exact_duplicate": "exact duplicate of",
    "near_duplicate": "near-duplicate of",
    "updated": "updated, now a duplicate of",
}


class OutcomePrinter:
    """Prints outcomes, and counts them.

    As JSON, every outcome is a line. As text, only duplicates are printed, and on standard error the documents that
    were rejected or failed.

    :param store: the address that is named with the counts.
    :param progress: the bar of the command; it is cleared before a line is printed.
    :param quiet: print only the documents that were rejected or failed, and the counts.
    """

    def __init__(self, store: str, as_json: bool, progress: tqdm[Any], *, quiet: bool = False) -> None:
        self.counts = Counts()
        self._store = store
        self._as_json = as_json
        self._quiet = quiet
        self._progress = progress
        self._started = time.monotonic()

    def show(self, outcome: Outcome) -> None:
        """Count one outcome, and print it."""
        self.counts.add(outcome)
        if self._as_json and not self._quiet:
            print_json(outcome.to_dict())
        elif outcome.reason is not None:
            self._progress.clear()
            echo(f"{outcome.outcome}: {outcome.reason}", err=True)
        elif not self._quiet and outcome.duplicate_of is not None and outcome.outcome not in ("unchanged", "kept"):
            self._progress.clear()
            exact = outcome.outcome == "exact_duplicate"
            near = "" if exact else nearness(outcome.similarity, outcome.distance)
            skipped = "" if outcome.stored else "  (not stored)"
            echo(f"{outcome.id}  {_OUTCOME_LABELS[outcome.outcome]} {outcome.duplicate_of}{near}{skipped}")

    def show_counts(self) -> None:
        """Print how many documents had each outcome."""
        self._progress.clear()
        if self._as_json:
            print_json(self.counts.to_dict())
            return
        labelled = [(_COUNT_LABELS.get(name, name), self.counts.outcomes[name]) for name in OUTCOMES]
        echo_counts(labelled, self.counts.total, time.monotonic() - self._started, store=self._store)
        if self.counts.without_fingerprint:
            echo(
                f"{self.counts.without_fingerprint:,} stored without a fingerprint (text too short): the rule "
                "fingerprint finds only exact duplicates of them"
            )


def print_outcomes(
    outcomes: Generator[Outcome, None, None], printer: OutcomePrinter, note: Callable[[Outcome], object]
) -> None:
    """Print the outcomes of a run, then the counts. They are also printed before an error is raised.

    :param outcomes: is closed at the end.
    :param note: is called with each outcome, before it is printed.
    """
    with closing(outcomes):
        try:
            for outcome in outcomes:
                note(outcome)
                printer.show(outcome)
        except (SimhashError, KeyboardInterrupt):
            if printer.counts.total:  # without any counts the error message is enough
                printer.show_counts()
            raise
        printer.show_counts()


def echo_counts(
    labelled: Iterable[tuple[str, int]], done: int, seconds: float, *, store: str = "", err: bool = False
) -> None:
    """Print how many documents were done, how fast, and the counts that are not 0.

    :param labelled: pairs (label, count).
    :param store: the address of the store that was written.
    :param err: print on standard error.
    """
    rate = f", {done / seconds:,.0f} a second" if seconds > 1 else ""
    where = f"{store}: " if store else ""
    echo(f"{where}{count_of(done, 'document')} in {seconds:.1f} s{rate}", err=err)
    for label, count in labelled:
        if count:
            echo(f"  {label:<17}{count:>12,}", err=err)
