"""``es-simhash similar``: find the stored near-duplicates of a text or of a stored document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.help import Command
from es_simhash.cli.input import read_text
from es_simhash.cli.options import filter_option, json_option, rule_options, store_options
from es_simhash.cli.output import count_of, echo, print_json, printable
from es_simhash.cli.scheme import open_documents, scheme_options

if TYPE_CHECKING:
    from es_simhash.similarity.rule import DuplicateRule


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--id", "id", metavar="ID", help="Search for duplicates of this stored document, instead of a text.")
@click.option("--file", metavar="FILE", help="Read the text from this file; - is standard input.")
@rule_options()
@filter_option('Find only documents that match this query clause, such as \'{"term": {"lang": "zh"}}\'.')
@json_option
@store_options
@scheme_options
def similar(
    text: str | None,
    id: str | None,
    file: str | None,
    rule: DuplicateRule,
    filter: dict[str, Any] | None,
    as_json: bool,
    **store: Any,
) -> None:
    """Find stored documents that are near a text or a document.

    Give a TEXT, --id or --file. It finds all stored documents within --max-distance bits. The nearest come first.

    The output is a table: id, distance in bits, and whether the document is an exact duplicate. With --json each match
    is a line {"id", "distance", "exact"}. With --confirm it also has "similarity".

    \b
    es-simhash similar "市气象台今晨发布暴雨橙色预警…"
    es-simhash similar --id news-17 --confirm 0.8 --json
    es-simhash similar --file article.txt --store http://localhost:9200/news
    """
    if sum(value is not None for value in (text, id, file)) != 1:
        raise click.UsageError("give exactly one of: TEXT, --id ID, --file FILE")
    with open_documents(**store) as documents:
        fingerprinter = documents.fingerprinter()
        if id is not None:
            matches = documents.similar_to(id, filter=filter, rule=rule)
        else:
            query = read_text(file) if file is not None else text or ""
            matches = documents.similar(query, filter=filter, rule=rule)
            if fingerprinter.fingerprint(query).value is None:
                echo("the text is too short for a fingerprint: only exact duplicates of it can be found", err=True)
    if as_json:
        for match in matches:
            print_json({name: value for name, value in asdict(match).items() if value is not None})
    elif matches:
        ids = [printable(match.id) for match in matches]
        width = max(len("id"), *map(len, ids))
        echo(f"{'id':<{width}}  distance{'' if rule.confirm is None else '  similarity'}  exact")
        for id, match in zip(ids, matches, strict=True):
            similarity = "" if match.similarity is None else f"  {match.similarity:>10.3f}"
            distance = "-" if match.distance is None else match.distance
            echo(f"{id:<{width}}  {distance:>8}{similarity}  {'yes' if match.exact else ''}".rstrip())
    else:
        similar_text = "" if rule.confirm is None else f" with a text similarity of {rule.confirm:g} or more"
        most = rule.bits_allowed(fingerprinter.scheme)
        within = f"no documents within {count_of(most, 'bit')}{similar_text}"
        echo(within if most >= 0 else "no exact duplicates", err=True)
    if not matches.complete:
        echo(f"{count_of(matches.left_out, 'document')} with common keys not compared: very many share them", err=True)
