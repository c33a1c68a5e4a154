"""``es-simhash init``: create an index or an SQLite file, or add our fields to an existing index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.options import (
    chosen_rule,
    duration_option,
    id_field_option,
    open_documents,
    read_fingerprinter,
    rule_options,
    scheme_options,
    store_options,
    text_field_option,
)
from es_simhash.cli.output import echo
from es_simhash.errors import InputError
from es_simhash.similarity.rule import DEFAULT_MAX_DISTANCE, MOST_BITS

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.similarity.rule import Rule

_MESSAGES = {
    "created": "created; next run `es-simhash ingest --store {store}`",
    "added": "added the fields for fingerprints to the existing index; next run "
    "`es-simhash backfill{text_field} --store {store}`",
    "changed": "changed, its rule is {rule}; with documents next run `es-simhash backfill{again} --store {store}`, "
    "then `es-simhash group --store {store}`",
    "unchanged": "already set up; nothing to do",
}


@click.command()
@rule_options
@click.option(
    "--max-distance",
    metavar="K",
    type=click.IntRange(0, MOST_BITS),
    help=f"For --rule fingerprint: they differ in at most K bits.  [default: {DEFAULT_MAX_DISTANCE}]",
)
@click.option("--allow-contradictions", is_flag=True, help="Texts that contradict each other may be duplicates.")
@duration_option("--within", "Their times differ by at most this: 12h, 7d or 2w.")
@click.option("--time-field", metavar="FIELD", help="For --within: field with the time.")
@text_field_option
@id_field_option
@click.option("--template", metavar="NAME", help="Write the component template of an alias.")
@scheme_options
@store_options
def init(
    rule: Rule | None,
    min_similarity: float | None,
    max_distance: int | None,
    allow_contradictions: bool,
    within: timedelta | None,
    time_field: str | None,
    text_field: tuple[str, ...] | None,
    id_field: str | None,
    template: str | None,
    scheme: str | None,
    html: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Set up a store, with its rule.

    Creates the index or the SQLite file, or adds the object `simhash` to the mapping of an index. The store keeps the
    rule and the names of fields. To change them run init again: it says what to run next.

    \b
    es-simhash init --store http://localhost:9200/news
    es-simhash init --text-field title,body --id-field url
    es-simhash init --store https://elastic:secret@es:9200/news --ca-certs ca.crt
    """
    fingerprinter = read_fingerprinter(scheme, html)
    with open_documents(fingerprinter, **store) as documents:
        server: Any = documents.store if documents.store.lags else None
        if template is not None and server is None:
            raise InputError(f"{documents.name} has no component template: leave --template out")
        chosen = chosen_rule(
            documents.info().rule,
            rule,
            min_similarity=min_similarity,
            max_distance=max_distance,
            contradictions="allow" if allow_contradictions else None,
            within=within,
            time_field=time_field,
            text_field=text_field,
        )
        message = _MESSAGES[documents.setup(rule=chosen, id_field=id_field)].format(
            store=documents.name,
            rule=documents.info().rule,
            text_field=" --text-field FIELD" if text_field is None else "",
            again=" --again" if documents.info().stale else "",
        )
        echo(f"{documents.name}: {message}")
        if template is not None:
            server.component_template(template)
            echo(f"component template {template} written; name it in `composed_of` of the index template")
        elif server is not None and server.connection.write_index is not None:
            echo("the next index needs this component template; `--template NAME` writes it:")
            echo(json.dumps(server.component_template(), ensure_ascii=False))
