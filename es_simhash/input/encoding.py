"""Other encodings than UTF-8: a stream of their bytes becomes a stream of UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.lines import UTF_8

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Files that are labelled with a part of GB18030 often have characters of the whole. (The WHATWG's standard of encodings
# does the same.)
_PARTS_OF_GB18030 = frozenset({"gb2312", "gbk"})
_CHUNK = 1 << 16


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


def as_utf8(stream: io.BufferedReader, name: str, encoding: str) -> io.BufferedReader:
    """Return the stream in UTF-8. A byte that is wrong in its encoding stays as it is, so only its line is rejected.

    :param name: name of the file, for messages.
    :param encoding: the name that the user gave.
    """
    return (
        stream if checked_encoding(encoding) == UTF_8 else io.BufferedReader(_Recoded(stream, name, encoding), _CHUNK)
    )


class _Recoded(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader, name: str, encoding: str) -> None:
        self._stream = stream
        self._name = name
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(checked_encoding(encoding))("surrogateescape")
        self._decoded = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        while not self._decoded and not self._ended:
            self._decoded = memoryview(self._next())
        view = memoryview(buffer)
        count = min(len(view), len(self._decoded))
        view[:count] = self._decoded[:count]
        self._decoded = self._decoded[count:]
        return count

    def _next(self) -> bytes:
        data = self._stream.read1(_CHUNK)
        self._ended = not data
        try:
            return self._decoder.decode(data, self._ended).encode(UTF_8, "surrogateescape")
        except UnicodeError as error:
            raise InputError(
                f"cannot read {self._name} to its end: not {self._encoding} ({error}): check if it has another "
                "encoding (encoding)"
            ) from error
