"""What the commands share that run through documents: ingest and backfill."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.options import as_one_argument, print_json
from es_simhash.ingest.batches import BATCH
from es_simhash.ingest.reader import MAX_TEXT
from es_simhash.verbs.ingest import DEADLINE

if TYPE_CHECKING:
    from tqdm import tqdm

    from es_simhash.verbs.outcome import Counts, Outcome

_LABELS = {
    "new": "new",
    "updated": "updated",
    "unchanged": "unchanged",
    "exact_duplicate": "exact duplicates",
    "near_duplicate": "near-duplicates",
    "rejected": "rejected",
    "failed": "failed",
}


_RUN = [
    click.option(
        "--workers",
        type=click.IntRange(0),
        default=lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        show_default="the cores",
        help="Processes that fingerprint; with 0 this one does.",
    ),
    click.option(
        "--deadline",
        metavar="SECONDS",
        type=click.FloatRange(0, 86_400),
        default=DEADLINE,
        show_default=True,
        help="How long to try again while the store is busy or away.",
    ),
    click.option(
        "--batch-size", type=click.IntRange(1), default=BATCH, show_default=True, help="Documents in one request."
    ),
    click.option(
        "--max-text",
        type=click.IntRange(1),
        default=MAX_TEXT,
        show_default=True,
        help="A longer text is rejected (characters).",
    ),
]


run_options = as_one_argument("run", ("workers", "deadline", "batch_size", "max_text"), _RUN)
"""The options of a run, as the argument ``run``."""


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
