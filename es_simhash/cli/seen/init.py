"""``es-simhash seen init``: set a store up for seen items, with its configuration."""

from __future__ import annotations

from typing import Any

import click

from es_simhash.bloom.seen import SeenConfig
from es_simhash.cli.options import client_options, store_options
from es_simhash.client import SeenItems

_DEFAULT = SeenConfig()
_SAYS = {
    "created": "created, ready for `es-simhash seen add`",
    "added": "the field for seen items was added to what was there",
    "unchanged": "was set up already; nothing to do",
}


@click.command()
@store_options
@click.option("--capacity", type=int, metavar="N", help=f"Items of a first filter.  [default: {_DEFAULT.capacity}]")
@click.option("--error-rate", type=float, metavar="P", help=f"Unseen taken for seen.  [default: {_DEFAULT.error_rate}]")
@click.option(
    "--generations", type=int, metavar="N", help=f"Filters kept for a user.  [default: {_DEFAULT.generations}]"
)
@click.option(
    "--period", type=int, metavar="SECONDS", help="Begin a generation this often by itself.  [default: never]"
)
def init(
    capacity: int | None, error_rate: float | None, generations: int | None, period: int | None, **store: Any
) -> None:
    """Set a store up for seen items.

    Makes the index (or the SQLite file), or adds the object `seen` to the mapping of an index that exists; other fields
    stay as they are. What is chosen here is kept in the store. May be repeated.

    \b
    es-simhash seen init --store http://localhost:9200/users --error-rate 0.001
    es-simhash seen init --generations 4 --period 604800      remember for three to four weeks
    """
    url, options = client_options(**store)
    chosen = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": period}
    with SeenItems(url, **chosen, **options) as items:  # type: ignore[arg-type]
        result = items.setup()
        click.echo(f"{items.name}: {_SAYS[result]}")
