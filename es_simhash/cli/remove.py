"""``es-simhash remove``: remove documents by their ids, or by a query."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.options import filter_option, json_option, open_documents, print_json, store_options, weights_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from es_simhash.client import Documents

BATCH = 1_000


@click.command()
@click.argument("ids", metavar="[ID…]", nargs=-1)
@store_options
@weights_option
@filter_option("says which documents to remove, in place of ids")
@json_option
def remove(ids: tuple[str, ...], clause: dict[str, Any] | None, as_json: bool, **store: Any) -> None:
    """Remove documents, by their ids or by a query clause.

    \b
    es-simhash remove news-1 news-2
    es-simhash remove --filter '{"range": {"date": {"lt": "2024-01-01"}}}'
    """
    if bool(ids) == (clause is not None):
        raise click.UsageError("give either ids or --filter")
    with open_documents(**store) as documents:
        removed = sum(len(documents.remove(batch)) for batch in _batches(documents, ids, clause))
    if as_json:
        print_json({"removed": removed})
    else:
        click.echo(f"{removed:,} document{'' if removed == 1 else 's'} removed")


def _batches(documents: Documents, ids: tuple[str, ...], clause: dict[str, Any] | None) -> Iterator[list[str]]:
    found = iter(ids) if clause is None else (row.id for row in documents.export(filter=clause))
    while batch := list(islice(found, BATCH)):
        yield batch
