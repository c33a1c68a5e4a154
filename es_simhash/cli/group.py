"""``es-simhash group``: recompute the groups of all documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import Command
from es_simhash.console.options import filter_option, json_option, quiet_option, rule_options, store_options
from es_simhash.console.output import count_of, echo, not_compared, print_json
from es_simhash.console.progress import show_stages
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.deciding.given_links import LinksReport
from es_simhash.deciding.group import GIANT
from es_simhash.groups.links import HEADS
from es_simhash.input import read_parts

if TYPE_CHECKING:
    from es_simhash.deciding.group import GroupReport
    from es_simhash.similarity.rule import RuleOptions


@click.command(cls=Command)
@rule_options()
@filter_option("Group only documents that match this query clause. All other documents are ignored.")
@click.option(
    "--head",
    type=click.Choice(HEADS),
    show_default="earliest",
    help="Which member becomes the head of a group and gives it its name: the earliest written, the latest written, or "
    "kept: the present head of most members.",
)
@click.option(
    "--from",
    "file",
    metavar="FILE",
    help="Write the groups of this file, Parquet or JSON lines, in place of computing them. The Spark job makes it. A "
    "document that was changed since it was exported stays as it is. With --filter, links to changed documents are "
    "repaired only with documents that match.",
)
@json_option
@quiet_option
@store_options
@scheme_options
def group(
    rule: RuleOptions,
    filter: dict[str, Any] | None,
    head: Any,
    file: str | None,
    as_json: bool,
    quiet: bool,
    **store: Any,
) -> None:
    """Recompute the groups of all documents. Write each document's group and its original.

    Two documents are in one group if they are near-duplicates, directly or through a chain of other documents. An
    ingest also assigns groups. But it can miss duplicates that another ingest stores at the same time. This command
    finds them.

    Only changes are written. You can run it again, interrupt it, and run it during an ingest.

    \b
    es-simhash group --store http://localhost:9200/news
    es-simhash group --json
    es-simhash group --from links.parquet
    """
    if file is not None and head is not None:
        raise click.UsageError("the heads of the groups are in the file: use --from without --head")
    bar = tqdm(unit=" documents", disable=True if quiet else None, leave=False)
    with open_documents(**store) as documents, bar:
        progress = show_stages(bar)
        report: GroupReport | LinksReport
        if file is not None:
            report = documents.write_links(read_parts(file), filter=filter, progress=progress, **rule)
        else:
            report = documents.group(filter=filter, head=head or "earliest", progress=progress, **rule)
    if quiet:
        return
    if as_json:
        print_json(asdict(report))
        return
    documents_read, conflicts = count_of(report.documents, "document"), count_of(report.conflicts, "document")
    if isinstance(report, LinksReport):
        echo(f"{documents_read}, updated the group or the original of {report.changed:,}")
        if report.conflicts:
            echo(f"skipped {conflicts} that another program changed since: group them again")
        return
    echo(f"{documents_read}, {count_of(report.groups, 'group')} with {count_of(report.members, 'member')}")
    echo(f"updated the group or the original of {count_of(report.changed, 'document')}")
    if report.conflicts:
        echo(f"skipped {conflicts} that another program changed in the meantime: run the command again")
    if report.left_out:
        echo(not_compared(report.left_out))
    for head, size in report.largest:
        if size >= GIANT:
            echo(f"very large group: {head} has {size:,} members. Is it a template, or a chain of small changes?")
