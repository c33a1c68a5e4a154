"""Files of documents: the format is named, or found by the suffix and the first bytes."""

from __future__ import annotations

import codecs
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.input.compression import SUFFIXES, buffered, decompressed
from es_simhash.input.csv_rows import csv_rows
from es_simhash.input.encoding import as_utf8, checked_encoding
from es_simhash.input.json_array import array_items
from es_simhash.input.parquet import parquet_rows
from es_simhash.lines import UTF_8, parsed, raw_lines

if TYPE_CHECKING:
    import io
    import os
    from collections.abc import Iterator

    from es_simhash.lines import Line

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
"""The names of the formats: JSON lines, a JSON array, comma and tab separated values, Parquet."""
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_PARQUET = b"PAR1"


def read_file(path: str | os.PathLike[str], *, format: str | None = None, encoding: str = UTF_8) -> Iterator[Line]:
    """Return the documents of a file as Lines, for :meth:`~es_simhash.Documents.ingest`. They are read as you iterate.

    A file that is compressed by gzip, bzip2, xz or zstd is recognised by its first bytes.

    :param path: of the file.
    :param format: ``jsonl``, ``json`` (an array), ``csv``, ``tsv`` or ``parquet``. By default it is found by the suffix
        and the first bytes of the file.
    :param encoding: of the characters, such as ``gb18030``.
    :raises InputError: if the file cannot be opened, or the format or the encoding does not exist. While you iterate:
        if the file cannot be read to its end. The documents before are returned first.
    """
    format = checked_format(format)
    checked_encoding(encoding)
    name = str(path)
    try:
        stream = open(path, "rb")  # noqa: SIM115  _closing closes it
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    return _closing(stream, name, format, encoding)


def read_parts(path: str | os.PathLike[str]) -> Iterator[Line]:
    """Return :func:`read_file` of a file, or of all files of a folder in the order of their names.

    Spark and other programs write a data set as a folder of several files.

    :param path: of a file, or of a folder. Files whose names begin with ``_`` or ``.`` are notes of the program that
        wrote it, and no data.
    :raises InputError: if a file cannot be opened, or the folder has none.
    """
    if not Path(path).is_dir():
        return read_file(path)
    parts = sorted(part for part in Path(path).iterdir() if part.is_file() and part.name[0] not in "_.")
    if not parts:
        raise InputError(f"the folder {path} has no files: name a file, or the output of the Spark job")
    return chain.from_iterable(map(read_file, parts))


def _closing(stream: IO[bytes], name: str, format: str | None, encoding: str) -> Iterator[Line]:
    with stream:
        yield from map(parsed, lines_of(stream, name, format, encoding))


def checked_format(format: str | None) -> str | None:
    """Return the name of a format, or None.

    :raises InputError: if there is no such format.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"there is no format {format!r}: use one of {', '.join(FORMATS)}")
    return format


def lines_of(stream: IO[bytes], name: str, format: str | None = None, encoding: str = UTF_8) -> Iterator[Line]:
    """Yield the documents of a stream. JSON is not parsed yet.

    :param stream: the file, opened in binary mode.
    :param name: the name of the file, for the places and the suffix.
    :param format: as for :func:`read_file`.
    :param encoding: as for :func:`read_file`.
    :raises InputError: if the stream cannot be read to its end. The documents before are yielded first.
    """
    content = decompressed(buffered(stream), name)
    if format == "parquet" or (format is None and content.peek(4).startswith(_PARQUET)):
        return parquet_rows(content, name)
    text = as_utf8(content, name, encoding)
    if checked_encoding(encoding) == UTF_8:
        encoding = UTF_8  # one name for all of its names
    format = format or _found_format(text, name)
    if format in _DELIMITERS:
        return csv_rows(text, name, _DELIMITERS[format], encoding)
    return array_items(text, name, encoding) if format == "json" else raw_lines(text, name, encoding)


def _found_format(stream: io.BufferedReader, name: str) -> str:
    """Return the format: by the suffix, or by the first character. A document is an object, so ``[`` is an array."""
    name = name.lower()
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    for format in _DELIMITERS:
        if name.endswith(f".{format}"):
            return format
    return "json" if stream.peek(1).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[") else "jsonl"
