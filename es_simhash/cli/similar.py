"""``es-simhash similar``: find the stored near-duplicates of a text or of a stored document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.help import Command
from es_simhash.console.input import read_text
from es_simhash.console.options import filter_option, json_option, rule_options, store_options
from es_simhash.console.output import count_of, echo, print_json, printable
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.console.terminal import padded, width_of
from es_simhash.fingerprinting.normalisation import word_characters

if TYPE_CHECKING:
    from es_simhash.deciding.similar import Matches
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme
    from es_simhash.similarity.rule import DuplicateRule, RuleOptions


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--id", "id", metavar="ID", help="Search for duplicates of this stored document, instead of a text.")
@click.option("--file", metavar="FILE", help="Read the text from this file; - is standard input.")
@click.option("--time", "time", metavar="TIME", help="For --within: the time of the text.")
@rule_options()
@filter_option('Find only documents that match this query clause, such as \'{"term": {"lang": "zh"}}\'.')
@json_option
@store_options
@scheme_options
def similar(
    text: str | None,
    id: str | None,
    file: str | None,
    time: str | None,
    rule: RuleOptions,
    filter: dict[str, Any] | None,
    as_json: bool,
    **store: Any,
) -> None:
    """Find stored documents that are near a text or a document.

    Give a TEXT, --id or --file. It finds the stored documents that are duplicates by --rule. The nearest come first.

    The output is a table: id, distance in bits, the similarity if texts decide, and whether the document is an exact
    duplicate. With --json each match is a line {"id", "distance", "exact", "similarity"}.

    \b
    es-simhash similar "市气象台今晨发布暴雨橙色预警…"
    es-simhash similar --id news-17 --json
    es-simhash similar --file article.txt --store http://localhost:9200/news
    es-simhash similar --file a.txt --time 2024-05-01 --within 7d --time-field day
    """
    if sum(value is not None for value in (text, id, file)) != 1:
        raise click.UsageError("give exactly one of: TEXT, --id ID, --file FILE")
    if id is not None and time is not None:
        raise click.UsageError("a stored document has its own time: leave out --time, or give a text")
    with open_documents(**store) as documents:
        fingerprinter = documents.fingerprinter()
        chosen = documents.rule(**rule)
        note = None
        if id is not None:
            matches = documents.similar_to(id, filter=filter, rule=chosen)
        else:
            query = read_text(file) if file is not None else text or ""
            matches = documents.similar(query, time=time, filter=filter, rule=chosen)
            note = _note(query, fingerprinter, matches.by_keys)
    if note is not None:
        echo(note, err=True)
    if as_json:
        for match in matches:
            print_json({name: value for name, value in asdict(match).items() if value is not None})
    elif matches:
        ids = [printable(match.id) for match in matches]
        width = max(map(width_of, ["id", *ids]))
        echo(f"{padded('id', width)}  distance{'' if chosen.confirm is None else '  similarity'}  exact")
        for id, match in zip(ids, matches, strict=True):
            similarity = "" if match.similarity is None else f"  {match.similarity:>10.3f}"
            distance = "-" if match.distance is None else match.distance
            echo(f"{padded(id, width)}  {distance:>8}{similarity}  {'yes' if match.exact else ''}".rstrip())
    elif note is None:
        echo(_nothing_found(chosen, fingerprinter.scheme, matches.by_keys), err=True)
    if not matches.complete:
        echo(_left_out(matches), err=True)


def _left_out(matches: Matches) -> str:
    """Return which documents are missing in a list of matches that is not complete."""
    documents = count_of(matches.left_out, "document")
    if matches.by_keys:
        return f"{documents} with common keys not compared: very many share them"
    return f"{documents} with the fingerprint of a match left out: very many have it"


def _note(text: str, fingerprinter: Fingerprinter, by_keys: bool) -> str | None:
    """Return why only exact duplicates of a text can be found, or nothing at all; None if more can be found."""
    normalised = fingerprinter.scheme.normalise(text)
    if not normalised:
        return "the text is empty without its white space and markup: no document is a duplicate of it"
    if by_keys:
        if word_characters(normalised):
            return None
        return "the text has no letter, digit or Han character: only exact duplicates of it can be found"
    if fingerprinter.fingerprint_normalised(normalised).value is not None:
        return None
    return "the text is too short for a fingerprint: only exact duplicates of it can be found"


def _nothing_found(rule: DuplicateRule, scheme: Scheme, by_keys: bool) -> str:
    most = rule.bits_allowed(scheme)
    if most < 0:
        return "no exact duplicates"
    within = "" if by_keys and rule.max_distance is None else f" within {count_of(most, 'bit')}"
    return f"no documents{within}" + (
        "" if rule.confirm is None else f" with a text similarity of {rule.confirm:g} or more"
    )
