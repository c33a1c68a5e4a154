"""``es-simhash report``: the groups of a store as a page on which a person can check them, as JSON lines, or as CSV."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from es_simhash import Fingerprinter, Scheme
from es_simhash.cli.input import check_different_files, sqlite_file
from es_simhash.cli.options import FILE, filter_option, lang_option, open_documents, store_options
from es_simhash.cli.output import count_of, echo, json_line, printable, progress_bar
from es_simhash.tools.report.groups import Groups
from es_simhash.tools.report.page import page, write_page
from es_simhash.tools.report.review import Review, pairs_with_other_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from es_simhash.cli.options import StoreOptions
    from es_simhash.tools.report.page import Language

_COLUMNS = ("group", "members", "id", "exact", "similarity", "title")
_FORMULA = tuple("=+-@＝＋－＠")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


@click.command()
@click.option(
    "--out", metavar="FILE", type=FILE, help="File to write.  [default: report.html; --json, --csv: standard output]"
)
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
@click.option("--json", "as_json", is_flag=True, help="JSON lines: one for each group.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV for a spreadsheet: a row for each member.")
@store_options
def report(
    out: str | None,
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
    of similar texts that contradict each other. Its buttons say which are copies, and save lines for `es-simhash pin`.
    It needs no network. It holds texts of your documents: only you can read the file, until chmod gives it to others.

    --json writes a line for each group in place of the page, {"group", "members", "exact", "title", "copies"}; a copy
    is {"id", "exact", "similarity", "title"}. In CSV, a cell that a spreadsheet would take for a formula gets an
    apostrophe in front.

    \b
    es-simhash report --store http://localhost:9200/news --title-field title
    es-simhash report --groups 1000 --lang zh --out news.html
    es-simhash report --csv --out groups.csv
    es-simhash report --json | jq -r 'select(.members > 100) | .group'
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv are two forms: use one of them")
    if not (as_json or as_csv):
        out = out or "report.html"
    check_different_files({"--store": sqlite_file(store["store"]), "--out": out})
    with open_documents(**store) as documents:
        groups = Groups(progress_bar(documents.export(filter=filter)))
        with closing(groups):
            info = documents.info()
            review = Review(info.rule, Fingerprinter(info.scheme or Scheme()), groups, documents.fetch, title_field)
            if as_json or as_csv:
                pieces = _json_lines(review, most) if as_json else _csv_lines(review, most)
            else:
                pairs = pairs_with_other_numbers(review, documents)
                largest = 100 if most is None else most
                pieces = page(review, pairs, documents.name, largest, lang, has_buttons=True)
            if out is None:
                for piece in pieces:
                    click.echo(piece.encode(), nl=False)
                return
            write_page(pieces, out)
            totals = groups.totals()
            echo(
                f"{count_of(totals.documents, 'document')}, {count_of(totals.groups, 'group')} with "
                f"{count_of(totals.members, 'member')}: see {out}"
            )


def _json_lines(review: Review, most: int | None) -> Iterator[str]:
    for group in review.groups.largest(most):
        original, *copies = review.members(group)
        about = {"group": group.name, "members": group.members, "exact": group.exact, "title": original["title"]}
        yield json_line({**about, "copies": copies}) + "\n"


def _csv_lines(review: Review, most: int | None) -> Iterator[str]:
    def line(*cells: Any) -> str:
        csv.writer(text := io.StringIO(), lineterminator="\n").writerow(cells)
        return text.getvalue()

    yield "\ufeff"  # by this mark spreadsheets know that it is UTF-8
    yield line(*_COLUMNS)
    for group in review.groups.largest(most):
        for each in review.members(group):
            yield line(_cell(group.name), group.members, *(_cell(value) for value in each.values()))


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
