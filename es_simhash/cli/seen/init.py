"""``es-simhash seen init``: set up a store for seen items and keep the configuration in it."""

from __future__ import annotations

from typing import Any

import click

from es_simhash.bloom.seen import SeenConfig
from es_simhash.console.help import Command
from es_simhash.console.options import store_options
from es_simhash.console.output import echo
from es_simhash.console.scheme import open_seen

_DEFAULT = SeenConfig()
_MESSAGES = {
    "created": "created; next run `es-simhash seen add`",
    "added": "added the field for seen items to the existing index",
    "unchanged": "already set up; nothing to do",
}


@click.command(cls=Command)
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
    type=int,
    metavar="SECONDS",
    help="Begin a new generation automatically after this time.  [default: never]",
)
@store_options
def init(
    capacity: int | None, error_rate: float | None, generations: int | None, period: int | None, **store: Any
) -> None:
    """Set up a store for seen items.

    Creates the index or the SQLite file. If the index exists, adds the object `seen` to its mapping and changes no
    other field. The store keeps the options, and the other seen commands use them. You can run it again with the same
    options.

    The second example remembers an item for three to four weeks:

    \b
    es-simhash seen init --store http://localhost:9200/users --error-rate 0.001
    es-simhash seen init --generations 4 --period 604800
    """
    chosen: dict[str, Any] = {
        "capacity": capacity,
        "error_rate": error_rate,
        "generations": generations,
        "period": period,
    }
    with open_seen(**store, **chosen) as items:
        result = items.setup()
        echo(f"{items.name}: {_MESSAGES[result]}")
