"""Other encodings than UTF-8: their lines become lines of UTF-8."""

from __future__ import annotations

import codecs
import io

from es_simhash.errors import InputError
from es_simhash.lines import UTF_8

# Files that are labelled with a part of GB18030 often have characters of the whole. (The WHATWG's standard of encodings
# does the same.)
_PARTS_OF_GB18030 = frozenset({"gb2312", "gbk"})


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
        self._stream = stream
        self._name = name
        self._encoding = encoding

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
