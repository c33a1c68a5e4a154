"""``es-simhash seen add|forget``: change the seen items of users, from arguments or from JSON lines."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from es_simhash import InputError, SimhashError, StoreUnavailable
from es_simhash.cli.exits import SOME_NOT_DONE, exit_unless_all_done
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import open_seen
from es_simhash.cli.output import count_of, echo, print_json
from es_simhash.cli.seen.lines import by_user, each_batch, items_or_lines, report_failed, report_rejected, source_of
from es_simhash.seen.changes import SeenReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Unpack

    from es_simhash.cli.input import Input
    from es_simhash.cli.options import StoreOptions
    from es_simhash.cli.seen.lines import Batch, SeenLine

BATCH_LINES = 5_000
"""Largest number of lines in a batch."""


@click.command()
@items_or_lines
def add(
    arguments: tuple[str, ...],
    user: str | None,
    format: str | None,
    encoding: str,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Record that users have seen items.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. A bad line is reported with its place and skipped. With --json the last
    line holds the counts.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen add log.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as items:
        if user is not None:
            _print_changed(items.add(user, arguments), as_json, "not seen before")
        else:
            _apply(source_of(arguments, format, encoding), items.add_many, as_json, "not seen before")


@click.command()
@items_or_lines
def forget(
    arguments: tuple[str, ...],
    user: str | None,
    format: str | None,
    encoding: str,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Treat items as not seen until they are added again.

    A Bloom filter cannot remove one item. So the item goes on a list beside the user's filter. The list holds at most a
    thousand items for each user. Input and output are as for `seen add`.

    \b
    es-simhash seen forget --user ann news-1
    es-simhash seen forget withdrawn.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as items:
        if user is not None:
            _print_changed(items.forget(user, arguments), as_json, "forgotten")
        else:
            _apply(source_of(arguments, format, encoding), items.forget_many, as_json, "forgotten")


def _print_changed(changed: int, as_json: bool, change: str) -> None:
    if as_json:
        print_json({"changed": changed})
    else:
        echo(f"{count_of(changed, 'item')} {change}")


def _apply(source: Input, change: Callable[[Batch], SeenReport], as_json: bool, changed: str) -> None:
    """Apply a change to the lines of files, print the counts, and exit with the code that they call for.

    :param changed: what happened to the changed items, such as ``forgotten``.
    """
    counts = Counter({"lines": 0, "rejected": 0, "items": 0, "changed": 0, "failed": 0})
    with Interruptible() as interruptible:
        try:
            for entries in each_batch(source, BATCH_LINES, interruptible):
                _apply_batch(entries, change, as_json, counts)
        except (SimhashError, KeyboardInterrupt):
            if counts["changed"]:  # else the error message is enough
                _print_counts(counts, as_json, changed)
            raise
    _print_counts(counts, as_json, changed)
    interruptible.exit_if_interrupted()
    if not counts["lines"]:
        raise InputError('no lines in the input: give JSON lines {"user", "items"}')
    exit_unless_all_done(counts["rejected"], counts["lines"])
    if counts["failed"]:
        sys.exit(SOME_NOT_DONE)


def _apply_batch(
    entries: list[SeenLine], change: Callable[[Batch], SeenReport], as_json: bool, counts: Counter[str]
) -> None:
    """Apply a change to a batch of lines, and report rejected lines and failed users.

    :param counts: are increased: ``lines``, ``rejected`` lines, ``items`` in good lines, ``changed`` items, and
        ``failed`` users.
    :raises StoreUnavailable: if the store is away until the deadline. The message names the last line that was read.
    """
    rejected = [entry for entry in entries if entry.problem is not None]
    for entry in rejected:
        report_rejected(entry, as_json)
    batch = by_user(entries)
    counts.update(lines=len(entries), rejected=len(rejected), items=sum(map(len, batch.values())))
    report = change(batch) if batch else SeenReport({}, {})
    counts.update(changed=sum(report.results.values()), failed=len(report.failed))
    for user, error in report.failed.items():
        report_failed(user, batch[user], str(error), as_json)
    if any(isinstance(error, StoreUnavailable) for error in report.failed.values()):
        raise StoreUnavailable(f"the store is away; no line after {entries[-1].place} was read")


def _print_counts(counts: Counter[str], as_json: bool, changed: str) -> None:
    if as_json:
        print_json(counts)
        return
    lines, items = count_of(counts["lines"], "line"), count_of(counts["items"], "item")
    echo(f"{lines}, {items}, {counts['changed']:,} {changed}")
    for name, noun in (("rejected", "line"), ("failed", "user")):
        if counts[name]:
            echo(f"{count_of(counts[name], noun)} {name}")
