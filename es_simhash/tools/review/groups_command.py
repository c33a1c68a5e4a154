"""``es-simhash groups``: list the groups of near-duplicates, and show one of them."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.console.help import Command, Group
from es_simhash.console.options import filter_option, store_options, text_field_option
from es_simhash.console.output import echo
from es_simhash.console.progress import show_stages
from es_simhash.console.scheme import open_documents, scheme_options
from es_simhash.tools.review.groups import groups as find_groups
from es_simhash.tools.review.groups import members as find_members
from es_simhash.tools.review.table import BATCH, form_options, print_rows
from es_simhash.tools.review.titles import title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from es_simhash import Documents
    from es_simhash.tools.review.group_table import GroupMember, GroupSummary
    from es_simhash.tools.review.table import Form, Row

title_field_option = click.option(
    "--title-field",
    metavar="FIELD",
    help="Field that holds the title of a document. Without it the beginning of the text is shown.",
)
_text_field_option = text_field_option("Field that holds the text of a stored document.")


@click.group(cls=Group)
def groups() -> None:
    """List the groups of duplicates, or show one of them.

    The groups are those that ingest and group wrote. remove --duplicates removes the members that are duplicates of the
    head of their group, and report makes a page of them.

    \b
    es-simhash groups list --limit 20
    es-simhash groups show news-17
    """


@groups.command("list", cls=Command)
@click.option("--limit", metavar="N", type=click.IntRange(1), help="List only the N largest groups.")
@title_field_option
@_text_field_option
@filter_option("Count only documents that match this query clause.")
@form_options
@store_options
@scheme_options
def list_groups(
    limit: int | None,
    title_field: str | None,
    text_field: list[str] | None,
    filter: dict[str, Any] | None,
    form: Form | None,
    **store: Any,
) -> None:
    """List the groups of two or more documents, the largest first.

    Each line has the number of members, how many of them are exact duplicates of the head, how many bits the farthest
    member is away from the head, the id of the head, and its title. In CSV, a cell that a spreadsheet would take for a
    formula gets an apostrophe in front. A program should read --json.

    \b
    es-simhash groups list --limit 20 --title-field title
    es-simhash groups list --csv > groups.csv
    """
    with open_documents(**store) as documents, tqdm(unit=" documents", disable=None, leave=False) as bar:
        found = _closing(bar, islice(find_groups(documents, filter=filter, progress=show_stages(bar)), limit))
        rows = _with_titles(documents, found, "group", title_field, text_field)
        if not print_rows(rows, ("members", "exact", "farthest", "group", "title"), form) and form is None:
            echo("no groups", err=True)


def _closing(bar: tqdm[Any], summaries: Iterable[GroupSummary]) -> Iterator[GroupSummary]:
    """Yield the groups. All documents were read before the first one, so the bar ends there."""
    for summary in summaries:
        bar.close()
        yield summary


def _with_titles(
    documents: Documents,
    found: Iterable[GroupSummary | GroupMember],
    id_name: str,
    title_field: str | None,
    text_field: list[str] | None,
) -> Iterator[list[Row]]:
    """Yield the rows of a table in batches: what was found, each with the title of its document.

    :param id_name: the field with the id of the document.
    """
    text_fields = tuple(text_field or documents.rule().text_fields)
    fields = text_fields if title_field is None else (title_field, *text_fields)
    rest = iter(found)
    while batch := [asdict(each) for each in islice(rest, BATCH)]:
        sources = documents.sources([row[id_name] for row in batch], fields=fields)
        yield [row | {"title": title_of(sources.get(row[id_name], {}), title_field, text_fields)} for row in batch]


@groups.command(cls=Command)
@click.argument("id")
@title_field_option
@_text_field_option
@form_options
@store_options
@scheme_options
def show(id: str, title_field: str | None, text_field: list[str] | None, form: Form | None, **store: Any) -> None:
    """Show the group of a document.

    The head comes first, then the other members, the nearest to the head first. ID is the id of any member. Each line
    has the distance from the head in bits, whether the member is an exact duplicate of the head, its id, the id of its
    original, and its title.

    \b
    es-simhash groups show news-17 --title-field title
    es-simhash groups show news-17 --json
    """
    with open_documents(**store) as documents:
        rows = _with_titles(documents, find_members(documents, id), "id", title_field, text_field)
        print_rows(rows, ("distance", "exact", "id", "duplicate_of", "title"), form)
