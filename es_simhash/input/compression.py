"""Compressed files, recognised by their first bytes: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

_FIRST_BYTES = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "ZIP",
}
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_BUFFER = 1 << 17
_XZ_MEMORY = 512 << 20
"""Most memory in bytes for an xz file. The header of a file says how much it needs; `xz -9` needs 65 MB."""


def decompressed(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """Return the stream without its compression; a stream that is not compressed as it is.

    Several compressed files, one behind the other, are one stream. Data are decompressed as they are read.

    :param name: name of the file, for messages.
    :raises InputError: if the package for the compression is missing, or the file is a ZIP archive. While you read: if
        the data are damaged or end too early.
    """
    start = stream.peek(6)
    for first, kind in _FIRST_BYTES.items():
        if start.startswith(first):
            return io.BufferedReader(_Decompressed(_opened(kind, stream, name), kind, name), _BUFFER)
    return stream


def _opened(kind: str, stream: io.BufferedReader, name: str) -> tuple[Any, type[Exception]]:
    """Return the decompressing file, with its method ``read1``, and the error of its library for damaged data."""
    if kind == "ZIP":
        raise InputError(f"{name} is a ZIP archive (perhaps of Excel): unpack it, or save the table as CSV")
    if kind == "gzip":
        return gzip.GzipFile(fileobj=stream), zlib.error
    if kind == "bzip2":
        return _Streams(stream, bz2.BZ2Decompressor), OSError
    if kind == "xz":
        return _Streams(stream, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)), lzma.LZMAError
    try:
        zstd = _zstd()
    except ImportError as error:
        advice = "pip install 'es-simhash[zstd]', or decompress it first, for example with zstdcat"
        raise InputError(f"{name} is compressed by zstd: {advice}") from error
    return zstd.ZstdFile(stream), zstd.ZstdError


def _zstd() -> Any:
    """Return the module, which Python has since 3.14."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")


class _Streams:
    """The data of bzip2 or xz streams, one behind the other.

    Python's BZ2File and LZMAFile end in silence at a damaged stream, if it is not the first one.
    """

    def __init__(self, stream: io.BufferedReader, make: Callable[[], Any]) -> None:
        self._stream = stream
        self._make = make
        self._decompressor = make()

    def read1(self, size: int) -> bytes:
        """Return some data; none at the end."""
        while True:
            data = b""
            if self._decompressor.eof:
                data = self._decompressor.unused_data or self._stream.read1(_BUFFER)
                while data and not (data := data.lstrip(b"\0")):  # zeros between the streams of xz
                    data = self._stream.read1(_BUFFER)
                if not data:
                    return b""
                self._decompressor = self._make()
            elif self._decompressor.needs_input and not (data := self._stream.read1(_BUFFER)):
                raise EOFError
            if out := self._decompressor.decompress(data, size):
                return out  # type: ignore[no-any-return]


class _Decompressed(io.RawIOBase):
    """The decompressed bytes. Damaged data raise InputError, with the name of the file."""

    def __init__(self, opened: tuple[Any, type[Exception]], kind: str, name: str) -> None:
        self._file, self._error = opened
        self._kind = kind
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._file.read1(len(view))
        except EOFError as error:
            raise InputError(
                f"cannot read {self._name} to its end: its {self._kind} data end too early: check if the file is "
                "truncated"
            ) from error
        except (OSError, self._error) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                f"cannot read {self._name} to its end: its {self._kind} data are damaged ({reason}): copy it again"
            ) from error
        view[: len(data)] = data
        return len(data)
