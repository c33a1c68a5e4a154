"""``es-simhash seen add|forget``: change the seen items of users, from arguments or from JSON lines."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.seen.lines import apply_lines
from es_simhash.console.exits import SOME_NOT_DONE, STOPPED_BY_ERROR
from es_simhash.console.help import Command
from es_simhash.console.input import Input, input_options, input_paths
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import open_seen
from es_simhash.errors import InputError, SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable

    from es_simhash.cli.seen.lines import Batch
    from es_simhash.seen.changes import SeenReport

user_option = click.option("--user", metavar="USER", help="Id of one user. The arguments are then items, not files.")


@click.command(cls=Command)
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@user_option
@json_option
@input_options
@store_options
def add(arguments: tuple[str, ...], user: str | None, as_json: bool, reading: dict[str, Any], **store: Any) -> None:
    """Record that users have seen items.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. A bad line is reported with its place and skipped. With --json the last
    line holds the counts.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen add log.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as items:
        if user is not None:
            _print_changed(items.add(user, arguments), as_json, "not seen before")
        else:
            _apply(_source(arguments, reading), items.add_many, as_json, "not seen before")


@click.command(cls=Command)
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@user_option
@json_option
@input_options
@store_options
def forget(arguments: tuple[str, ...], user: str | None, as_json: bool, reading: dict[str, Any], **store: Any) -> None:
    """Treat items as not seen until they are added again.

    A Bloom filter cannot remove one item. So the item goes on a list beside the user's filter. The list holds at most a
    thousand items for each user. Input and output are as for `seen add`.

    \b
    es-simhash seen forget --user ann news-1
    es-simhash seen forget withdrawn.jsonl --store http://localhost:9200/users
    """
    with open_seen(**store) as items:
        if user is not None:
            _print_changed(items.forget(user, arguments), as_json, "forgotten")
        else:
            _apply(_source(arguments, reading), items.forget_many, as_json, "forgotten")


def _source(arguments: tuple[str, ...], reading: dict[str, Any]) -> Input:
    return Input(input_paths(arguments, "give --user USER ITEM…, name a file, or pipe it in"), **reading)


def _print_changed(changed: int, as_json: bool, change: str) -> None:
    if as_json:
        print_json({"changed": changed})
    else:
        echo(f"{count_of(changed, 'item')} {change}")


def _apply(source: Input, change: Callable[[Batch], SeenReport], as_json: bool, changed: str) -> None:
    """Apply a change to the lines of files, print the counts, and exit with the code that they call for.

    :param changed: what happened to the changed items, such as ``forgotten``.
    """
    counts = Counter({"lines": 0, "rejected": 0, "items": 0, "changed": 0, "failed": 0})
    try:
        apply_lines(source, change, as_json, counts)
    except (SimhashError, KeyboardInterrupt):
        if counts["changed"]:
            _print_counts(counts, as_json, changed)
        raise
    _print_counts(counts, as_json, changed)
    if not counts["lines"]:
        raise InputError('no lines in the input: give JSON lines {"user", "items"}')
    if counts["rejected"] == counts["lines"]:
        sys.exit(STOPPED_BY_ERROR)
    if counts["rejected"] or counts["failed"]:
        sys.exit(SOME_NOT_DONE)


def _print_counts(counts: Counter[str], as_json: bool, changed: str) -> None:
    if as_json:
        print_json(counts)
        return
    lines, items = count_of(counts["lines"], "line"), count_of(counts["items"], "item")
    echo(f"{lines}, {items}, {counts['changed']:,} {changed}")
    for name, noun in (("rejected", "line"), ("failed", "user")):
        if counts[name]:
            echo(f"{count_of(counts[name], noun)} {name}")
