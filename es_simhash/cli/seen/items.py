"""``es-simhash seen add|unseen|forget``: items of one user, from arguments; `add` also reads files of many users."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import click

from es_simhash import InputError, SimhashError, StoreUnavailable
from es_simhash.bloom.items import hash_item
from es_simhash.bloom.seen import user_id
from es_simhash.cli.exits import SOME_NOT_DONE, exit_unless_all_done
from es_simhash.cli.input import Input, input_paths
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import encoding_option, format_option, open_seen, store_options
from es_simhash.cli.output import count_of, echo
from es_simhash.lines import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Unpack

    from es_simhash import Line, SeenItems
    from es_simhash.bloom import Item
    from es_simhash.cli.options import StoreOptions
    from es_simhash.cli.progress import Progress

BATCH_ITEMS = 10_000
"""A batch of lines ends when it has this many items."""

user_option = click.option("--user", metavar="USER", required=True, help="The user's id.")
_items_argument = click.argument("items", metavar="[ITEM]…", nargs=-1)


@click.command()
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@click.option("--user", metavar="USER", help="Id of one user. The arguments are then items, not files.")
@format_option
@encoding_option
@store_options
def add(
    arguments: tuple[str, ...],
    user: str | None,
    format: str | None,
    encoding: str,
    **store: Unpack[StoreOptions],
) -> None:
    """Record that users have seen items.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. A bad line is reported with its place and skipped.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen add log.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as seen:
        if user is not None:
            echo(f"{count_of(seen.add(user, arguments), 'item')} not seen before")
        else:
            paths = input_paths(arguments, "give --user USER ITEM…, name a file, or pipe it in")
            _add_lines(seen, Input(paths, format, encoding))


@click.command()
@_items_argument
@user_option
@store_options
def unseen(items: tuple[str, ...], user: str, **store: Unpack[StoreOptions]) -> None:
    """Print the items that a user has not seen, in their order. An item that is printed is certainly not seen.

    \b
    es-simhash seen unseen --user ann news-1 news-2 news-3
    """
    with open_seen(**store) as seen:
        for item in seen.unseen(user, items):
            echo(item)


@click.command()
@_items_argument
@user_option
@store_options
def forget(items: tuple[str, ...], user: str, **store: Unpack[StoreOptions]) -> None:
    """Treat items as not seen until they are added again.

    A Bloom filter cannot remove one item. So the item goes on a list beside the user's filter. The list holds at most a
    thousand items for each user.

    \b
    es-simhash seen forget --user ann news-1
    """
    with open_seen(**store) as seen:
        echo(f"{count_of(seen.forget(user, items), 'item')} forgotten")


def _add_lines(seen: SeenItems, source: Input) -> None:
    """Add the items of files, print the counts, and exit with the code that they call for."""
    counts = Counter[str]()
    with source.progress("lines") as progress, Interruptible() as interruptible:
        try:
            lines = interruptible.until_interrupted(source.lines(progress, user_and_items))
            for batch in _batches(lines, progress, counts):
                _add_batch(seen, batch, counts)
        except (SimhashError, KeyboardInterrupt):
            if counts["changed"]:  # else the error message is enough
                _print_counts(counts)
            raise
    _print_counts(counts)
    interruptible.exit_if_interrupted()
    if not counts["lines"]:
        raise InputError('no lines in the input: give JSON lines {"user", "items"}')
    exit_unless_all_done(counts["rejected"], counts["lines"])
    if counts["failed"]:
        sys.exit(SOME_NOT_DONE)


def _batches(lines: Iterable[Line], progress: Progress, counts: Counter[str]) -> Iterator[dict[str, list[Item]]]:
    """Yield the items of some lines by their users. Bad lines are reported."""
    batch: defaultdict[str, list[Item]] = defaultdict(list)
    size = 0
    for line in lines:
        progress.done()
        counts["lines"] += 1
        try:
            user, items = user_and_items(line)
        except InputError as error:
            progress.reject(f"{line.place}: {error}")
            counts["rejected"] += 1
            continue
        batch[user] += items
        size += max(1, len(items))
        if size >= BATCH_ITEMS:
            yield batch
            batch, size = defaultdict(list), 0
    if batch:
        yield batch


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


def _add_batch(seen: SeenItems, batch: dict[str, list[Item]], counts: Counter[str]) -> None:
    """Add a batch, count it, and report users whose items are not stored.

    :raises StoreUnavailable: if the store is away until the deadline.
    """
    report = seen.add_many(batch)
    changed, failed = sum(report.results.values()), len(report.failed)
    counts.update(items=sum(map(len, batch.values())), changed=changed, failed=failed)
    for error in report.failed.values():
        echo(f"failed: {error}", err=True)
    if any(isinstance(error, StoreUnavailable) for error in report.failed.values()):
        raise StoreUnavailable("the store did not answer in time: add the same lines again later. An item counts once")


def _print_counts(counts: Counter[str]) -> None:
    lines, items = count_of(counts["lines"], "line"), count_of(counts["items"], "item")
    echo(f"{lines}, {items}, {counts['changed']:,} not seen before")
    for name, noun in (("rejected", "line"), ("failed", "user")):
        if counts[name]:
            echo(f"{count_of(counts[name], noun)} {name}")
