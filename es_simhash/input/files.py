"""Files of documents: their compression, their format and their encoding, and from there to Lines."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from contextlib import closing, suppress
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, cast

from es_simhash.errors import InputError, check_choice, one_line, shown
from es_simhash.input.arrow import parquet_rows
from es_simhash.input.csv_rows import table_rows
from es_simhash.lines import MAX_LINE, UTF_8, Line, json_value, parsed, raw_lines
from es_simhash.machine import file_path

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
"""The names of the formats: JSON lines, a JSON array, comma and tab separated values, Parquet."""
_TABLES = ("csv", "tsv")
_START = 512
"""Bytes that tell the format."""
_TAR_AT = 257
"""Where the header of a tar archive has the name of the format."""
_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# Files that are labelled with a part of GB18030 often have characters of the whole. (The WHATWG's standard of encodings
# does the same.)
_PARTS_OF_GB18030 = frozenset({"gb2312", "gbk"})


def read_file(path: str | os.PathLike[str], *, format: str | None = None, encoding: str = UTF_8) -> Iterator[Line]:
    """Return the documents of a file as Lines, for :meth:`~es_simhash.Documents.ingest`. They are read as you iterate.

    A file that is compressed by gzip, bzip2, xz or zstd is recognised by its first bytes.

    :param path: of the file.
    :param format: ``jsonl``, ``json`` (an array), ``csv``, ``tsv`` or ``parquet``. By default it is found by the suffix
        and the first bytes of the file.
    :param encoding: of the characters, such as ``gb18030``.
    :raises InputError: if the file cannot be opened, or the format or the encoding does not exist. While you iterate:
        if the file cannot be read to its end. The documents before are returned first; of an array, none.
    """
    if format is not None:
        check_choice("the format", format, FORMATS)
    checked_encoding(encoding)
    name = file_path(path)
    try:
        stream = open(name, "rb")  # noqa: SIM115  _closing closes it
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    return _closing(stream, name, format, encoding)


def _closing(stream: io.BufferedReader, name: str, format: str | None, encoding: str) -> Iterator[Line]:
    with stream:
        yield from map(parsed, lines_of(stream, name, format, encoding))


def lines_of(stream: IO[bytes], name: str, format: str | None = None, encoding: str = UTF_8) -> Iterator[Line]:
    """Yield the documents of a stream. JSON lines are not parsed yet.

    :param stream: the file, opened in binary mode, with a buffer. It stays open.
    :param name: the name of the file, for the places and the suffix.
    :param format: as for :func:`read_file`.
    :param encoding: as for :func:`read_file`.
    :raises InputError: if the stream cannot be read to its end. The documents before are yielded first.
    """
    damage: type[Exception] = OSError
    try:
        content, damage = decompressed(cast("io.BufferedReader", stream), name)
        yield from _lines(content, name, format, encoding)
    except (OSError, EOFError, damage) as error:
        reason = getattr(error, "strerror", None) or f"its compressed data are damaged ({error}): copy it again, whole"
        raise InputError(f"cannot read {name} to its end: {reason}") from error


def _lines(content: io.BufferedReader, name: str, format: str | None, encoding: str) -> Iterator[Line]:
    if format == "parquet" or (format is None and content.peek(4).startswith(b"PAR1")):
        yield from parquet_rows(content, name)
        return
    if content.peek(_START)[_TAR_AT:].startswith(b"ustar"):
        raise InputError(f"{name} is a tar archive: unpack it, and name the files that were in it")
    format = format or _found_format(content, name, encoding)
    if format == "json":
        yield from _array_items(content, name, encoding)
        return
    with closing(Utf8Lines(content, name, encoding)) as lines:
        yield from table_rows(lines, name, format) if format in _TABLES else raw_lines(lines, name)


def _found_format(stream: io.BufferedReader, name: str, encoding: str) -> str:
    """Return the format: by the suffix, or by the first character. A document is an object, so ``[`` is an array."""
    name = name.lower()
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    for format in _TABLES:
        if name.endswith(f".{format}"):
            return format
    start = stream.peek(_START)[:_START].decode(checked_encoding(encoding), "ignore")
    return "json" if start.lstrip("\ufeff \t\r\n").startswith("[") else "jsonl"


def _array_items(stream: IO[bytes], name: str, encoding: str) -> Iterator[Line]:
    """Yield the items of a JSON array, with places such as ``news.json item 12``. The whole array is in memory."""
    data = stream.read(MAX_LINE + 1)
    if len(data) > MAX_LINE:
        raise InputError(
            f"{name} is a JSON array of more than {MAX_LINE:,} bytes: make JSON lines of it, for example with "
            "jq -c '.[]', and read these"
        )
    try:
        items = json_value(data.removeprefix(codecs.BOM_UTF8).decode(checked_encoding(encoding)))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"cannot read {name}: not JSON in {encoding} ({one_line(error)}): correct it, check if it is truncated, or "
            "name its encoding (--encoding; encoding in Python)"
        ) from error
    if not isinstance(items, list):
        raise InputError(f"{name} is no JSON array: leave the format out, or name it (format jsonl)")
    for number, item in enumerate(items, start=1):
        yield Line(f"{name} item {number}", item, size=len(data) // len(items))


# --- compression and encodings -----------------------------------------------------------------------------


def decompressed(stream: io.BufferedReader, name: str) -> tuple[Any, type[Exception]]:
    """Return the stream without its compression, and the error that it raises at damaged data.

    Several compressed files, one behind the other, are one stream. Data are decompressed as they are read. At an end
    that is too early the stream raises EOFError.

    :param name: name of the file, for messages.
    :raises InputError: if the package for the compression is missing, or the file is a ZIP archive.
    """
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream), zlib.error
    if start.startswith(b"BZh"):
        return bz2.BZ2File(stream), OSError
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(stream), lzma.LZMAError
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        zstd = _zstd(name)
        return zstd.ZstdFile(stream), zstd.ZstdError
    if start.startswith(b"PK\x03\x04"):
        raise InputError(f"{name} is a ZIP archive (perhaps of Excel): unpack it, or save the table as CSV")
    return stream, OSError


def _zstd(name: str) -> Any:
    """Return the module, which Python has since 3.14."""
    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return import_module(module)
    advice = "pip install 'es-simhash[zstd]', or decompress it first, for example with zstdcat"
    raise InputError(f"{name} is compressed by zstd: {advice}")


def checked_encoding(encoding: str) -> str:
    """Return the name that Python has for an encoding.

    :raises InputError: if there is no such encoding of text.
    """
    try:
        "".encode(encoding)  # raises for what encodes no text, such as base64
        codecs.getincrementaldecoder(encoding)("surrogateescape").decode(b"a")  # raises for idna, which is for names
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError) as error:
        raise InputError(
            f"there is no encoding {shown(encoding)}: use utf-8, gb18030, big5, utf-16 or another that Python has"
        ) from error
    return "gb18030" if name in _PARTS_OF_GB18030 else name


class Utf8Lines:
    """The lines of a stream, as UTF-8. A byte that is wrong in its encoding stays as it is: only its line is rejected.

    :param name: name of the file, for messages.
    :param encoding: the name that the user gave.
    """

    def __init__(self, stream: io.BufferedReader, name: str, encoding: str) -> None:
        self._text = io.TextIOWrapper(stream, checked_encoding(encoding), errors="surrogateescape", newline="\n")
        self._stream, self._name, self._encoding = stream, name, encoding

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or so many characters of it; nothing at the end."""
        try:
            return self._text.readline(size).encode(UTF_8, "surrogateescape")
        except UnicodeError as error:
            raise InputError(
                f"cannot read {self._name} to its end: not {self._encoding} ({error}): check if it has another "
                "encoding (--encoding; encoding in Python)"
            ) from error

    def close(self) -> None:
        """Leave the stream as it is: it belongs to the caller, who may have closed it."""
        if not self._stream.closed:
            self._text.detach()
