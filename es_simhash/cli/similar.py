"""``es-simhash similar``: find the stored near-duplicates of a text or of a stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash import Scheme, fingerprint
from es_simhash.cli.input import read_text
from es_simhash.cli.options import (
    FILE,
    chosen_rule,
    filter_option,
    json_option,
    open_documents,
    rule_options,
    store_options,
)
from es_simhash.cli.output import count_of, echo, nearness, print_json
from es_simhash.similarity.rule import rule_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.rule import Rule


_RELATIONS = {"exact": "exact duplicate", "copy": "near-duplicate", "contradicts": "contradicts"}


@click.command()
@click.argument("text", required=False)
@click.option("--id", "id", metavar="ID", help="Search for duplicates of this stored document, instead of a text.")
@click.option("--file", metavar="FILE", type=FILE, help="Read the text from this file; - is standard input.")
@click.option("--time", "time", metavar="TIME", help="The time of the text, if the rule of the store has --within.")
@rule_options
@filter_option('Find only documents that match this query clause, such as \'{"term": {"lang": "zh"}}\'.')
@click.option("--contradictions", is_flag=True, help="Show texts that are similar and contradict, too.")
@json_option
@store_options
def similar(
    text: str | None,
    id: str | None,
    file: str | None,
    time: str | None,
    rule: Rule | None,
    min_similarity: float | None,
    filter: dict[str, Any] | None,
    contradictions: bool,
    as_json: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Find stored documents that are near a text or a document.

    Give a TEXT, --id or --file. It finds the stored documents that are duplicates by the rule, the most similar
    first: the id, the similarity of the texts (by --rule fingerprint the bits that differ), and whether it is an exact
    duplicate. With --json each match is a line {"id", "relation", "similarity"}, or {"id", "relation", "distance"}.

    \b
    es-simhash similar "市气象台今晨发布暴雨橙色预警…"
    es-simhash similar --id news-17 --json
    es-simhash similar --file article.txt --store http://localhost:9200/news
    """
    if sum(value is not None for value in (text, id, file)) != 1:
        raise click.UsageError("give exactly one of: TEXT, --id ID, --file FILE")
    if id is not None and time is not None:
        raise click.UsageError("a stored document has its own time: leave out --time, or give a text")
    with open_documents(**store) as documents:
        info = documents.info()
        chosen = chosen_rule(info.rule, rule, min_similarity=min_similarity)
        if id is not None:
            matches = documents.similar_to(id, filter=filter, rule=chosen, contradicting=contradictions)
        else:
            query = read_text(file) if file is not None else text or ""
            matches = documents.similar(query, time=time, filter=filter, rule=chosen, contradicting=contradictions)
            by_fingerprint = rule_of(chosen or info.rule).rule == "fingerprint"
            if by_fingerprint and fingerprint(query, info.scheme or Scheme()).value is None:
                echo("the text is too short for a fingerprint: only exact duplicates of it can be found", err=True)
    if as_json:
        for match in matches:
            print_json({name: value for name, value in match.to_dict().items() if value is not None})
    else:
        for match in matches:
            near = f"{_RELATIONS[match.relation]}{'' if match.exact else nearness(match.similarity, match.distance)}"
            found = [one.between(match.id, id or "the text") for one in match.differences]
            echo("; ".join([f"{match.id}  {near}", *found]))
        if not matches:
            echo("no duplicates", err=True)
    if not matches.complete:
        echo(f"{count_of(matches.left_out, 'document')} not compared: very many are as near", err=True)
