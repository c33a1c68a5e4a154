"""The rows of CSV and TSV files as documents: the first row names the fields, every value is a string.

What people call CSV comes from many programs. No row is dropped, and none becomes a part of another one, unless a
rejected line says so: a quote that is not closed would otherwise take in the rows behind it.

TSV has one row on each line. A cell has quotes only if it begins and ends with one, and ``\\N`` is a missing value, as
in the dumps of Hive, MySQL and PostgreSQL.
"""

from __future__ import annotations

import csv
import re
from itertools import chain
from typing import TYPE_CHECKING

from es_simhash.errors import InputError, count_of
from es_simhash.input.values import check_columns
from es_simhash.lines import MAX_LINE, Line, not_decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.lines import LineStream

MAX_LINES = 500
"""Lines of a row. A row with more is taken for one whose quote is not closed."""


def table_rows(stream: LineStream, name: str, format: str = "csv") -> Iterator[Line]:
    """Yield the rows behind the header. A row that does not fit the header is a line with a problem.

    :param stream: in UTF-8.
    :param format: ``csv`` or ``tsv``.
    :raises InputError: if the header cannot be used, or if a row is longer than a line may be. The rows before are
        yielded first.
    """
    text = _TextLines(stream, name)
    rows = text.csv_rows() if format == "csv" else text.tsv_rows()
    columns: list[str] | None = None
    while True:
        row: Sequence[str | None] = ()
        try:
            row, problem = next(rows), text.problem
        except StopIteration:
            return
        except csv.Error as error:
            problem = text.problem or f"not CSV: {_explained(error)}"
        if problem is None and not any(cell and cell.strip() for cell in row):
            pass  # an empty row
        elif columns is None:
            columns = _checked_columns(row, text.place, problem)
        elif problem := problem or _misfit(row, columns) or text.swallowed(row):
            yield Line(text.place, problem=problem, size=text.size, raw=b"".join(text.lines))
        else:
            document = {column: cell for column, cell in zip(columns, row, strict=True) if column}
            yield Line(text.place, document, size=text.size)
        text.begin_row()


def _explained(error: csv.Error) -> str:
    if "new-line character" in str(error):
        return "a carriage return (\\r) without a line feed (\\n): put the cell in quotes, or change the line breaks"
    return f"{error}: check its quotes"


def _checked_columns(row: Sequence[str | None], place: str, problem: str | None) -> list[str]:
    if problem is not None:
        raise InputError(f"{place}: {problem}")
    columns = [cell or "" for cell in row]
    check_columns(filter(None, columns), place)
    return columns


def _misfit(row: Sequence[str | None], columns: Sequence[str]) -> str | None:
    """Return the problem of a row that does not fit the header."""
    if len(row) != len(columns):
        return (
            f"the row has {count_of(len(row), 'cell')}, the header has {len(columns)}: check its quotes and separators"
        )
    for number, (column, cell) in enumerate(zip(columns, row, strict=True), start=1):
        if cell and not column:
            return f"cell {number} is {cell[:20]!r}, and its column has no name: name it in the header"
    return None


class _TextLines:
    """The lines of a table as text, row by row."""

    def __init__(self, stream: LineStream, name: str) -> None:
        self._stream, self._name = stream, name
        self._number = 0
        self._delimiter = ","
        self.begin_row()

    def begin_row(self) -> None:
        """Forget the lines of the row before."""
        self.lines: list[bytes] = []
        """The lines of the row that was read last."""
        self.size = 0
        """Bytes of these lines."""
        self.problem: str | None = None
        """What is wrong, if one of these lines is not in the encoding of the file."""

    @property
    def place(self) -> str:
        """Where the row begins."""
        return f"{self._name}:{self._number - len(self.lines) + 1}"

    def csv_rows(self) -> Iterator[list[str]]:
        """Return the rows of CSV. A line ``sep=;`` before the header names the delimiter, as for Excel."""
        # The limit is of the whole process. Without it a cell ends at 131,072 characters; a row is limited anyway.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
        first = self._first_line()
        if named := re.fullmatch("sep=(.)[\r\n]*", first):
            self._delimiter = named[1]
            self.begin_row()
            first = self._first_line()
        spaces = f"{self._delimiter} " in first  # `id, text`: then its rows have a space there too
        return csv.reader(chain([first], self), delimiter=self._delimiter, strict=True, skipinitialspace=spaces)

    def _first_line(self) -> str:
        for line in self:
            if line.strip():
                return line
            self.begin_row()
        return ""

    def tsv_rows(self) -> Iterator[list[str | None]]:
        """Return the rows of TSV, one on each line."""
        self._delimiter = "\t"
        return ([_tsv_cell(cell) for cell in line.rstrip("\r\n").split("\t")] for line in self)

    def swallowed(self, row: Sequence[str | None]) -> str | None:
        """Return the problem of a row that has taken in other rows, as far as they can be told; None if it has not.

        Its lines then look like rows: they have as many cells (the first one may have commas in the cell whose quote is
        not closed), and the cells of a column are alike in all of them: ``news-17``, ``news-18``.
        """
        if len(self.lines) == 1:
            return None
        problem = f"the row goes to line {self._number}"
        if len(self.lines) > MAX_LINES:
            return f"{problem}, more than {MAX_LINES} lines: check if a quote is not closed, or write JSON lines"
        texts = [line.decode("utf-8", "replace") for line in self.lines if line.strip()]
        first, *others = [text.rstrip("\r\n").split(self._delimiter) for text in texts]
        have_as_many = len(row) > 1 and all(len(cells) == len(row) for cells in others)
        if have_as_many and any(map(_are_alike, zip(first, *others, strict=False))):
            return f"{problem}, and its lines look like rows of their own: check if a quote is not closed"
        return None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(MAX_LINE + 1)
        if not line:
            raise StopIteration
        self._number += 1
        self.lines.append(line)
        self.size += len(line)
        if self.size > MAX_LINE:
            raise InputError(
                f"{self.place}: the row is longer than {MAX_LINE:,} bytes: check if it has a quote that is not closed"
            )
        encoding = "utf-8-sig" if self._number == 1 else "utf-8"
        try:
            return line.decode(encoding)
        except UnicodeDecodeError as error:
            self.problem = not_decoded(line, error)
            return line.decode(encoding, "replace")


def _tsv_cell(cell: str) -> str | None:
    if cell == "\\N":
        return None
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def _are_alike(cells: Iterable[str]) -> bool:
    """Return whether cells have digits, and the same form: 0 in place of a word with digits, a in place of another."""
    words = [
        re.sub(r"(?<![a-z_-])[a-z_-]*[0-9][\w-]*", "0", cell.strip('" '), flags=re.ASCII | re.IGNORECASE)
        for cell in cells
    ]
    forms = {re.sub("[a-z]+", "a", each, flags=re.IGNORECASE) for each in words}
    return len(forms) == 1 and "0" in forms.pop()
