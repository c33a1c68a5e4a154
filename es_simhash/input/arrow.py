"""Tables of Arrow as documents: tables of pyarrow, and Parquet files.

pyarrow itself needs pandas to return times of nanoseconds, or drops digits of them. Here each value is read alone: so
the digits stay, and a value that cannot be read takes only its own row with it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError, one_line
from es_simhash.input.values import check_columns, plain, unique_names
from es_simhash.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROWS_OF_FILE = 16
"""Rows that are read at a time. A few kilobytes of a file can stand for a row of many megabytes."""


def parquet_rows(stream: IO[bytes], name: str) -> Iterator[Line]:
    """Yield the rows, with places such as ``news.parquet row 12``. A row that cannot be read is a line with a problem.

    :raises InputError: if the file cannot be read, is a pipe, has two columns of one name, or pyarrow is missing.
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
        file = ParquetFile(stream)
        check_columns(file.schema_arrow.names, name)
        for line in arrow_rows(file.iter_batches(_ROWS_OF_FILE), f"{name} row"):
            number += 1
            yield line
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read {name} to its end, after row {number} ({reason}): copy it again") from error


def arrow_rows(batches: Iterable[Any], name: str) -> Iterator[Line]:
    """Yield the rows of record batches.

    :param name: what stands before the number of a row, in its place.
    """
    number = 0
    for batch in batches:
        size = batch.nbytes // max(1, len(batch))
        for at in range(len(batch)):
            number += 1
            yield _row(batch, at, f"{name} {number}", size)


def _row(batch: Any, at: int, place: str, size: int) -> Line:
    row: dict[str, Any] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = plain(_value(column[at]))
        except (ValueError, OverflowError, LookupError, NotImplementedError) as error:
            problem = f"the column {name!r} holds a {column.type} that cannot be read ({one_line(error)})"
            return Line(place, problem=f"{problem}: leave it out, or give it as text", size=size)
    return Line(place, row, size=size)


def _value(scalar: Any) -> Any:
    """Return a scalar as a Python value; times of nanoseconds in ISO 8601."""
    import pyarrow

    kind, types = scalar.type, pyarrow.types
    if not scalar.is_valid:
        return None
    if types.is_struct(kind):
        return unique_names((field.name, _value(scalar[at])) for at, field in enumerate(kind))
    if types.is_map(kind):
        return unique_names((_value(pair[0]), _value(pair[1])) for pair in scalar.values)
    if isinstance(scalar, pyarrow.ListScalar):  # of every kind of list
        return [_value(each) for each in scalar.values]
    if getattr(kind, "unit", "") != "ns":
        return scalar.as_py()
    if types.is_duration(kind):
        return Decimal(scalar.value).scaleb(-9)
    whole = pyarrow.timestamp("us", kind.tz) if types.is_timestamp(kind) else pyarrow.time64("us")
    microseconds, nanoseconds = divmod(scalar.value, 1_000)
    time = pyarrow.scalar(microseconds, whole).as_py()
    if not nanoseconds:
        return time
    text = time.isoformat(timespec="microseconds")
    end = text.index(".") + 7
    return f"{text[:end]}{nanoseconds:03}{text[end:]}"
