"""``es-simhash seen show|rotate|remove``: show, rotate and delete the seen items of users."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

import click

from es_simhash.console.exits import SOME_NOT_DONE
from es_simhash.console.help import Command
from es_simhash.console.option_names import with_options
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import open_seen


@click.command(cls=Command)
@click.option("--user", metavar="USER", required=True, help="The user's id.")
@json_option
@store_options
def show(user: str, as_json: bool, **store: Any) -> None:
    """Show the Bloom filters of a user.

    Prints one line for each generation, the oldest first: when it started, its number of items, layers and bytes, and
    its false-positive rate. The last line is the number of items on the user's forget list (see `seen forget`).

    \b
    es-simhash seen show --user ann
    """
    with open_seen(**store) as seen:
        found = seen.stats(user)
    if as_json:
        print_json(asdict(found))
        return
    if not found.exists:
        echo(f"{user}: no seen items", err=True)
        return
    echo(f"{'started':<20}  {'items':>10}  {'layers':>6}  {'bytes':>10}  false positives")
    for generation in found.generations:
        started = datetime.fromtimestamp(generation.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
        rate = f"{generation.false_positive_rate:.4%}"
        echo(f"{started:<20}  {generation.count:>10,}  {generation.layers:>6}  {generation.bytes:>10,}  {rate:>15}")
    echo(f"forgotten: {found.forgotten:,}")


@click.command(cls=Command)
@click.option(
    "--user",
    "users",
    metavar="USER",
    multiple=True,
    help="Rotate only this user. May be repeated.  [default: all users]",
)
@click.option(
    "--before",
    metavar="SECONDS",
    type=int,
    help="Rotate only users whose newest generation started before this time (in seconds since 1970).",
)
@json_option
@store_options
def rotate(users: tuple[str, ...], before: int | None, as_json: bool, **store: Any) -> None:
    """Start a new generation of Bloom filters.

    Deletes the oldest generations beyond the number that is kept (seen init --generations). If n generations are kept,
    an item is remembered for at least n-1 rotations. Run the command at regular times, for example by cron. If it is
    interrupted, run it again with the same --before: no user is rotated twice.

    \b
    es-simhash seen rotate --before $(date +%s)
    """
    with open_seen(**store) as seen:
        report = seen.rotate(users or None, before=before)
    rotated = sum(report.results.values())
    if as_json:
        print_json(
            {"rotated": rotated, "failed": {user: with_options(str(error)) for user, error in report.failed.items()}}
        )
    else:
        echo(f"rotated {count_of(rotated, 'user')}")
        for error in report.failed.values():
            echo(f"failed: {with_options(str(error))}", err=True)
    if report.failed:
        sys.exit(SOME_NOT_DONE)


@click.command(cls=Command)
@click.option("--user", metavar="USER", required=True, help="The user's id.")
@store_options
def remove(user: str, **store: Any) -> None:
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
