"""The rows of CSV and TSV files as documents: the first row names the fields, every value is a string."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.lines import MAX_LINE, UTF_8, Line, not_decoded, skip_empty_lines

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator


def csv_rows(stream: io.BufferedReader, name: str, delimiter: str, encoding: str = UTF_8) -> Iterator[Line]:
    """Yield the rows behind the header. A row that does not fit the header is a line with a problem.

    :param stream: in UTF-8.
    :param delimiter: the character between cells.
    :param encoding: that the file had before it became UTF-8, for messages.
    :raises InputError: if the header cannot be used, or if a row is longer than a line may be. The rows before are
        yielded first.
    """
    # The limit is of the whole process. Without it a cell ends at 131,072 characters; _TextLines limits a row anyway.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    text = _TextLines(stream, name, encoding)
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    while True:
        text.begin_row()
        place = f"{name}:{text.number + 1}"
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(place, problem=f"not CSV: {error}: check its quotes", raw=text.last)
            continue
        if not row:
            text.skip_empty_lines()
            continue
        if columns is None:
            columns = _checked_columns(row, place, text.problem)
        elif text.problem is not None:
            yield Line(place, row, text.problem)
        elif len(row) != len(columns):
            yield Line(place, row, f"the row has {len(row)} cells, the header has {len(columns)}: check its quotes")
        else:
            yield Line(place, dict(zip(columns, row, strict=True)))


def _checked_columns(row: list[str], place: str, problem: str | None) -> list[str]:
    if problem is not None:
        raise InputError(f"{place}: {problem}")
    [(column, count)] = Counter(row).most_common(1)
    if count > 1:
        raise InputError(f"{place}: the header has the column {column!r} twice: give each column its own name")
    return row


class _TextLines:
    """The lines of a stream as text, for the csv module."""

    def __init__(self, stream: io.BufferedReader, name: str, encoding: str) -> None:
        self.number = 0
        """The number of the last line that was read."""
        self.problem: str | None = None
        """Why a line of the row is not in the encoding; None if all lines are."""
        self.last = b""
        """The last line that was read."""
        self._stream = stream
        self._name = name
        self._encoding = encoding
        self._size = 0
        self._first = 0

    def begin_row(self) -> None:
        """Begin the next row. Its size counts from here."""
        self._first = self.number + 1
        self._size = 0
        self.problem = None

    def skip_empty_lines(self) -> None:
        """Skip empty lines between two rows."""
        self.number += skip_empty_lines(self._stream, b"\r\n")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.last = self._stream.readline(MAX_LINE + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self._size += len(line)
        if self._size > MAX_LINE:
            raise InputError(
                f"{self._name}:{self._first}: the row is longer than {MAX_LINE:,} bytes: check if it has a quote that "
                "is not closed"
            )
        encoding = "utf-8-sig" if self.number == 1 else "utf-8"
        try:
            return line.decode(encoding)
        except UnicodeDecodeError as error:
            self.problem = not_decoded(line, error, self._encoding)
            return line.decode(encoding, "replace")
