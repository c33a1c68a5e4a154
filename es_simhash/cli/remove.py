"""``es-simhash remove``: remove documents by their ids, by a query clause, or all duplicates."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from es_simhash import InputError
from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.options import json_object, open_documents, parsed_by, store_options
from es_simhash.cli.output import count_of, echo, nearness
from es_simhash.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

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
@click.option("--yes", is_flag=True, help="Do not ask; with --matching: even if all documents match.")
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

    What was a duplicate of a removed document is decided again. --duplicates keeps one document of each group, its
    head; it shows the first ones, and asks. Ids that no document has are named on standard error. Then the exit code is
    3, or 1 if no document has any of them.

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
    if duplicates and not (dry_run or yes) and not sys.stdin.isatty():
        raise click.UsageError("nobody can answer the question before the removal: give --yes or --dry-run")
    missing: list[str] = []
    with open_documents(**store) as documents:
        if dry_run:
            _show(documents, matching)
            return
        if duplicates:
            removed = _remove_duplicates(documents, save, yes)
        elif matching is not None:
            removed = len(documents.remove(matching=matching, everything=yes, save=save))
            if not removed:
                _check_fields(documents, matching)
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
        lines = (row.id for row in documents.export(filter=matching))
    for line in lines:
        count += 1
        echo(line)
    if matching is not None and not count:
        _check_fields(documents, matching)
    echo(f"{count_of(count, 'document')} would be removed")


def _check_fields(documents: Documents, clause: dict[str, Any]) -> None:
    """Check that the fields of a query clause that no document matches exist.

    :raises InputError: if no document has one of them, although the store has documents.
    """
    for field in _fields_of(clause) if documents.store.count(None) else ():
        if not documents.store.count({"exists": {"field": field}}):
            raise InputError(f"no document has the field {field}, so none matches: correct the query clause")


def _fields_of(clause: Any) -> Iterator[str]:
    """Yield the fields in which a query clause demands something."""
    for kind, body in clause.items() if isinstance(clause, dict) else ():
        if kind in ("term", "terms", "range", "prefix") and isinstance(body, dict):
            yield from (name for name in body if name != "boost")
        elif kind == "bool" and isinstance(body, dict):
            for inner in (body.get("must"), body.get("filter")):
                for each in inner if isinstance(inner, list) else [inner]:
                    yield from _fields_of(each)


def _remove_duplicates(documents: Documents, save: str | None, yes: bool) -> int:
    """Find all duplicates, and remove them unless the person says no. Return how many were removed."""
    found = []
    with Progress(None, "duplicates found") as progress:  # all of them, before the first is removed
        for duplicate in documents.duplicates():
            found.append(duplicate)
            progress.done()
    if found and not yes:
        for duplicate in found[:SHOWN]:
            echo(_line(duplicate))
        if not click.confirm(f"Remove {count_of(len(found), 'document')}? (--dry-run shows all)"):
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
