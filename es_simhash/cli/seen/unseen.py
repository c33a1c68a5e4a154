"""``es-simhash seen unseen``: print the items that a user has not seen, from arguments or from JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from es_simhash import FilterFormatError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.interrupt import Interruptible
from es_simhash.cli.options import open_seen
from es_simhash.cli.output import echo, print_json
from es_simhash.cli.seen.lines import by_user, each_batch, items_or_lines, report_failed, report_rejected, source_of
from es_simhash.seen.changes import USERS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash import SeenItems
    from es_simhash.bloom import Item
    from es_simhash.cli.input import Input
    from es_simhash.cli.options import StoreOptions
    from es_simhash.cli.seen.lines import Batch, SeenLine

    Answer = set[Item] | FilterFormatError


@click.command()
@items_or_lines
def unseen(
    arguments: tuple[str, ...],
    user: str | None,
    format: str | None,
    encoding: str,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Print the items that a user has not seen, in their order. An item that is printed is certainly not seen.

    With --user the arguments are items. Without --user it reads files or standard input: JSON lines {"user", "items"},
    or a table with the columns user and item. For each line it prints a line {"user", "items"} with the unseen items,
    in the order of the lines. A line that cannot be answered is reported with its place on standard error; with --json
    by a line {"outcome", "reason"} in place of the answer.

    \b
    es-simhash seen unseen --user ann news-1 news-2 news-3
    echo '{"user": "ann", "items": ["news-1", "news-3"]}' | es-simhash seen unseen
    """
    with open_seen(**store) as seen:
        if user is None:
            _answer_lines(seen, source_of(arguments, format, encoding), as_json)
            return
        items = seen.unseen(user, arguments)
        if as_json:
            print_json({"user": user, "items": items})
        else:
            for item in items:
                echo(str(item))


def _answer_lines(seen: SeenItems, source: Input, as_json: bool) -> None:
    answered = total = 0
    with Interruptible() as interruptible:
        for entries in each_batch(source, USERS, interruptible, quiet=True):  # the answers may go to the terminal
            items = by_user(entries)
            answers = _unseen(seen, items) if items else {}
            answered += sum(_answer(entry, answers, as_json) for entry in entries)
            total += len(entries)
    interruptible.exit_if_interrupted()
    exit_unless_all_done(total - answered, total)


def _unseen(seen: SeenItems, items: Batch) -> dict[str, Answer]:
    """Return the unseen items of each user, or why that user's filters cannot be read.

    One user whose filters cannot be read makes the whole request raise. So each user is asked for alone then, which
    happens rarely.
    """
    try:
        return {user: set(unseen) for user, unseen in seen.unseen_many(items).items()}
    except FilterFormatError:
        return {user: _unseen_of(seen, user, of_user) for user, of_user in items.items()}


def _unseen_of(seen: SeenItems, user: str, items: list[Item]) -> Answer:
    try:
        return set(seen.unseen(user, items))
    except FilterFormatError as error:
        return error


def _answer(entry: SeenLine, answers: dict[str, Answer], as_json: bool) -> bool:
    """Print the answer to a line, or report why there is none. Return whether the line was answered."""
    if entry.problem is not None:
        report_rejected(entry, as_json)
        return False
    answer = answers[entry.user]
    if isinstance(answer, FilterFormatError):
        report_failed(entry.user, entry.items, f"{entry.place}: {answer}", as_json)
        return False
    # Only the items of this line: the answer has those of all lines about this user.
    print_json({"user": entry.user, "items": [item for item in entry.items if item in answer]})
    return True
