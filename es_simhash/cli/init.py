"""``es-simhash init``: create an index or an SQLite file, or add our fields to an existing index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.console.help import Command, option
from es_simhash.console.options import id_field_option, rule_options, store_options
from es_simhash.console.output import echo
from es_simhash.console.scheme import open_documents, scheme_options

if TYPE_CHECKING:
    from es_simhash.similarity.rule import RuleOptions

_MESSAGES = {
    "created": "created; next run `es-simhash ingest --store {0}`",
    "added": "added the fields for fingerprints to the existing index; next run "
    "`es-simhash backfill --text-field FIELD --store {0}`",
    "changed": "changed the rule or the names of fields; if it has documents, next run `es-simhash group --store {0}`",
    "unchanged": "already set up; nothing to do",
}

_KEYS_ADDED = "added the keys; if it has documents, next run {}"
_KEYS_INCOMPLETE = "already set up, but documents lack their keys; next run {}"
_BACKFILL = "`es-simhash backfill --again --text-field FIELD --store {0}`"


@click.command(cls=Command)
@rule_options()
@id_field_option
@store_options
@scheme_options
@option(
    "--keys/--no-keys",
    section="Keys",
    default=None,
    help="Store keyword keys with each document, some 500 bytes. With them --rule copy and contained find their "
    "duplicates, short texts too, whatever the distance of the fingerprints.  [default: keys for a new store, unless "
    "its rule compares no texts; a store that exists stays as it is]",
)
@option(
    "--template",
    section="Rollover",
    is_flag=True,
    help="For an index that rolls over: make the name an alias, its first index, and an index template for those that "
    "follow. Not for SQLite.",
)
def init(rule: RuleOptions, id_field: str | None, keys: bool | None, template: bool, **store: Any) -> None:
    """Set up a store for fingerprints.

    Creates the index or the SQLite file. If the index exists, adds the object `simhash` to its mapping and changes no
    other field. You can run it again. For SQLite it is optional: the first ingest creates the file.

    The store keeps the rule and the names of fields that you give; the first ingest sets the others. All other commands
    use them. To change them later, run init with others, then group.

    \b
    es-simhash init --store http://localhost:9200/news
    es-simhash init --text-field title,body --id-field url
    es-simhash init --store http://localhost:9200/news --rule fingerprint
    es-simhash init --store http://localhost:9200/news --template
    es-simhash init --store https://elastic:secret@es:9200/news --ca-certs ca.crt
    """
    with open_documents(**store) as documents:
        result = documents.setup(keys=keys, template=template, id_field=id_field, **rule)
        message = _MESSAGES[result]
        if keys and result == "added":
            message = _KEYS_ADDED.format(_BACKFILL)
        elif result == "unchanged" and not documents.keys_complete():
            message = _KEYS_INCOMPLETE.format(_BACKFILL)
        echo(f"{documents.name}: {message.format(documents.name)}")
