"""``es-simhash seen``: the items that users have seen."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from es_simhash import InputError
from es_simhash.bloom.layer import hash_items
from es_simhash.bloom.seen import SeenConfig, user_id
from es_simhash.cli.exits import SOME_NOT_DONE, exit_unless_all_done
from es_simhash.cli.input import Input, input_paths
from es_simhash.cli.options import (
    FILE,
    duration_option,
    encoding_option,
    format_option,
    open_seen,
    store_options,
)
from es_simhash.cli.output import checked_start, count_of, echo, print_json, progress_bar
from es_simhash.lines import object_of

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from es_simhash import Line, SeenCounts, SeenItems, SeenReport
    from es_simhash.bloom import Item
    from es_simhash.cli.options import StoreOptions

BATCH_LINES = 5_000
"""Lines whose items are added together."""

_DEFAULT = SeenConfig()
_items_argument = click.argument("items", metavar="[ITEM]…", nargs=-1)
_user_option = click.option("--user", metavar="USER", required=True, help="The user's id.")


@click.group
def seen() -> None:
    """Remember which items each user has seen.

    The items are kept in Bloom filters, one field in each user's document. The answer "not seen" is always right. The
    answer "seen" is wrong at a rate that you choose (seen init --error-rate). The items 1 and "1" are the same.

    The second example prints news-3:

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen unseen --user ann news-1 news-3
    zcat log.jsonl.gz | es-simhash seen add --store http://localhost:9200/users
    """


@seen.command()
@click.option(
    "--capacity", type=int, metavar="N", help=f"Items of a user's first Bloom filter.  [default: {_DEFAULT.capacity}]"
)
@click.option(
    "--error-rate",
    type=float,
    metavar="P",
    help=f"Share of unseen items taken for seen.  [default: {_DEFAULT.error_rate}]",
)
@click.option(
    "--generations",
    type=int,
    metavar="N",
    help=f"Bloom filters of a user: the newest N.  [default: {_DEFAULT.generations}]",
)
@duration_option("--period", "Begin a generation after this time, such as 7d.")
@store_options
def init(
    capacity: int | None,
    error_rate: float | None,
    generations: int | None,
    period: timedelta | None,
    **store: Unpack[StoreOptions],
) -> None:
    """Set up a store for seen items.

    Creates the index or the SQLite file. If the index exists, adds the object `seen` to its mapping and changes no
    other field. The store keeps the options, and the other seen commands use them. You can run it again with the same
    options. It prints what it did: created, added (the field) or unchanged.

    The second example remembers an item for three to four weeks:

    \b
    es-simhash seen init --store http://localhost:9200/users --error-rate 0.001
    es-simhash seen init --generations 4 --period 7d
    """
    seconds = None if period is None else int(period.total_seconds())
    sizing = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": seconds}
    with open_seen(sizing, **store) as items:
        echo(f"{items.name}: {items.setup()}")


@seen.command()
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", type=FILE, nargs=-1)
@click.option("--user", metavar="USER", help="Id of one user. The arguments are then items, not files.")
@format_option
@encoding_option
@store_options
def add(
    arguments: tuple[str, ...], user: str | None, format: str | None, encoding: str, **store: Unpack[StoreOptions]
) -> None:
    """Record that users have seen items.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. A bad line is reported with its place and skipped.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen add log.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as items:
        if user is not None:
            echo(f"{count_of(items.add(user, arguments), 'item')} not seen before")
        else:
            paths = input_paths(arguments, "give --user USER ITEM…, name a file, or pipe it in")
            _add_lines(items, Input(paths, format, encoding))


@seen.command()
@_items_argument
@_user_option
@store_options
def unseen(items: tuple[str, ...], user: str, **store: Unpack[StoreOptions]) -> None:
    """Print the items that a user has not seen, in their order. An item that is printed is certainly not seen.

    \b
    es-simhash seen unseen --user ann news-1 news-2 news-3
    """
    with open_seen(**store) as seen:
        for item in seen.unseen(user, items):
            echo(item)


@seen.command()
@_items_argument
@_user_option
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


@seen.command()
@duration_option("--before", "Only users whose newest generation started so long ago, such as 7d.")
@store_options
def rotate(before: timedelta | None, **store: Unpack[StoreOptions]) -> None:
    """Start a new generation of Bloom filters for all users.

    Deletes the oldest generations beyond the number that is kept: seen init --generations, which must be 2 or more. If
    n are kept, an item is remembered for at least n-1 rotations. Run the command at regular times, for example by cron.
    If it is interrupted, run it again with --before 1h: it leaves out the users that it has rotated.

    \b
    es-simhash seen rotate
    es-simhash seen rotate --before 7d
    """
    with open_seen(**store) as seen, progress_bar(unit=" users") as bar:
        counts = seen.rotate(before=before, progress=lambda users: bar.update(users - bar.n))
    echo(f"rotated {count_of(counts.users, 'user')}")
    _exit_if_failed(counts)


@seen.command()
@_user_option
@store_options
def show(user: str, **store: Unpack[StoreOptions]) -> None:
    """Show the Bloom filters of a user, as JSON.

    It has each generation, the oldest first: when it started (seconds since 1970), its number of items, layers and
    bytes, and its false-positive rate; and the number of items on the user's forget list (see `seen forget`).

    \b
    es-simhash seen show --user ann
    """
    with open_seen(**store) as seen:
        print_json(asdict(seen.stats(user)))


@seen.command()
@click.option("--user", metavar="USER", help="Id of one user.")
@duration_option("--inactive", "All users who have seen nothing new for this time, such as 90d.")
@store_options
def remove(user: str | None, inactive: timedelta | None, **store: Unpack[StoreOptions]) -> None:
    """Remove the field with the seen items from the document of a user, or of all inactive users.

    A document that has no other field is deleted.

    \b
    es-simhash seen remove --user ann
    es-simhash seen remove --inactive 90d
    """
    if (user is None) is (inactive is None):
        raise click.UsageError("name one user (--user), or a time without new items (--inactive)")
    with open_seen(**store) as seen:
        if user is not None:
            removed = seen.remove(user)
            echo(f"{user}: {'removed' if removed else 'no seen items'}", err=not removed)
        elif inactive is not None:
            with progress_bar(unit=" users") as bar:
                counts = seen.remove_inactive(inactive, progress=lambda users: bar.update(users - bar.n))
            echo(f"removed {count_of(counts.users, 'user')}")
            _exit_if_failed(counts)


# --- add from files --------------------------------------------------------------------------------------------


def _add_lines(seen: SeenItems, source: Input) -> None:
    """Add the items of files, print the counts, and exit with the code that they call for."""
    counts = Counter[str]()
    try:
        with closing(source.lines()) as raw:
            lines = checked_start(map(_read, raw), lambda line: line[2])
            while batch := list(islice(lines, BATCH_LINES)):
                by_user = defaultdict[str, list[Any]](list)
                for user, items, problem in batch:
                    if problem is None:
                        by_user[user] += items
                    else:
                        echo(f"rejected: {problem}", err=True)
                        counts["rejected"] += 1
                counts["lines"] += len(batch)
                if not by_user:
                    continue  # for bad lines alone no store is made
                report = seen.add_many(by_user)
                changed, failed = sum(report.results.values()), len(report.failed)
                counts.update(items=sum(map(len, by_user.values())), changed=changed, failed=failed)
                _print_failed(report)
    finally:
        if counts["items"] or counts["rejected"]:
            done = f"{count_of(counts['items'], 'item')}, {counts['changed']:,} not seen before"
            left_out = f"{count_of(counts['rejected'], 'line')} rejected, {count_of(counts['failed'], 'user')} failed"
            echo(f"{count_of(counts['lines'], 'line')}, {done}, {left_out}")
    if not counts["lines"]:
        raise InputError('no lines in the input: give JSON lines {"user", "items"}')
    exit_unless_all_done(counts["rejected"], counts["lines"])
    if counts["failed"]:
        sys.exit(SOME_NOT_DONE)


def _read(line: Line) -> tuple[str, list[Item], str | None]:
    """Return the user and the items of a line, or why it cannot be used.

    A line may have ``item`` (one item) instead of ``items``.
    """
    try:
        document = object_of(line)
        if "user" not in document or not {"items", "item"} & document.keys():
            raise InputError('not a user with items: use an object {"user": …, "items": […]}')
        items = document["items"] if "items" in document else [document["item"]]
        if not isinstance(items, list):
            raise InputError('"items" is not a list: use ["news-1", …], or "item" for one item')
        hash_items(items)  # raises for a value that cannot be an item
        return user_id(document["user"]), items, None
    except InputError as error:
        return "", [], f"{line.place}: {error}"


def _exit_if_failed(counts: SeenCounts) -> None:
    _print_failed(counts)
    if counts.failed:
        sys.exit(SOME_NOT_DONE)


def _print_failed(report: SeenReport | SeenCounts) -> None:
    for error in report.failed.values():
        echo(f"failed: {error}", err=True)
