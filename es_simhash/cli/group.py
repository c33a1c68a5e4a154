"""``es-simhash group``: decide again what is a duplicate of what, for all documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.cli.options import filter_option, json_option, open_documents, quiet_option, store_options
from es_simhash.cli.output import count_of, echo, not_compared, print_json
from es_simhash.cli.progress import show_stages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions


@click.command()
@filter_option("Group only documents that match this query clause.")
@json_option
@quiet_option
@store_options
def group(filter: dict[str, Any] | None, as_json: bool, quiet: bool, **store: Unpack[StoreOptions]) -> None:
    """Recompute the groups of all documents. Write each document's group and its original.

    An ingest also assigns groups. But it can miss duplicates that another ingest stores at the same time. This command
    finds them, by the rule of the store. Only changes are written. You can run it again, interrupt it, and run it
    during an ingest.

    \b
    es-simhash group --store http://localhost:9200/news
    es-simhash group --json
    """
    with (
        open_documents(**store) as documents,
        tqdm(unit=" documents", disable=True if quiet else None, leave=False) as bar,
    ):
        report = documents.group(filter=filter, progress=show_stages(bar))
    if quiet:
        return
    if as_json:
        print_json(asdict(report))
        return
    read = count_of(report.documents, "document")
    echo(f"{read}, {count_of(report.groups, 'group')} with {count_of(report.members, 'member')}")
    echo(f"updated the group or the original of {count_of(report.changed, 'document')}")
    if report.conflicts:
        conflicts = count_of(report.conflicts, "document")
        echo(f"skipped {conflicts} that another program changed in the meantime: run the command again")
    if report.left_out:
        echo(not_compared(report.left_out))
