"""``es-simhash export``: print all fingerprints as JSON lines."""

from __future__ import annotations

from typing import Any

import click
from tqdm import tqdm

from es_simhash.cli.help import Command
from es_simhash.cli.options import filter_option, store_options
from es_simhash.cli.output import print_json
from es_simhash.cli.scheme import open_documents, scheme_options


@click.command(cls=Command)
@filter_option("Export only documents that match this query clause.")
@store_options
@scheme_options
def export(filter: dict[str, Any] | None, **store: Any) -> None:
    """Print the fingerprints of all stored documents as JSON lines. The order is not defined.

    Each line is {"id", "fingerprint", "digest", "group", "duplicate_of"}. The fingerprint is in hex. It is null if the
    text was too short for a fingerprint.

    \b
    es-simhash export --store http://localhost:9200/news > fingerprints.jsonl
    es-simhash export --filter '{"term": {"lang": "zh"}}'
    """
    with open_documents(**store) as documents:
        digits = documents.fingerprinter().scheme.bits // 4
        for row in tqdm(documents.export(filter=filter), unit=" documents", disable=None, leave=False):
            print_json(
                {
                    "id": row.id,
                    "fingerprint": None if row.fingerprint is None else f"{row.fingerprint:0{digits}x}",
                    "digest": row.digest,
                    "group": row.group,
                    "duplicate_of": row.duplicate_of,
                }
            )
