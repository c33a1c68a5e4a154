"""``es-simhash export``: print all fingerprints as JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import Command
from es_simhash.console.options import filter_option, store_options, text_field_option
from es_simhash.console.output import count_of, echo, print_json
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.errors import InputError, saying_what_is_done

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.client import Documents
    from es_simhash.contract import Row
    from es_simhash.fingerprinting.scheme import Scheme

FIELDS = ("text", "written", "version", "scheme")


def _parse(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return the names of fields that are separated by commas."""
    names = tuple(name.strip() for name in value.split(",")) if value is not None else ()
    for name in names:
        if name not in FIELDS:
            raise click.BadParameter(f"there is no field {name!r}: use {', '.join(FIELDS)}")
    return names


@click.command(cls=Command)
@filter_option("Export only documents that match this query clause.")
@click.option(
    "--fields",
    metavar="NAMES",
    callback=_parse,
    help=f"Add fields, separated by commas: {', '.join(FIELDS)}. The Spark job reads them. written is the write order, "
    "version is that of the stored document.",
)
@text_field_option("For --fields text: field that holds the text.")
@store_options
@scheme_options
def export(filter: dict[str, Any] | None, fields: tuple[str, ...], text_field: list[str] | None, **store: Any) -> None:
    """Print the fingerprints of all stored documents as JSON lines. The order is not defined.

    Each line is {"id", "fingerprint", "digest", "group", "duplicate_of"}. The fingerprint is in hex. It is null if the
    text was too short for a fingerprint. With --fields text, the text of a document that has none is null. Their number
    is printed on standard error.

    \b
    es-simhash export --store http://localhost:9200/news > fingerprints.jsonl
    es-simhash export --filter '{"term": {"lang": "zh"}}'
    es-simhash export --fields text,written,version,scheme > documents.jsonl
    """
    with_text = "text" in fields
    if text_field is not None and not with_text:
        raise click.UsageError("--text-field names the text that --fields text exports: add text to --fields")
    count = without = 0
    with open_documents(**store) as documents:
        scheme = documents.fingerprinter().scheme
        names = ", ".join(map(repr, text_field or documents.rule().text_fields))
        exported = _rows(documents, filter, text_field, with_text=with_text)
        with saying_what_is_done(  # an error of the store says it itself
            lambda: f"{count_of(count, 'document')} exported, others are missing: export again", errors=()
        ):
            for row, text in tqdm(exported, unit=" documents", disable=None, leave=False):
                without += with_text and text is None
                print_json(_values(row, text, scheme, fields))
                count += 1
    if without:
        verb = "has" if without == 1 else "have"
        line = (
            f"{without:,} of {count_of(count, 'document')} {verb} no text in field {names}: name it with --text-field"
        )
        if without == count:
            raise InputError(line)
        echo(line, err=True)


def _values(row: Row, text: str | None, scheme: Scheme, fields: tuple[str, ...]) -> dict[str, Any]:
    more = {
        "text": text,
        "written": row.written,
        "version": json.dumps(row.version, ensure_ascii=False),
        "scheme": scheme.version,
    }
    return {
        "id": row.id,
        "fingerprint": None if row.fingerprint is None else f"{row.fingerprint:0{scheme.bits // 4}x}",
        "digest": row.digest,
        "group": row.group,
        "duplicate_of": row.duplicate_of,
        **{name: more[name] for name in fields},
    }


def _rows(
    documents: Documents, filter: dict[str, Any] | None, text_field: list[str] | None, *, with_text: bool
) -> Iterable[tuple[Row, str | None]]:
    if with_text:
        return documents.export_texts(text_field=text_field, filter=filter)
    return ((row, None) for row in documents.export(filter=filter))
