"""Read JSON lines of users and items: ``{"user": "ann", "items": ["news-1", 2]}``."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from es_simhash.bloom.items import hash_item
from es_simhash.bloom.seen import user_id
from es_simhash.console.option_names import with_options
from es_simhash.console.output import echo, print_json
from es_simhash.errors import InputError, StoreUnavailable
from es_simhash.lines import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from es_simhash.bloom import Item
    from es_simhash.console.input import Input
    from es_simhash.lines import Line
    from es_simhash.seen.changes import SeenReport

    Batch = dict[str, list[Item]]

BATCH_LINES = 5_000
"""Largest number of lines in a batch."""
BATCH_ITEMS = 50_000
"""A batch ends when it has this many items."""


@dataclass(frozen=True)
class SeenLine:
    """The user and the items of a line, or why the line cannot be used.

    :param place: name of the file and number of the line: ``log.jsonl:12``.
    :param problem: why the line cannot be used; None if it can.
    """

    place: str
    user: str = ""
    items: list[Item] = field(default_factory=list)
    problem: str | None = None


def user_and_items(line: Line) -> tuple[str, list[Item]]:
    """Return the user and the items of a line. A line may have ``item`` (one item) instead of ``items``.

    :raises InputError: if the line cannot be used. The message says why.
    """
    if line.problem is not None:
        raise InputError(line.problem)
    document = line.document
    if not isinstance(document, dict) or "user" not in document or not {"items", "item"} & document.keys():
        raise InputError('not a user with items: use an object {"user": …, "items": […]}')
    user = user_id(document["user"])
    items = document["items"] if "items" in document else [document["item"]]
    if not isinstance(items, list):
        raise InputError('"items" is not a list: use ["news-1", …], or "item" for one item')
    for item in items:
        hash_item(item, 0)  # raises for a value that cannot be an item
    return user, items


def check_entry(line: Line) -> None:
    """Raise InputError if a line has no user with items."""
    user_and_items(parsed(line))


def each_batch(lines: Iterable[Line], max_lines: int | None = None) -> Iterator[list[SeenLine]]:
    """Yield the entries of the lines in batches, in the order of the lines. Bad lines are included.

    A batch ends when it has ``max_lines`` lines or BATCH_ITEMS items.

    :param max_lines: BATCH_LINES by default.
    """
    max_lines = max_lines or BATCH_LINES
    batch: list[SeenLine] = []
    size = 0
    for line in lines:
        batch.append(_entry(line))
        size += len(batch[-1].items)
        if len(batch) >= max_lines or size >= BATCH_ITEMS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _entry(line: Line) -> SeenLine:
    try:
        return SeenLine(line.place, *user_and_items(line))
    except InputError as error:
        return SeenLine(line.place, problem=str(error))


def by_user(entries: Iterable[SeenLine]) -> Batch:
    """Return the items of each user, from all of that user's lines. Bad lines are left out."""
    batch: defaultdict[str, list[Item]] = defaultdict(list)
    for entry in entries:
        if entry.problem is None:
            batch[entry.user] += entry.items
    return dict(batch)


def apply_lines(source: Input, change: Callable[[Batch], SeenReport], as_json: bool, counts: Counter[str]) -> None:
    """Apply a change to all lines of the files, batch by batch, and report rejected lines and failed users.

    :param counts: are increased: ``lines``, ``rejected`` lines, ``items`` in good lines, ``changed`` items, and
        ``failed`` users.
    :raises StoreUnavailable: if the store is away until the deadline. The message names the last line that was read.
    """
    with source.progress("lines") as progress:
        for entries in each_batch(map(parsed, source.lines(progress, check_entry))):
            progress.done(len(entries))
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
            for error in report.failed.values():
                if isinstance(error, StoreUnavailable):
                    raise StoreUnavailable(f"the store is away; no line after {entries[-1].place} was read")


def report_rejected(entry: SeenLine, as_json: bool) -> None:
    """Report why a line cannot be used."""
    _report({"outcome": "rejected", "reason": f"{entry.place}: {entry.problem}"}, as_json)


def report_failed(user: str, items: list[Item], reason: str, as_json: bool) -> None:
    """Report why a user could not be read or changed."""
    _report({"outcome": "failed", "user": user, "items": items, "reason": reason}, as_json)


def _report(problem: dict[str, Any], as_json: bool) -> None:
    problem = {**problem, "reason": with_options(problem["reason"])}
    if as_json:
        print_json(problem)
    else:
        echo(f"{problem['outcome']}: {problem['reason']}", err=True)
