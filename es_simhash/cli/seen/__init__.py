"""``es-simhash seen``: what users have seen."""

import click

from es_simhash.cli.seen.changes import add, forget, rebuild
from es_simhash.cli.seen.init import init
from es_simhash.cli.seen.unseen import unseen
from es_simhash.cli.seen.users import clear, remove, rotate, stats


@click.group()
def seen() -> None:
    """Never show it twice: what each user has seen, in Bloom filters on user documents.

    "Not seen" is certain, "seen" is wrong at a rate that you choose. The items 1 and "1" are the same.

    \b
    es-simhash seen add --user ann news-1 news-2
    es-simhash seen unseen --user ann news-1 news-3          prints news-3
    zcat log.jsonl.gz | es-simhash seen add --store http://localhost:9200/users
    """


for command in (init, add, unseen, forget, stats, rotate, rebuild, clear, remove):
    seen.add_command(command)
