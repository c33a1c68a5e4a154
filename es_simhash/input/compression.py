"""Compressed files, recognised by their first bytes: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_BUFFER = 1 << 17
_XZ_MEMORY = 512 << 20
"""Most memory in bytes for an xz file. The header of a file says how much it needs; `xz -9` needs 65 MB."""


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
        return io.BufferedReader(_Streams(stream, bz2.BZ2Decompressor), _BUFFER), OSError
    if start.startswith(b"\xfd7zXZ\0"):
        decompressor = partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY)
        return io.BufferedReader(_Streams(stream, decompressor), _BUFFER), lzma.LZMAError
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


class _Streams(io.RawIOBase):
    """The data of bzip2 or xz streams, one behind the other.

    Python's BZ2File and LZMAFile end in silence at a damaged stream, if it is not the first one.
    """

    def __init__(self, stream: io.BufferedReader, make: Callable[[], Any]) -> None:
        self._stream = stream
        self._make = make
        self._decompressor = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        data = self._read1(len(view))
        view[: len(data)] = data
        return len(data)

    def _read1(self, size: int) -> bytes:
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
