"""Tables in memory as documents: pandas and polars data frames, pyarrow tables. None of these packages is imported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 1_000
_PLAIN = frozenset({str, int, bool, type(None)})


def rows_of(documents: Any) -> Any:
    """Return the rows of a table as dicts, made while you iterate; anything else as it is.

    A table iterates over the names of its columns, and a dict over its keys. No caller means that.

    :raises InputError: for one dict or one string.
    """
    if isinstance(documents, Mapping):
        raise InputError("the documents are one dict: pass a list of dicts, such as [document]")
    if isinstance(documents, str | bytes):
        raise InputError("the documents are one string: pass an iterable of dicts, or read_file(path) for a file")
    if hasattr(documents, "iloc") and hasattr(documents, "columns"):
        return _pandas_rows(documents)
    if hasattr(documents, "iter_rows"):
        return map(plain, documents.iter_rows(named=True))
    if hasattr(documents, "to_batches") and hasattr(documents, "schema"):
        return _arrow_rows(documents)
    return documents


def _pandas_rows(frame: Any) -> Iterator[Any]:
    for start in range(0, len(frame), _ROWS):
        yield from map(plain, frame.iloc[start : start + _ROWS].to_dict("records"))


def _arrow_rows(table: Any) -> Iterator[Any]:
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield from map(plain, batch.to_pylist())


def plain(value: Any) -> Any:
    """Return a value with the types that JSON has: times in ISO 8601, missing values as None.

    A value of another type is returned as it is. The document is then rejected with a reason that names the type.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if value == value else None  # not a number stands for a missing value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if kind.__name__ in ("NaTType", "NAType"):  # of pandas
        return None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if hasattr(value, "tolist"):  # a number or an array of numpy
        return plain(value.tolist())
    return value
