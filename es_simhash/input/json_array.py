"""A JSON array of documents. Its items are cut out of the stream, so a large array needs little memory."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.lines import MAX_LINE, UTF_8, Line

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

_CHUNK = 1 << 18
_SPACE = re.compile(r"[ \t\r\n]*")
# This only finds the end of an item, so it makes no numbers. `parsed` checks the item.
_decode = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def array_items(stream: io.BufferedReader, name: str, encoding: str = UTF_8) -> Iterator[Line]:
    """Yield the items of a JSON array as lines that are not parsed yet, with places such as ``news.json item 12``.

    :param stream: in UTF-8; its first character except white space is ``[``.
    :param encoding: that the file had before it became UTF-8, for messages.
    :raises InputError: if the array is damaged. The items before are yielded first.
    """
    text = _Text(stream, name, encoding)
    text.expect("[")
    number = 1
    if text.next_character() == "]":
        text.expect("]")
    else:
        while True:
            place = f"{name} item {number}"
            item = text.take_item(place).encode()
            yield Line(place, size=len(item), raw=item)
            if text.next_character() == "]":
                text.expect("]")
                break
            text.expect(",", f"behind {place}")
            number += 1
    if after := text.next_character():
        raise InputError(f"{name}: {after!r} after the end of the array: keep one array in a file")


class _Text:
    """The text of a stream, from a position on. What lies before the position is dropped."""

    def __init__(self, stream: io.BufferedReader, name: str, encoding: str) -> None:
        self._stream = stream
        self._name = name
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._ended = False

    def next_character(self) -> str:
        """Return the next character that is no white space; empty at the end. The position is then at the character."""
        while True:
            self._position = _SPACE.match(self._text, self._position).end()  # type: ignore[union-attr]
            if self._position < len(self._text) or self._ended:
                return self._text[self._position : self._position + 1]
            self._read(_CHUNK)

    def expect(self, character: str, where: str = "") -> None:
        """Step over a character.

        :param where: what stands before it.
        """
        found = self.next_character()
        if found != character:
            where = where and f" {where}"
            if not found:
                raise InputError(f"{self._name} ends{where} without ']': check if the file is truncated")
            raise InputError(
                f"{self._name}: no JSON array, {found!r}{where} in place of {character!r}: correct the file"
            )
        self._position += 1

    def take_item(self, place: str) -> str:
        """Return the text of the next item, and step over it."""
        self.next_character()
        size = _CHUNK
        while True:
            try:
                end = _decode(self._text, self._position)[1]
            except RecursionError as error:
                raise InputError(f"{place}: nested too deeply: flatten it") from error
            except json.JSONDecodeError as error:
                self._check_more(place, error)
            else:
                if end < len(self._text) or self._ended:  # else it may be the first part of a longer number
                    item = self._text[self._position : end]
                    self._position = end
                    return item
            self._read(size)
            size *= 2

    def _check_more(self, place: str, error: json.JSONDecodeError) -> None:
        """Raise InputError if an item that is not JSON can have no more text."""
        if self._ended and error.pos >= len(self._text.rstrip()):
            raise InputError(f"{place}: the input ends inside it: check if the file is truncated") from error
        if self._ended or len(self._text) - self._position > MAX_LINE:
            where = error.pos - self._position + 1
            raise InputError(
                f"{place}: not JSON: {error.msg.removesuffix(' at')} at its character {where}: correct it; nothing "
                "behind it was read"
            ) from error

    def _read(self, size: int) -> None:
        data = self._stream.read1(size) if size == _CHUNK else self._stream.read(size)
        self._ended = not data
        try:
            more = self._decoder.decode(data, self._ended)
        except UnicodeDecodeError as error:
            if self._encoding != UTF_8:
                raise InputError(
                    f"{self._name}: not {self._encoding}: correct the file, or check if it has another encoding"
                ) from error
            raise InputError(f"{self._name}: not UTF-8 ({error.reason}): name its encoding (encoding)") from error
        self._text = self._text[self._position :] + more
        self._position = 0
