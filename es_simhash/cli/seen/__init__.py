"""``es-simhash seen``: the items that users have seen."""

import click

from es_simhash.cli import Group
from es_simhash.cli.seen.items import add, forget, unseen
from es_simhash.cli.seen.users import init, remove, rotate, show


@click.group(cls=Group)
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


for command in (init, add, unseen, forget, rotate, show, remove):
    seen.add_command(command)
