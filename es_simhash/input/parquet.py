"""The rows of Parquet files as documents. They need the package pyarrow.

A file of a few kilobytes can hold gigabytes: a long value that stands once in the dictionary of its column, and a
thousand rows that point at it. So the metadata tell how many rows are read at a time, long values stay in their
dictionary until the size of a row is known, and only some megabytes of rows become Python objects at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.input.tables import plain
from es_simhash.lines import MAX_LINE, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = 1_000
"""The most rows that are read at a time."""
_OBJECT = 50
"""Bytes of a short value as a Python object."""
_NEXT_I32 = 0x15
"""The byte before a number of 32 bits in the header of a page."""
_RATIO = 100
"""Text is compressed less than this. What is compressed more may have a few rows that are very long."""


@dataclass(frozen=True)
class Limits:
    """How many bytes are in memory at a time.

    :param read: of columns.
    :param objects: of the rows that become Python objects. A longer row does so alone.
    :param dictionary: of a dictionary. Programs that write Parquet keep it below 1 MB. A larger one has long values.
    """

    read: int = 128 << 20
    objects: int = 16 << 20
    dictionary: int = 2 << 20


LIMITS = Limits()


def parquet_rows(stream: IO[bytes], name: str, limits: Limits = LIMITS) -> Iterator[Line]:
    """Yield the rows, with places such as ``news.parquet row 12``. A row that is longer than a line may be has a
    problem.

    Memory is that of a compressed row group, of the decompressed pages where it is read, and of some rows.

    :raises InputError: if the file cannot be read, is a pipe, or pyarrow is missing.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f"{name} is a Parquet file: pip install 'es-simhash[parquet]'") from error
    if not stream.seekable():
        raise InputError(f"{name} is Parquet, which cannot be read from a pipe or a compressed file: name the file")
    number = 0
    try:
        for batch, schema in _batches(stream, limits):
            for rows, size in _pieces(pyarrow.Table.from_batches([batch]), limits.objects):
                if size > MAX_LINE:
                    number += 1
                    problem = f"the row has {size:,} bytes, the limit is {MAX_LINE:,}: split the document"
                    yield Line(f"{name} row {number}", problem=problem, size=size)
                    continue
                for row in rows.cast(schema).to_pylist():
                    number += 1
                    yield Line(f"{name} row {number}", plain(row), size=size // len(rows))
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot read {name} to its end, after row {number} ({reason}): copy it again") from error


def _batches(stream: IO[bytes], limits: Limits) -> Iterator[tuple[Any, Any]]:
    """Yield batches of rows, each with the schema of the file. Columns with long values are dictionaries."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(stream)
    metadata, schema = file.metadata, file.schema_arrow
    maps = {field.name for field in schema if "map<" in str(field.type)}  # they cannot hold dictionaries
    may_stay = {
        column.path
        for column in map(file.schema.column, range(len(file.schema)))
        if column.logical_type.type in ("STRING", "NONE", "JSON") and column.path.split(".")[0] not in maps
    }
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(each) for each in range(group.num_columns)]
        dictionaries = [_dictionary_size(stream, column) for column in columns]
        stay = [
            column.path_in_schema
            for column, dictionary in zip(columns, dictionaries, strict=True)
            if dictionary > limits.dictionary and column.path_in_schema in may_stay
        ]
        longest = sum(
            _longest(column, dictionary, group.num_rows)
            for column, dictionary in zip(columns, dictionaries, strict=True)
            if column.path_in_schema not in stay
        )
        reader = ParquetFile(stream, metadata=metadata, read_dictionary=stay)
        for batch in reader.iter_batches(max(1, min(_ROWS, limits.read // max(longest, 1))), row_groups=[number]):
            yield batch, schema


def _longest(column: Any, dictionary: int, rows: int) -> int:
    """Return how many bytes a row may have in a column, as far as the metadata tell it.

    :param dictionary: the size of its dictionary.
    :param rows: the number of rows.
    """
    size = column.total_uncompressed_size
    # In the encoding DELTA_BYTE_ARRAY a value may repeat the one before.
    if "DELTA_BYTE_ARRAY" in column.encodings or size > _RATIO * column.total_compressed_size:
        return int(size)
    rows = max(rows, 1)
    return int(size // rows + dictionary * -(-column.num_values // rows))


def _dictionary_size(stream: IO[bytes], column: Any) -> int:
    """Return the bytes of the dictionary of a column that holds strings; 0 if it has none.

    They stand in the header of the dictionary's page, whose first two fields are its type and its size, in the compact
    protocol of Thrift: a byte before each, and 7 bits a byte.
    """
    if column.physical_type != "BYTE_ARRAY" or not column.has_dictionary_page:
        return 0
    before = stream.tell()
    stream.seek(column.dictionary_page_offset)
    header = iter(stream.read(12))
    stream.seek(before)
    numbers: list[int] = []
    while len(numbers) < 2 and next(header, None) == _NEXT_I32:
        number = shift = 0
        for byte in header:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        numbers.append(number >> 1)
    return numbers[1] if len(numbers) == 2 else int(column.total_uncompressed_size)


def _pieces(rows: Any, most: int) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a table in pieces of at most so many bytes, or of one row, each with its size in bytes."""
    size = sum(_size(chunk) for column in rows.columns for chunk in column.chunks)
    if size <= most or len(rows) == 1:
        yield rows, size
    else:
        half = len(rows) // 2
        yield from _pieces(rows.slice(0, half), most)
        yield from _pieces(rows.slice(half), most)


def _size(array: Any) -> int:
    """Return about how many bytes the values of an array have as Python objects."""
    from pyarrow import compute, types

    kind, objects = array.type, _OBJECT * len(array)
    if types.is_dictionary(kind):  # a value that stands there once counts for every row that has it
        lengths = compute.binary_length(array.dictionary).take(array.indices) if _is_text(kind.value_type) else None
        return objects + (0 if lengths is None else compute.sum(lengths).as_py() or 0)
    if types.is_struct(kind):
        return objects + sum(map(_size, array.flatten()))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return objects + _size(array.flatten())
    return objects + int(array.nbytes)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))
