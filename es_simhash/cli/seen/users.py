"""``es-simhash seen stats|rotate|clear|remove``: ask about users, and forget."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

import click

from es_simhash.cli.exits import SOME_NOT_DONE
from es_simhash.cli.options import client_options, json_option, print_json, store_options
from es_simhash.client import SeenItems


@click.command()
@click.option("--user", metavar="USER", required=True, help="The user's id.")
@store_options
@json_option
def stats(user: str, as_json: bool, **store: Any) -> None:
    """Show figures of a user's filters.

    \b
    es-simhash seen stats --user ann
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as seen:
        found = seen.stats(user)
    if as_json:
        print_json(asdict(found))
        return
    if not found.exists:
        click.echo(f"{user}: nothing seen", err=True)
        return
    click.echo(f"{'begun':<20}  {'items':>10}  {'layers':>6}  {'bytes':>10}  false positives")
    for each in found.generations:
        begun = datetime.fromtimestamp(each.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
        rate = f"{each.false_positive_rate:.4%}"
        click.echo(f"{begun:<20}  {each.count:>10,}  {each.layers:>6}  {each.bytes:>10,}  {rate:>15}")
    click.echo(f"forgotten: {found.forgotten:,}")


@click.command()
@click.option("--user", "users", metavar="USER", multiple=True, help="May be repeated.  [default: all]")
@click.option(
    "--before", metavar="SECONDS", type=int, help="Only generations begun before this time, in seconds since 1970."
)
@store_options
@json_option
def rotate(users: tuple[str, ...], before: int | None, as_json: bool, **store: Any) -> None:
    """Begin a generation for users, and drop those beyond the number that is kept.

    Run it by the clock: with n generations kept, an item is remembered for at least n-1 rotations. A call that was
    interrupted is repeated with the same --before.

    \b
    es-simhash seen rotate --store http://localhost:9200/users --before $(date +%s)
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as seen:
        report = seen.rotate(users or None, before=before)
    rotated = sum(report.results.values())
    if as_json:
        print_json({"rotated": rotated, "failed": {user: str(error) for user, error in report.failed.items()}})
    else:
        click.echo(f"{rotated:,} users rotated")
        for error in report.failed.values():
            click.echo(f"failed: {error}", err=True)
    if report.failed:
        sys.exit(SOME_NOT_DONE)


@click.command()
@click.option("--user", metavar="USER", required=True, help="The user's id.")
@store_options
def clear(user: str, **store: Any) -> None:
    """Forget everything that a user has seen.

    \b
    es-simhash seen clear --user ann
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as seen:
        seen.clear(user)


@click.command()
@click.option("--user", metavar="USER", required=True, help="The user's id.")
@store_options
def remove(user: str, **store: Any) -> None:
    """Take the seen items out of a user's document, and remove the document if it holds nothing else.

    \b
    es-simhash seen remove --user ann
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as seen:
        if not seen.remove(user):
            click.echo(f"{user}: nothing seen", err=True)
