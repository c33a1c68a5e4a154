"""``es-simhash group``: recompute the groups of all documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.cli.options import (
    filter_option,
    json_option,
    near_options,
    print_json,
    store_options,
)
from es_simhash.cli.scheme import open_documents, scheme_options
from es_simhash.groups.links import HEADS
from es_simhash.verbs.group import GIANT

if TYPE_CHECKING:
    from es_simhash.verbs.group import Progress


@click.command()
@store_options
@scheme_options
@near_options("Where a document's text is, for --confirm; several fields are joined.")
@filter_option("limits which documents are looked at; they are grouped as if there were no others")
@click.option(
    "--head",
    type=click.Choice(HEADS),
    default="earliest",
    show_default=True,
    help="After which member a group is named: the one written first, the one written last, or the one under which "
    "most members are already.",
)
@json_option
def group(
    near: dict[str, Any],
    clause: dict[str, Any] | None,
    head: Any,
    as_json: bool,
    **store: Any,
) -> None:
    """Recompute which documents belong together, and write each one's group and what it duplicates.

    Ingest gives a document the group of what it duplicates; this also finds what several ingests added at the same
    moment. Documents belong together if they are near each other, directly or by a chain. Only what changes is
    written, so it may be repeated, interrupted, and run beside an ingest.

    \b
    es-simhash group --store http://localhost:9200/news
    es-simhash group --confirm 0.8 --json
    """
    with open_documents(**store) as documents, tqdm(unit=" documents", disable=None, leave=False) as bar:
        report = documents.group(filter=clause, head=head, progress=by_stages(bar), **near)
    if as_json:
        print_json(asdict(report))
        return
    click.echo(f"{report.documents:,} documents, {report.groups:,} groups with {report.members:,} members")
    click.echo(f"{report.changed:,} documents changed their group or what they duplicate")
    if report.conflicts:
        click.echo(f"{report.conflicts:,} were written by others meanwhile and left as they are: run it again")
    for head, size in report.largest:
        if size >= GIANT:
            click.echo(f"a giant group: {head} with {size:,} members; a template, or a chain of small differences?")


def by_stages(bar: tqdm[Any]) -> Progress:
    """What moves a bar on; it begins anew with each stage, for they don't add up."""
    current = ""

    def progress(stage: str, count: int) -> None:
        nonlocal current
        if stage != current:
            current = stage
            bar.reset()
            bar.set_description(stage)
        bar.update(count)

    return progress
