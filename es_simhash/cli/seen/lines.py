"""Read JSON lines of users and items: ``{"user": "ann", "items": ["news-1", 2]}``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from es_simhash import InputError
from es_simhash.bloom.items import hash_item
from es_simhash.bloom.seen import user_id
from es_simhash.cli.input import Input, input_paths
from es_simhash.cli.options import encoding_option, format_option, json_option, store_options
from es_simhash.cli.output import echo, print_json
from es_simhash.lines import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash.bloom import Item
    from es_simhash.cli.interrupt import Interruptible
    from es_simhash.cli.options import F
    from es_simhash.lines import Line

    Batch = dict[str, list[Item]]

BATCH_ITEMS = 50_000
"""A batch ends when it has this many items."""

_OPTIONS = [
    click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1),
    click.option("--user", metavar="USER", help="Id of one user. The arguments are then items, not files."),
    format_option,
    encoding_option,
    json_option,
    store_options,
]


def items_or_lines(command: F) -> F:
    """Add the arguments of add, forget and unseen: the items of one user, or files with lines of users and items."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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


def source_of(arguments: tuple[str, ...], format: str | None, encoding: str) -> Input:
    """Return the files of a command, or standard input."""
    return Input(input_paths(arguments, "give --user USER ITEM…, name a file, or pipe it in"), format, encoding)


def user_and_items(line: Line) -> tuple[str, list[Item]]:
    """Return the user and the items of a line. A line may have ``item`` (one item) instead of ``items``.

    :raises InputError: if the line cannot be used. The message says why.
    """
    line = parsed(line)
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
        hash_item(item)  # raises for a value that cannot be an item
    return user, items


def each_batch(
    source: Input, max_lines: int, interruptible: Interruptible, *, quiet: bool = False
) -> Iterator[list[SeenLine]]:
    """Yield the entries of the files in batches, in the order of the lines. Bad lines are included.

    A batch ends when it has ``max_lines`` lines or BATCH_ITEMS items. The last one ends at a signal.

    :param quiet: show no progress.
    """
    batch: list[SeenLine] = []
    size = 0
    with source.progress("lines", quiet=quiet) as progress:
        for line in interruptible.until_interrupted(source.lines(progress, user_and_items)):
            batch.append(_entry(line))
            size += len(batch[-1].items)
            if len(batch) >= max_lines or size >= BATCH_ITEMS:
                yield batch
                progress.done(len(batch))
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


def report_rejected(entry: SeenLine, as_json: bool) -> None:
    """Report why a line cannot be used."""
    _report({"outcome": "rejected", "reason": f"{entry.place}: {entry.problem}"}, as_json)


def report_failed(user: str, items: list[Item], reason: str, as_json: bool) -> None:
    """Report why a user could not be read or changed."""
    _report({"outcome": "failed", "user": user, "items": items, "reason": reason}, as_json)


def _report(problem: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(problem)
    else:
        echo(f"{problem['outcome']}: {problem['reason']}", err=True)
