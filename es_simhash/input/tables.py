"""Tables as documents: data frames of pandas and polars, tables of pyarrow, and Parquet files.

No package is imported but pyarrow, for the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 1_000
_ROWS_OF_FILE = 16
"""Rows that become Python objects at a time. A few kilobytes of a file can stand for a row of many megabytes."""
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
        starts = range(0, len(documents), _ROWS)
        return (plain(row) for at in starts for row in documents.iloc[at : at + _ROWS].to_dict("records"))
    if hasattr(documents, "iter_rows"):
        return map(plain, documents.iter_rows(named=True))
    if hasattr(documents, "to_batches") and hasattr(documents, "schema"):
        return (plain(row) for batch in documents.to_batches(max_chunksize=_ROWS) for row in batch.to_pylist())
    return documents


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


def parquet_rows(stream: IO[bytes], name: str) -> Iterator[Line]:
    """Yield the rows, with places such as ``news.parquet row 12``.

    :raises InputError: if the file cannot be read, is a pipe, or pyarrow is missing.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise InputError(f"{name} is a Parquet file: pip install 'es-simhash[parquet]'") from error
    if not stream.seekable():
        raise InputError(f"{name} is Parquet, which cannot be read from a pipe or a compressed file: name the file")
    number = 0
    try:
        for batch in ParquetFile(stream).iter_batches(_ROWS_OF_FILE):
            for row in batch.to_pylist():
                number += 1
                yield Line(f"{name} row {number}", plain(row), size=batch.nbytes // len(batch))
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read {name} to its end, after row {number} ({reason}): copy it again") from error
