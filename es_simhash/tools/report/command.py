"""``es-simhash report``: the groups of a store as a page on which a person can check them, as JSON lines, or as CSV."""

from __future__ import annotations

import codecs
import csv
import sys
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from es_simhash import Fingerprinter, Scheme
from es_simhash.cli.options import filter_option, json_option, lang_option, open_documents, store_options
from es_simhash.cli.output import count_of, echo, print_json, printable, progress_bar
from es_simhash.tools.report.groups import Groups
from es_simhash.tools.report.page import page, write_page
from es_simhash.tools.report.review import Review, pairs_with_other_numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.tools.report.page import Language

_COLUMNS = ("group", "members", "id", "exact", "similarity", "title")
_FORMULA = tuple("=+-@＝＋－＠")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


@click.command()
@click.option("--out", metavar="FILE", default="report.html", show_default=True, help="File of the page.")
@click.option(
    "--groups",
    "most",
    metavar="N",
    type=click.IntRange(0),
    help="The N largest groups.  [default: 100; --json, --csv: all]",
)
@lang_option
@click.option("--title-field", metavar="FIELD", help="Field with the title.  [default: the beginning of the text]")
@filter_option("Only documents that match this query clause.")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for a spreadsheet: a row for each member.")
@store_options
def report(
    out: str,
    most: int | None,
    lang: Language,
    title_field: str | None,
    filter: dict[str, Any] | None,
    as_json: bool,
    as_csv: bool,
    **store: Unpack[StoreOptions],
) -> None:
    """Write an HTML page for checking the groups of duplicates.

    The largest group stands first. The page has some members of each group, with the differing words marked, and pairs
    of similar texts that contradict each other. It needs no network and runs no script. It holds texts of your
    documents: only you can read the file.

    --json prints a line for each group in place of the page, {"group", "members", "exact", "title", "copies"}; a copy
    is {"id", "exact", "similarity", "title"}. In CSV, a cell that a spreadsheet would take for a formula gets an
    apostrophe in front.

    \b
    es-simhash report --store http://localhost:9200/news --title-field title
    es-simhash report --groups 1000 --lang zh --out news.html
    es-simhash report --json | jq -r 'select(.members > 100) | .group'
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv are two forms: use one of them")
    with open_documents(**store) as documents:
        groups = Groups(progress_bar(documents.export(filter=filter)))
        with closing(groups):
            info = documents.info()
            review = Review(info.rule, Fingerprinter(info.scheme or Scheme()), groups, documents.fetch, title_field)
            if as_json:
                _print_json(review, most)
            elif as_csv:
                _print_csv(review, most)
            else:
                pairs = pairs_with_other_numbers(review, documents)
                write_page(page(review, pairs, documents.name, 100 if most is None else most, lang), out)
                totals = groups.totals()
                echo(
                    f"{count_of(totals.documents, 'document')}, {count_of(totals.groups, 'group')} with "
                    f"{count_of(totals.members, 'member')}: see {out}"
                )


def _print_json(review: Review, most: int | None) -> None:
    for group in review.groups.largest(most):
        head, *copies = map(asdict, review.members(group))
        about = {"group": group.head, "members": group.members, "exact": group.exact, "title": head["title"]}
        print_json({**about, "copies": copies})


def _print_csv(review: Review, most: int | None) -> None:
    # utf-8-sig writes a mark first, by which spreadsheets know that it is UTF-8.
    rows = csv.writer(codecs.getwriter("utf-8-sig")(sys.stdout.buffer), lineterminator="\n")
    rows.writerow(_COLUMNS)
    for group in review.groups.largest(most):
        for each in review.members(group):
            cells = (_cell(group.head), group.members, _cell(each.id), each.exact, each.similarity, _cell(each.title))
            rows.writerow(cells)
    sys.stdout.flush()


def _cell(value: str) -> str:
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
