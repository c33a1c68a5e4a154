"""``es-simhash export``: fingerprints as JSON lines."""

from __future__ import annotations

from typing import Any

import click
from tqdm import tqdm

from es_simhash.cli.options import filter_option, print_json, store_options
from es_simhash.cli.scheme import open_documents, scheme_options


@click.command()
@store_options
@scheme_options
@filter_option("limits which documents are exported")
def export(clause: dict[str, Any] | None, **store: Any) -> None:
    """Print the fingerprints of all documents as JSON lines, in no particular order.

    \b
    es-simhash export --store http://localhost:9200/news > fingerprints.jsonl

    Each line is {"id", "fingerprint", "digest", "group", "duplicate_of"}; the fingerprint is in hex, or null where the
    text has too little to say.
    """
    with open_documents(**store) as documents:
        for row in tqdm(documents.export(filter=clause), unit=" documents", disable=None, leave=False):
            print_json(
                {
                    "id": row.id,
                    "fingerprint": None if row.fingerprint is None else f"{row.fingerprint:0{row.bits // 4}x}",
                    "digest": row.digest,
                    "group": row.group,
                    "duplicate_of": row.duplicate_of,
                }
            )
