"""``es-simhash seen init|rotate|show|remove``: set up a store of seen items; show, rotate and remove those of users."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click

from es_simhash.bloom.seen import SeenConfig
from es_simhash.cli.exits import SOME_NOT_DONE
from es_simhash.cli.options import duration, json_option, open_seen, parsed_by, store_options
from es_simhash.cli.output import count_of, echo, print_json
from es_simhash.cli.seen.items import user_option

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions

_DEFAULT = SeenConfig()
_MESSAGES = {
    "created": "created; next run `es-simhash seen add`",
    "added": "added the field for seen items to the existing index",
    "unchanged": "already set up; nothing to do",
}


@click.command()
@click.option(
    "--capacity",
    type=int,
    metavar="N",
    help=f"Items that a user's first Bloom filter is sized for.  [default: {_DEFAULT.capacity}]",
)
@click.option(
    "--error-rate",
    type=float,
    metavar="P",
    help=f"Largest share of unseen items that are reported as seen.  [default: {_DEFAULT.error_rate}]",
)
@click.option(
    "--generations",
    type=int,
    metavar="N",
    help=f"How many Bloom filters a user keeps: the newest N.  [default: {_DEFAULT.generations}]",
)
@click.option(
    "--period",
    metavar="DURATION",
    callback=parsed_by(duration),
    help="Begin a new generation automatically after this time, such as 7d.  [default: never]",
)
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
    options.

    The second example remembers an item for three to four weeks:

    \b
    es-simhash seen init --store http://localhost:9200/users --error-rate 0.001
    es-simhash seen init --generations 4 --period 7d
    """
    seconds = None if period is None else int(period.total_seconds())
    sizing = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": seconds}
    with open_seen(sizing, **store) as items:
        result = items.setup()
        echo(f"{items.name}: {_MESSAGES[result]}")


@click.command()
@user_option
@json_option
@store_options
def show(user: str, as_json: bool, **store: Unpack[StoreOptions]) -> None:
    """Show the Bloom filters of a user.

    Prints one line for each generation, the oldest first: when it started, its number of items, layers and bytes, and
    its false-positive rate. The last line is the number of items on the user's forget list (see `seen forget`).

    \b
    es-simhash seen show --user ann
    """
    with open_seen(**store) as seen:
        stats = seen.stats(user)
    if as_json:
        print_json(asdict(stats))
        return
    if not stats.exists:
        echo(f"{user}: no seen items", err=True)
        return
    echo(f"{'started':<20}  {'items':>10}  {'layers':>6}  {'bytes':>10}  false positives")
    for generation in stats.generations:
        started = datetime.fromtimestamp(generation.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
        rate = f"{generation.false_positive_rate:.4%}"
        echo(f"{started:<20}  {generation.count:>10,}  {generation.layers:>6}  {generation.bytes:>10,}  {rate:>15}")
    echo(f"forgotten: {stats.forgotten:,}")


@click.command()
@click.option(
    "--before",
    metavar="DURATION",
    callback=parsed_by(duration),
    help="Rotate only users whose newest generation started so long ago, such as 7d.",
)
@store_options
def rotate(before: timedelta | None, **store: Unpack[StoreOptions]) -> None:
    """Start a new generation of Bloom filters for all users.

    Deletes the oldest generations beyond the number that is kept (seen init --generations). If n generations are kept,
    an item is remembered for at least n-1 rotations. Run the command at regular times, for example by cron. If it is
    interrupted, run it again with --before 1h: it leaves out the users that it has rotated.

    \b
    es-simhash seen rotate
    es-simhash seen rotate --before 7d
    """
    with open_seen(**store) as seen:
        report = seen.rotate(before=before)
    echo(f"rotated {count_of(sum(report.results.values()), 'user')}")
    for error in report.failed.values():
        echo(f"failed: {error}", err=True)
    if report.failed:
        sys.exit(SOME_NOT_DONE)


@click.command()
@user_option
@store_options
def remove(user: str, **store: Unpack[StoreOptions]) -> None:
    """Remove the field with the seen items from a user's document. Delete the document if it has no other field.

    \b
    es-simhash seen remove --user ann
    """
    with open_seen(**store) as seen:
        removed = seen.remove(user)
    if removed:
        echo(f"{user}: removed")
    else:
        echo(f"{user}: no seen items", err=True)
