"""``es-simhash seen unseen``: which items has a user certainly not seen? From arguments, or from JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.input import input_paths, open_input
from es_simhash.cli.options import client_options, display, json_option, print_json, store_options
from es_simhash.cli.seen.lines import by_user, each_batch, report_failed, report_rejected
from es_simhash.client import SeenItems
from es_simhash.errors import FilterFormatError
from es_simhash.lines import json_lines
from es_simhash.verbs.seen import USERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.bloom import Item
    from es_simhash.cli.seen.lines import Batch, Entry
    from es_simhash.lines import Line

    Answer = set[Item] | FilterFormatError


@click.command()
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@click.option("--user", metavar="USER", help="One user; the arguments are items then.")
@click.option("--batch-size", type=click.IntRange(1), default=USERS, show_default=True, help="Lines of a request.")
@store_options
@json_option
def unseen(arguments: tuple[str, ...], user: str | None, batch_size: int, as_json: bool, **store: Any) -> None:
    """Print the items that a user has certainly not seen, in their order.

    \b
    es-simhash seen unseen --user ann news-1 news-2 news-3
    echo '{"user": "ann", "items": ["news-1", "news-3"]}' | es-simhash seen unseen

    Without --user, files or standard input are read: each JSON line {"user", "items"} is answered by such a line with
    the unseen ones, in the order of the lines. A line that can't be answered is reported with its place and stops
    nothing; with --json in its turn, as a line {"outcome", "reason"}. Of a pipe that only trickles, use --batch-size 1:
    each line is answered before the next is read.
    """
    url, options = client_options(**store)
    with SeenItems(url, **options) as seen:
        if user is None:
            _answer_lines(seen, arguments, batch_size, as_json)
            return
        found = seen.unseen(user, arguments)
        if as_json:
            print_json({"user": user, "items": found})
        else:
            for item in found:
                click.echo(item)


def _answer_lines(seen: SeenItems, files: tuple[str, ...], batch_size: int, as_json: bool) -> None:
    paths = input_paths(files, "give --user USER ITEM…, name a file of JSON lines, or pipe them in")
    answered = count = 0
    for entries in each_batch(_lines(paths), batch_size):
        wanted = by_user(entries)
        answers = _unseen(seen, wanted) if wanted else {}
        answered += sum(_answer(entry, answers, as_json) for entry in entries)
        count += len(entries)
    exit_unless_all_done(count - answered, count)


def _lines(paths: tuple[str, ...]) -> Iterator[Line]:
    for path in paths:
        with open_input(path) as stream:
            yield from json_lines(stream, display(path))


def _unseen(seen: SeenItems, wanted: Batch) -> dict[str, Answer]:
    """The unseen ones of each user's items, or why that user's filters can't be read.

    By halves, until whoever can't be read is alone: it happens rarely, and the others are to have their answers.
    """
    try:
        return {user: set(items) for user, items in seen.unseen_many(wanted).items()}
    except FilterFormatError as error:
        if len(wanted) == 1:
            return dict.fromkeys(wanted, error)
    users = list(wanted)
    middle = len(users) // 2
    halves = ({user: wanted[user] for user in half} for half in (users[:middle], users[middle:]))
    return {user: answer for half in halves for user, answer in _unseen(seen, half).items()}


def _answer(entry: Entry, answers: dict[str, Answer], as_json: bool) -> bool:
    """Answer a line, or report why it can't be answered; whether it was."""
    if entry.problem is not None:
        report_rejected(entry, as_json)
        return False
    found = answers[entry.user]
    if isinstance(found, FilterFormatError):
        report_failed(entry.user, entry.items, f"{entry.place}: {found}", as_json)
        return False
    # What was asked, not what was found: the next line may ask about the same user again.
    print_json({"user": entry.user, "items": [item for item in entry.items if item in found]})
    return True
