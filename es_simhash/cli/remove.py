"""``es-simhash remove``: remove documents by their ids, by a query clause, or all duplicates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.options import json_object, open_documents, parsed_by, store_options
from es_simhash.cli.output import count_of, echo, nearness, progress_bar
from es_simhash.client.arguments import check_filter
from es_simhash.store.types import Scan

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash import Documents, Duplicate
    from es_simhash.cli.options import StoreOptions

SHOWN = 10
"""Duplicates that are shown before the question. --dry-run shows all of them."""


@click.command()
@click.argument("ids", metavar="[ID…]", nargs=-1)
@click.option(
    "--matching",
    metavar="JSON",
    callback=parsed_by(json_object),
    help="Remove all documents that match this query clause.",
)
@click.option("--duplicates", is_flag=True, help="Remove each document that is a duplicate of another one.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed. Remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--save", metavar="FILE", help="Write what is removed to a new file first. `ingest` takes it back.")
@store_options
def remove(
    ids: tuple[str, ...],
    matching: dict[str, Any] | None,
    duplicates: bool,
    dry_run: bool,
    yes: bool,
    save: str | None,
    **store: Unpack[StoreOptions],
) -> None:
    """Remove documents by id, by a query clause, or all duplicates.

    What was a duplicate of a removed document is decided again. --matching and --duplicates ask before they remove.
    --duplicates shows the first ones, and keeps one document of each group, its head. Ids that no document has are
    named on standard error. Then the exit code is 3, or 1 if no document has any of them.

    \b
    es-simhash remove news-1 news-2
    es-simhash remove --matching '{"range": {"date": {"lt": "2024-01-01"}}}'
    es-simhash remove --duplicates --dry-run
    es-simhash remove --duplicates --save removed.jsonl
    """
    if bool(ids) + (matching is not None) + duplicates != 1:
        raise click.UsageError("give either ids, or --matching, or --duplicates")
    if dry_run and (yes or save is not None or ids):
        raise click.UsageError("--dry-run removes nothing: use it with --matching or --duplicates alone")
    if not (ids or dry_run or yes or sys.stdin.isatty()):
        raise click.UsageError("nobody can answer the question before the removal: give --yes or --dry-run")
    missing: list[str] = []
    check_filter(matching, "matching")
    with open_documents(**store) as documents:
        if dry_run:
            _show(documents, matching)
            return
        if matching is not None:
            removed = _remove_matching(documents, matching, save, yes)
        elif duplicates:
            removed = _remove_duplicates(documents, save, yes)
        else:
            known = documents.remove(ids, save=save)
            removed = len(known)
            missing = [id for id in dict.fromkeys(ids) if id not in known]
    echo(f"removed {count_of(removed, 'document')}")
    if missing:
        echo(f"not found: {', '.join(missing)}", err=True)
    exit_unless_all_done(len(missing), removed + len(missing))


def _show(documents: Documents, matching: dict[str, Any] | None) -> None:
    """Show what would be removed: what matches a query clause, or all duplicates if there is none."""
    count = 0
    if matching is None:
        lines = (_line(duplicate) for duplicate in documents.duplicates())
    else:
        documents.store.refresh()
        pages = documents.store.scan(Scan(filter=matching, missing=None))
        lines = (stored.row.id for page in pages for stored in page)
    for line in lines:
        count += 1
        echo(line)
    echo(f"{count_of(count, 'document')} would be removed")


def _is_confirmed(count: int) -> bool:
    """Ask whether to remove so many documents, unless there are none."""
    return not count or click.confirm(f"Remove {count_of(count, 'document')}? (--dry-run shows all)")


def _remove_matching(documents: Documents, matching: dict[str, Any], save: str | None, yes: bool) -> int:
    """Remove what matches a query clause, unless the person says no. Return how many were removed."""
    if not yes:
        documents.store.refresh()
        if not _is_confirmed(documents.store.count(matching)):
            return 0
    return len(documents.remove(matching=matching, save=save))


def _remove_duplicates(documents: Documents, save: str | None, yes: bool) -> int:
    """Find all duplicates, and remove them unless the person says no. Return how many were removed."""
    found = list(progress_bar(documents.duplicates(), unit=" duplicates"))  # all, before the first is removed
    if not yes:
        for duplicate in found[:SHOWN]:
            echo(_line(duplicate))
        if not _is_confirmed(len(found)):
            return 0
    removed = documents.remove_duplicates(found, save=save)
    if removed < len(found):
        changed = count_of(len(found) - removed, "document")
        echo(f"kept {changed} that changed in the meantime: run the command again", err=True)
    return removed


def _line(duplicate: Duplicate) -> str:
    if duplicate.exact:
        return f"{duplicate.id}  exact duplicate of {duplicate.head}"
    return f"{duplicate.id}  near-duplicate of {duplicate.head}{nearness(duplicate.similarity, duplicate.distance)}"
