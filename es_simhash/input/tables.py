"""Tables in memory as documents: data frames of pandas and polars, tables of pyarrow. None of them is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from es_simhash.errors import InputError
from es_simhash.input.arrow import arrow_rows
from es_simhash.input.values import check_columns, plain

_ROWS = 1_000


def rows_of(documents: Any) -> Any:
    """Return the rows of a table as dicts, or as Lines, made while you iterate; anything else as it is.

    A table iterates over the names of its columns, and a dict over its keys. No caller means that.

    :raises InputError: for one dict or one string; for what cannot be iterated; for two columns of one name.
    """
    if isinstance(documents, Mapping):
        raise InputError("the documents are one dict: pass a list of dicts, such as [document]")
    if isinstance(documents, str | bytes):
        raise InputError("the documents are one string: pass an iterable of dicts, or read_file(path) for a file")
    if hasattr(documents, "iloc") and hasattr(documents, "columns"):
        check_columns(documents.columns, "the data frame")
        starts = range(0, len(documents), _ROWS)
        return (_row(row) for at in starts for row in documents.iloc[at : at + _ROWS].to_dict("records"))
    if hasattr(documents, "iter_rows"):
        return map(_row, documents.iter_rows(named=True))
    if hasattr(documents, "schema") and hasattr(documents, "to_pylist"):  # a table or a batch of pyarrow
        check_columns(documents.schema.names, "the table")
        lines = arrow_rows(documents.to_batches() if hasattr(documents, "to_batches") else [documents], "row")
        return (line.document if line.problem is None else line for line in lines)
    if not isinstance(documents, Iterable):
        raise InputError(f"the documents are of type {type(documents).__name__}: use an iterable of dicts")
    return documents


def _row(row: Any) -> Any:
    try:
        return plain(row)
    except RecursionError:  # it is rejected with this reason
        return row
