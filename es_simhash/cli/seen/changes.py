"""``es-simhash seen add|forget|rebuild``: change what users have seen, from arguments or from JSON lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import SOME_NOT_DONE, STOPPED_BY_ERROR
from es_simhash.cli.input import input_paths
from es_simhash.cli.options import client_options, json_option, print_json, store_options
from es_simhash.cli.seen.lines import apply
from es_simhash.client import SeenItems
from es_simhash.errors import InputError
from es_simhash.ingest.ids import FirstPlaces

if TYPE_CHECKING:
    from collections import Counter

    from es_simhash.cli.seen.lines import Batch
    from es_simhash.verbs.seen import Report

user_option = click.option("--user", metavar="USER", help="One user; the arguments are items then.")


@click.command()
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@user_option
@store_options
@json_option
def add(arguments: tuple[str, ...], user: str | None, as_json: bool, **store: Any) -> None:
    """Add items to what users have seen.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen add log.jsonl --store http://localhost:9200/users

    Without --user, files or standard input are read: JSON lines {"user", "items"}. A line that can't be used is
    reported with its place and stops nothing. With --json the counts are the last line.
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as items:
        if user is not None:
            _print({"changed": items.add(user, arguments)}, as_json, "{changed} of them not seen before")
        else:
            _finish(apply(_paths(arguments), items.add_many, as_json), as_json, "not seen before")


@click.command()
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@user_option
@store_options
@json_option
def forget(arguments: tuple[str, ...], user: str | None, as_json: bool, **store: Any) -> None:
    """Take items for not seen, until they are added again.

    They go on an exact list beside the user's filter, of a thousand at most: a bit can't be cleared for one item.

    \b
    es-simhash seen forget --user ann news-1
    es-simhash seen forget withdrawn.jsonl --store http://localhost:9200/users
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as items:
        if user is not None:
            _print({"changed": items.forget(user, arguments)}, as_json, "{changed} of them forgotten")
        else:
            _finish(apply(_paths(arguments), items.forget_many, as_json), as_json, "forgotten")


@click.command()
@click.argument("files", metavar="[FILE…|-]", nargs=-1)
@store_options
@json_option
def rebuild(files: tuple[str, ...], as_json: bool, **store: Any) -> None:
    """Make users' filters anew, from a log of what they have seen.

    Reads JSON lines {"user", "items"}. The first line of a user drops what was stored of that user, the others add to
    it; users that are not in the log stay as they are. What is added by others before the first line of a user is read
    must be in the log too.

    \b
    es-simhash seen rebuild log.jsonl --store http://localhost:9200/users
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as items, FirstPlaces() as known:

        def change(batch: Batch) -> Report:
            first = {user: theirs for user, theirs in batch.items() if known.claim(user, "") is None}
            again = {user: theirs for user, theirs in batch.items() if user not in first}
            report = items.rebuild_many(first)
            more = items.add_many(again)
            report.results.update(more.results)
            report.failed.update(more.failed)
            return report

        _finish(apply(_paths(files), change, as_json), as_json, "added")


def _paths(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return input_paths(arguments, "give --user USER ITEM…, name a file of JSON lines, or pipe them in")


def _print(values: dict[str, Any], as_json: bool, words: str) -> None:
    if as_json:
        print_json(values)
    else:
        click.echo(words.format(**values))


def _finish(counts: Counter[str], as_json: bool, what: str) -> None:
    """Print the counts, and exit by them."""
    if as_json:
        print_json(counts)
    else:
        click.echo(f"{counts['lines']:,} lines, {counts['items']:,} items, {counts['changed']:,} {what}")
        for name, of in (("rejected", "lines"), ("failed", "users")):
            if counts[name]:
                click.echo(f"{counts[name]:,} {of} {name}")
    if not counts["lines"]:
        raise InputError('no lines: JSON lines {"user", "items"} are wanted')
    if counts["rejected"] == counts["lines"]:
        sys.exit(STOPPED_BY_ERROR)
    if counts["rejected"] or counts["failed"]:
        sys.exit(SOME_NOT_DONE)
