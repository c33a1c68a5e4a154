"""Compressed files, recognised by their first bytes: gzip, bzip2, xz and Zstandard."""

from __future__ import annotations

import io
import zlib
from typing import IO, TYPE_CHECKING, Any, cast

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FIRST_BYTES = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "ZIP",
}
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BUFFER = 1 << 17


def buffered(stream: IO[bytes]) -> io.BufferedReader:
    """Return a stream whose first bytes can be looked at. Nothing is read yet."""
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream), BUFFER)


def decompressed(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """Return the stream without its compression; a stream that is not compressed as it is.

    Several compressed files, one behind the other, are one stream. Data are decompressed as they are read.

    :param name: name of the file, for messages.
    :raises InputError: if the package for the compression is missing, or the file is a ZIP archive.
    """
    start = stream.peek(6)
    for first, kind in _FIRST_BYTES.items():
        if start.startswith(first):
            return io.BufferedReader(_Decompressed(_opened(kind, stream, name), kind, name), BUFFER)
    return stream


def _opened(kind: str, stream: io.BufferedReader, name: str) -> tuple[IO[bytes], type[Exception]]:
    """Return the decompressing file, and the error that its library raises for damaged data."""
    if kind == "ZIP":
        raise InputError(f"{name} is a ZIP archive (perhaps of Excel): unpack it, or save the table as CSV")
    if kind == "zstd":
        return _opened_zstd(stream, name)
    if kind == "gzip":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), zlib.error
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(stream), ValueError
    import lzma

    return lzma.LZMAFile(stream), lzma.LZMAError


def _opened_zstd(stream: io.BufferedReader, name: str) -> tuple[IO[bytes], type[Exception]]:
    try:
        zstd = _zstd()
    except ImportError as error:
        advice = "pip install 'es-simhash[zstd]', or decompress it first, for example with zstdcat"
        raise InputError(f"{name} is compressed by zstd: {advice}") from error
    return zstd.ZstdFile(stream), zstd.ZstdError


def _zstd() -> Any:
    """Return the module, which Python has since 3.14."""
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd


class _Decompressed(io.RawIOBase):
    """The decompressed bytes. Damaged data raise InputError, with the name of the file."""

    def __init__(self, opened: tuple[IO[bytes], type[Exception]], kind: str, name: str) -> None:
        self._file, self._error = opened
        self._kind = kind
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer)
        try:
            data = cast("io.BufferedReader", self._file).read1(len(view))
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
