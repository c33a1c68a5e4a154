"""``es-simhash remove``: remove documents by their ids, or by a query."""

from __future__ import annotations

from typing import Any

import click

from es_simhash.cli.options import (
    filter_option,
    json_option,
    near_options,
    parse_clause,
    print_json,
    store_options,
)
from es_simhash.cli.scheme import open_documents, scheme_options


@click.command()
@click.argument("ids", metavar="[ID…]", nargs=-1)
@store_options
@scheme_options
@near_options("Where a document's text is, for --confirm; several fields are joined.")
@filter_option("says which documents to remove, in place of ids")
@click.option(
    "--among",
    metavar="JSON",
    callback=parse_clause,
    help="A query clause that says which documents may become originals, as --filter did at the ingest.",
)
@json_option
def remove(
    ids: tuple[str, ...],
    near: dict[str, Any],
    clause: dict[str, Any] | None,
    among: dict[str, Any] | None,
    as_json: bool,
    **store: Any,
) -> None:
    """Remove documents, by their ids or by a query clause.

    What duplicated one of them is linked to another original, or stands for itself then. Give the --max-distance and
    --confirm that you ingested with, and the ingest's --filter as --among.

    \b
    es-simhash remove news-1 news-2
    es-simhash remove --filter '{"range": {"date": {"lt": "2024-01-01"}}}'
    """
    if bool(ids) == (clause is not None):
        raise click.UsageError("give either ids or --filter")
    with open_documents(**store) as documents:
        if clause is not None:
            removed = documents.remove_matching(clause, among=among, **near)
        else:
            removed = len(documents.remove(ids, among=among, **near))
    if as_json:
        print_json({"removed": removed})
    else:
        click.echo(f"{removed:,} document{'' if removed == 1 else 's'} removed")
