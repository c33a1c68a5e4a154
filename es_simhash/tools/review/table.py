"""Rows as a table for a terminal, as CSV for a spreadsheet, or as JSON lines for a program."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from es_simhash.console.output import echo, print_json, print_utf8, printable
from es_simhash.console.terminal import cut, padded, width_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Form = Literal["text", "csv", "json"]
    Row = dict[str, Any]

F = TypeVar("F", bound="Callable[..., Any]")

BATCH = 100
"""Rows whose columns are made equally wide in a terminal."""
_FORMULA = tuple("=+-@＝＋－＠")
"""A spreadsheet takes a cell that begins with one of these for a formula. Some also take the wide characters so.

A cell that begins with a tab or a line break is escaped before.
"""


def form_options(command: F) -> F:
    """Add the options that choose the form, as the argument ``form``; None for text."""
    as_json = click.option("--json", "form", flag_value="json", help="Print JSON lines on standard output.")
    return click.option("--csv", "form", flag_value="csv", help="Print CSV for a spreadsheet.")(as_json(command))


def print_rows(rows: Iterable[Sequence[Row]], names: Sequence[str], form: Form | None) -> int:
    """Print rows batch by batch, and return how many there were.

    In CSV, a cell that a spreadsheet would take for a formula gets an apostrophe in front.

    :param names: of the columns, also if there are no rows.
    """
    count = 0
    if form == "csv":
        print_utf8("\ufeff" + _csv_line(names))  # by this mark spreadsheets know that it is UTF-8
    for index, batch in enumerate(rows):
        count += len(batch)
        if form == "json":
            for row in batch:
                print_json(row)
        elif form == "csv":
            for row in batch:
                print_utf8(_csv_line([_cell(row[name]) for name in names]))
        else:
            _print_table(batch, names, header=not index)
    return count


def _csv_line(cells: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _print_table(batch: Sequence[Row], names: Sequence[str], *, header: bool) -> None:
    cells = [[_shown(row[name]) for name in names] for row in batch]
    widths = [max(width_of(text) for text in (name, *column)) for name, *column in zip(names, *cells, strict=True)]
    right = [all(not isinstance(row[name], str) for row in batch) for name in names]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in ([*names] if header else None, *cells):
        if line is not None:
            some = zip(line, widths, right, strict=True)
            text = "  ".join(" " * (w - width_of(t)) + t if r else padded(t, w) for t, w, r in some).rstrip()
            echo(text if columns is None else cut(text, columns))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:,}" if isinstance(value, int) else printable(value)
