"""JSON lines of users and items: ``{"user": "ann", "items": ["news-1", 2]}``."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from es_simhash.bloom.items import hash_item
from es_simhash.bloom.seen import user_id
from es_simhash.cli.input import lines_of, progress_bar
from es_simhash.cli.options import print_json
from es_simhash.errors import InputError
from es_simhash.lines import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_simhash.bloom import Item
    from es_simhash.lines import Line
    from es_simhash.verbs.seen import Report

    Batch = dict[str, list[Item]]

BATCH_LINES = 5_000
BATCH_ITEMS = 50_000


@dataclass(frozen=True)
class Entry:
    """What a line says, or why it can't be used.

    :param place: the file's name and the number of the line.
    """

    place: str
    user: str = ""
    items: list[Item] = field(default_factory=list)
    problem: str | None = None


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


def each_batch(lines: Iterable[Line], most: int | None = None) -> Iterator[list[Entry]]:
    """What the lines say, bad ones too, in their order and by some of them: a batch ends where it has enough items.

    :param most: lines of a batch; by default BATCH_LINES.
    """
    most = most or BATCH_LINES
    batch: list[Entry] = []
    size = 0
    for line in lines:
        batch.append(_entry(line))
        size += len(batch[-1].items)
        if len(batch) >= most or size >= BATCH_ITEMS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _entry(line: Line) -> Entry:
    try:
        return Entry(line.place, *user_and_items(line))
    except InputError as error:
        return Entry(line.place, problem=str(error))


def by_user(entries: Iterable[Entry]) -> Batch:
    """The items of each user; what several lines say of one is put together, bad lines are left out."""
    batch: defaultdict[str, list[Item]] = defaultdict(list)
    for entry in entries:
        if entry.problem is None:
            batch[entry.user] += entry.items
    return dict(batch)


def apply(paths: tuple[str, ...], change: Callable[[Batch], Report], as_json: bool) -> Counter[str]:
    """Apply a change to all lines of the files, batch by batch.

    :returns: counts: ``lines``, ``rejected`` lines, ``items`` given, ``changed`` items, and ``failed`` users.
    """
    counts: Counter[str] = Counter(lines=0, rejected=0, items=0, changed=0, failed=0)
    with progress_bar(paths) as progress:
        for entries in each_batch(map(parsed, lines_of(paths, progress))):
            for entry in entries:
                if entry.problem is not None:
                    counts["rejected"] += 1
                    report_rejected(entry, as_json)
            counts["lines"] += len(entries)
            if not (batch := by_user(entries)):
                continue
            report = change(batch)
            counts["items"] += sum(map(len, batch.values()))
            counts["changed"] += sum(report.results.values())
            counts["failed"] += len(report.failed)
            for user, error in report.failed.items():
                report_failed(user, batch[user], str(error), as_json)
    return counts


def report_rejected(entry: Entry, as_json: bool) -> None:
    """Say why a line can't be used."""
    _report({"outcome": "rejected", "reason": f"{entry.place}: {entry.problem}"}, as_json)


def report_failed(user: str, items: list[Item], reason: str, as_json: bool) -> None:
    """Say why what a line says can't be done."""
    _report({"outcome": "failed", "user": user, "items": items, "reason": reason}, as_json)


def _report(problem: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(problem)
    else:
        click.echo(f"{problem['outcome']}: {problem['reason']}", err=True)
