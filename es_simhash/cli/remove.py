"""``es-simhash remove``: remove documents by their ids, by a query clause, or all duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from es_simhash.cli.exits import exit_unless_all_done
from es_simhash.cli.options import FILE, json_object, open_documents, parsed_by, store_options
from es_simhash.cli.output import count_of, echo, nearness, progress_bar
from es_simhash.filters import check_filter
from es_simhash.rows import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from es_simhash import Documents
    from es_simhash.cli.options import StoreOptions


_NONE = "no document matches: check the names of the fields, which may be mistyped, and their values"


@click.command()
@click.argument("ids", metavar="[ID…]", nargs=-1)
@click.option("--matching", metavar="JSON", callback=parsed_by(json_object), help="All that match this query clause.")
@click.option("--duplicates", is_flag=True, help="Each document that is a duplicate of another one.")
@click.option("--yes", is_flag=True, help="Remove what matches, or the duplicates. Without it they are only shown.")
@click.option(
    "--save", metavar="FILE", type=FILE, help="Write what is removed to a new file first. `ingest` takes it back."
)
@store_options
def remove(
    ids: tuple[str, ...],
    matching: dict[str, Any] | None,
    duplicates: bool,
    yes: bool,
    save: str | None,
    **store: Unpack[StoreOptions],
) -> None:
    """Remove documents by id, by a query clause, or all duplicates.

    What was a duplicate of a removed document is decided again. --matching and --duplicates only show what they would
    remove, until you add --yes. --duplicates keeps one document of each group, its original. Ids that no document has
    are named on standard error. Then the exit code is 3, or 1 if no document has any of them.

    \b
    es-simhash remove news-1 news-2
    es-simhash remove --matching '{"range": {"date": {"lt": "2024-01-01"}}}'
    es-simhash remove --duplicates
    es-simhash remove --duplicates --yes --save removed.jsonl
    """
    if bool(ids) + (matching is not None) + duplicates != 1:
        raise click.UsageError("give either ids, or --matching, or --duplicates")
    check_filter(matching, "matching")
    left: list[str] = []
    missing: list[str] = []
    with open_documents(**store) as documents:
        if not (ids or yes):
            count = 0
            for line in _lines(documents, matching):
                count += 1
                echo(line)
            echo(f"{count_of(count, 'document')} would be removed: add --yes to remove them")
            if matching is not None and not count:
                echo(_NONE, err=True)
            return
        if duplicates:
            found = list(progress_bar(documents.duplicates(), unit=" duplicates"))  # all, before the first is removed
            removed = documents.remove_duplicates(found, save=save)
            if removed < len(found):
                changed = count_of(len(found) - removed, "document")
                echo(f"kept {changed} that changed in the meantime: run the command again", err=True)
        else:
            known = documents.remove(ids or None, matching=matching, save=save)
            removed, left = len(known), [id for id in dict.fromkeys(ids) if id not in known]
            stored = documents.store.read(left)
            missing = [id for id in left if id not in stored]
    echo(f"removed {count_of(removed, 'document')}")
    if matching is not None and not removed:
        echo(_NONE, err=True)
    if missing:
        echo(f"not found: {', '.join(missing)}", err=True)
    exit_unless_all_done(len(left), removed + len(left))


def _lines(documents: Documents, matching: dict[str, Any] | None) -> Iterator[str]:
    """Yield a line for each document that matches a query clause, or for each duplicate if there is none."""
    if matching is not None:
        documents.store.refresh()
        for page in documents.store.scan(Scan(filter=matching, missing=None)):
            yield from (stored.row.id for stored in page)
        return
    for each in documents.duplicates():
        near = "exact duplicate" if each.exact else "near-duplicate"
        yield f"{each.id}  {near} of {each.original}{'' if each.exact else nearness(each.similarity, each.distance)}"
