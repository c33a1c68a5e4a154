"""``es-simhash similar``: what is stored that is near a text or a document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from es_simhash.cli.options import (
    filter_option,
    json_option,
    near_options,
    print_json,
    read_text,
    store_options,
)
from es_simhash.cli.scheme import open_documents, scheme_options
from es_simhash.client.arguments import checked_distance


@click.command()
@click.argument("text", required=False)
@click.option("--id", "id", metavar="ID", help="A stored document, in place of a text.")
@click.option("--file", metavar="FILE", help="A file with the text; - for standard input.")
@store_options
@scheme_options
@near_options("Where a stored document's text is, for --confirm; several fields are joined.")
@filter_option('matches must satisfy: \'{"term": {"lang": "zh"}}\'')
@json_option
def similar(
    text: str | None,
    id: str | None,
    file: str | None,
    near: dict[str, Any],
    clause: dict[str, Any] | None,
    as_json: bool,
    **store: Any,
) -> None:
    """Find everything within K bits of a text or of a stored document, nearest first.

    \b
    es-simhash similar "市气象台今晨发布暴雨橙色预警…"
    es-simhash similar --id news-17 --confirm 0.8 --json
    es-simhash similar --file article.txt --store http://localhost:9200/news

    With --json each match is a line {"id", "distance", "exact"}, and "similarity" with --confirm.
    """
    if sum(given is not None for given in (text, id, file)) != 1:
        raise click.UsageError("give one of: a TEXT, --id ID, --file FILE")
    confirm = near["confirm"]
    with open_documents(**store) as documents:
        distance = checked_distance(near["max_distance"], documents.fingerprinter.scheme, confirm)
        if id is not None:
            matches = documents.similar_to(id, filter=clause, **near)
        else:
            wanted = read_text(file) if file is not None else text or ""
            matches = documents.similar(wanted, filter=clause, **near)
            if documents.fingerprinter.fingerprint(wanted).value is None:
                click.echo("the text has too little to say: only exact copies of it can be found", err=True)
    if as_json:
        for match in matches:
            print_json({name: value for name, value in asdict(match).items() if value is not None})
    elif matches:
        width = max(len("id"), *(len(match.id) for match in matches))
        click.echo(f"{'id':<{width}}  distance{'' if confirm is None else '  similarity'}  exact")
        for match in matches:
            similarity = "" if match.similarity is None else f"  {match.similarity:>10.3f}"
            click.echo(f"{match.id:<{width}}  {match.distance:>8}{similarity}  {'yes' if match.exact else ''}".rstrip())
    else:
        agree = "" if confirm is None else " whose text agrees"
        click.echo(f"nothing within {distance} bits{agree}" if distance >= 0 else "no copies", err=True)
