"""``es-simhash seen unseen``: print the items that a user has not seen, from arguments or from JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.seen.lines import by_user, check_entry, each_batch, report_failed, report_rejected
from es_simhash.console.exits import exit_unless_all_done
from es_simhash.console.help import Command
from es_simhash.console.input import Input, input_options, input_paths
from es_simhash.console.options import json_option, store_options
from es_simhash.console.output import echo, print_json
from es_simhash.console.scheme import open_seen
from es_simhash.errors import FilterFormatError
from es_simhash.lines import parsed
from es_simhash.seen.changes import USERS

if TYPE_CHECKING:
    from es_simhash.bloom import Item
    from es_simhash.cli.seen.lines import Batch, SeenLine
    from es_simhash.client import SeenItems

    Answer = set[Item] | FilterFormatError


@click.command(cls=Command)
@click.argument("arguments", metavar="[ITEM…|FILE…|-]", nargs=-1)
@click.option("--user", metavar="USER", help="Id of one user. The arguments are then items, not files.")
@click.option(
    "--batch-size",
    metavar="N",
    type=click.IntRange(1),
    default=USERS,
    show_default=True,
    help="Number of lines in one request.",
)
@json_option
@input_options
@store_options
def unseen(
    arguments: tuple[str, ...],
    user: str | None,
    batch_size: int,
    as_json: bool,
    reading: dict[str, Any],
    **store: Any,
) -> None:
    """Print the items that a user has not seen, in their order. An item that is printed is certainly not seen.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. For each line it prints a line {"user", "items"} with the unseen items,
    in the order of the lines.

    \b
    es-simhash seen unseen --user ann news-1 news-2 news-3
    echo '{"user": "ann", "items": ["news-1", "news-3"]}' | es-simhash seen unseen

    \f
    A line that cannot be answered is reported with its place on standard error, and the other lines are answered. With
    --json the report is a line {"outcome", "reason"} in place of the answer. With --batch-size 1 each line is answered
    before the next one is read. Use it for a slow pipe.
    """
    with open_seen(**store) as seen:
        if user is None:
            paths = input_paths(arguments, "give --user USER ITEM…, name a file, or pipe it in")
            _answer_lines(seen, Input(paths, **reading), batch_size, as_json)
            return
        found = seen.unseen(user, arguments)
        if as_json:
            print_json({"user": user, "items": found})
        else:
            for item in found:
                echo(str(item))


def _answer_lines(seen: SeenItems, source: Input, batch_size: int, as_json: bool) -> None:
    answered = total = 0
    with source.progress(quiet=True) as progress:  # the answers may go to the terminal
        for entries in each_batch(map(parsed, source.lines(progress, check_entry)), batch_size):
            items = by_user(entries)
            answers = _unseen(seen, items) if items else {}
            answered += sum(_answer(entry, answers, as_json) for entry in entries)
            total += len(entries)
    exit_unless_all_done(total - answered, total)


def _unseen(seen: SeenItems, items: Batch) -> dict[str, Answer]:
    """Return the unseen items of each user, or why that user's filters cannot be read.

    One user whose filters cannot be read makes the whole request raise. So the batch is halved until that user is
    alone: the other users get their answers. It happens rarely.
    """
    try:
        return {user: set(found) for user, found in seen.unseen_many(items).items()}
    except FilterFormatError as error:
        if len(items) == 1:
            return dict.fromkeys(items, error)
    users = list(items)
    middle = len(users) // 2
    halves = ({user: items[user] for user in half} for half in (users[:middle], users[middle:]))
    return {user: answer for half in halves for user, answer in _unseen(seen, half).items()}


def _answer(entry: SeenLine, answers: dict[str, Answer], as_json: bool) -> bool:
    """Print the answer to a line, or report why there is none. Return whether the line was answered."""
    if entry.problem is not None:
        report_rejected(entry, as_json)
        return False
    found = answers[entry.user]
    if isinstance(found, FilterFormatError):
        report_failed(entry.user, entry.items, f"{entry.place}: {found}", as_json)
        return False
    # Only the items of this line: `found` has those of all lines about this user.
    print_json({"user": entry.user, "items": [item for item in entry.items if item in found]})
    return True
