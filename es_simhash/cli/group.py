"""``es-simhash group``: decide again what is a duplicate of what, for all documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.options import duration_option, filter_option, json_option, open_documents, store_options
from es_simhash.cli.output import count_of, echo, not_compared, print_json, progress_bar

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions


@click.command()
@filter_option("Group only documents that match this query clause.")
@duration_option("--since", "Decide only what was written in this time, such as 2h or 1d, and what is linked to it.")
@json_option
@store_options
def group(filter: dict[str, Any] | None, since: timedelta | None, as_json: bool, **store: Unpack[StoreOptions]) -> None:
    """Decide again which documents are duplicates of which.

    All documents are decided in their order, and the links that differ are written. An ingest links each new document
    to its original. But it can miss duplicates that another program stores at the same time. This command finds them,
    by the rule of the store. You can run it again, interrupt it, and run it during an ingest.

    \b
    es-simhash group --store http://localhost:9200/news
    es-simhash group --since 2h
    """
    with open_documents(**store) as documents, progress_bar() as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        report = documents.group(filter=filter, since=since, progress=show)
    if as_json:
        print_json(asdict(report))
        return
    read = count_of(report.documents, "document")
    echo(f"{read}, {count_of(report.groups, 'group')} with {count_of(report.members, 'member')}")
    echo(f"updated the link of {count_of(report.changed, 'document')}")
    if report.conflicts:
        conflicts = count_of(report.conflicts, "document")
        echo(f"skipped {conflicts} that another program changed in the meantime: run the command again")
    if report.left_out:
        echo(not_compared(report.left_out))
