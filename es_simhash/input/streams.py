"""From the bytes of a file to lines of UTF-8: compression, recognised by the first bytes, and other encodings."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from contextlib import suppress
from importlib import import_module
from typing import Any

from es_simhash.errors import InputError
from es_simhash.lines import UTF_8

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
# Files that are labelled with a part of GB18030 often have characters of the whole. (The WHATWG's standard of encodings
# does the same.)
_PARTS_OF_GB18030 = frozenset({"gb2312", "gbk"})


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
        "".encode(encoding)  # also raises for what encodes no text, such as base64
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"there is no encoding {encoding!r}: use utf-8, gb18030, big5, utf-16 or another that Python has"
        ) from error
    if name in _PARTS_OF_GB18030:
        return "gb18030"
    return UTF_8 if name == "utf-8-sig" else name


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
                "encoding (encoding)"
            ) from error

    def close(self) -> None:
        """Leave the stream as it is: it belongs to the caller, who may have closed it."""
        if not self._stream.closed:
            self._text.detach()
