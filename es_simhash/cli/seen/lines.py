"""JSON lines of users and items: ``{"user": "ann", "items": ["news-1", 2]}``."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.input import lines_of, progress_bar
from es_simhash.cli.options import print_json
from es_simhash.core.bloom.items import hash_item
from es_simhash.core.seen import user_id
from es_simhash.errors import InputError
from es_simhash.reading.lines import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_simhash.core.bloom import Item
    from es_simhash.flows.seen import Report
    from es_simhash.reading.lines import Line

    Batch = dict[str, list[Item]]

BATCH_LINES = 5_000
BATCH_ITEMS = 50_000


def user_and_items(line: Line) -> tuple[str, list[Item]]:
    """What a line says; ``item`` may stand for ``items`` with a single one.

    :raises InputError: saying what is wrong with it.
    """
    if line.problem is not None:
        raise InputError(line.problem)
    document = line.document
    if not isinstance(document, dict) or "user" not in document or not {"items", "item"} & document.keys():
        raise InputError('an object {"user": …, "items": […]} is wanted')
    user = user_id(document["user"])
    items = document["items"] if "items" in document else [document["item"]]
    if not isinstance(items, list):
        raise InputError("the items are not a list")
    for item in items:
        hash_item(item, 0)  # refuses what is no item
    return user, items


def each_batch(lines: Iterable[Line], on_rejected: Callable[[str], None]) -> Iterator[tuple[Batch, int]]:
    """The items of some lines by user, and how many lines they were; a bad line is reported and left out."""
    batch: defaultdict[str, list[Item]] = defaultdict(list)
    count = size = 0
    for line in lines:
        try:
            user, items = user_and_items(line)
        except InputError as error:
            on_rejected(f"{line.place}: {error}")
            continue
        batch[user] += items
        count += 1
        size += len(items)
        if count >= BATCH_LINES or size >= BATCH_ITEMS:
            yield dict(batch), count
            batch.clear()
            count = size = 0
    if count:
        yield dict(batch), count


def apply(paths: tuple[str, ...], change: Callable[[Batch], Report], as_json: bool) -> Counter[str]:
    """Apply a change to all lines of the files, batch by batch.

    :returns: counts: ``lines``, ``rejected`` lines, ``items`` given, ``changed`` items, and ``failed`` users.
    """
    counts: Counter[str] = Counter(lines=0, rejected=0, items=0, changed=0, failed=0)

    def rejected(problem: str) -> None:
        counts["rejected"] += 1
        _report({"outcome": "rejected", "reason": problem}, as_json)

    with progress_bar(paths) as progress:
        for batch, count in each_batch(map(parsed, lines_of(paths, progress)), rejected):
            report = change(batch)
            counts["lines"] += count
            counts["items"] += sum(map(len, batch.values()))
            counts["changed"] += sum(report.results.values())
            counts["failed"] += len(report.failed)
            for user, error in report.failed.items():
                _report({"outcome": "failed", "user": user, "items": batch[user], "reason": str(error)}, as_json)
    counts["lines"] += counts["rejected"]
    return counts


def _report(problem: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(problem)
    else:
        click.echo(f"{problem['outcome']}: {problem['reason']}", err=True)
