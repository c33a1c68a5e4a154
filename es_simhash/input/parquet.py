"""The rows of Parquet files as documents. They need the package pyarrow."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.input.tables import plain
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 16
"""Rows that become Python objects at a time. A few kilobytes of a file can stand for a row of many megabytes."""


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
        for batch in ParquetFile(stream).iter_batches(_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield Line(f"{name} row {number}", plain(row), size=batch.nbytes // len(batch))
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read {name} to its end, after row {number} ({reason}): copy it again") from error
