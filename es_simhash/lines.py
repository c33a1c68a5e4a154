"""Read JSON lines. Each line becomes a document or a problem. A bad line does not stop the others."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

from es_simhash.errors import InputError, one_line
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF_8 = "utf-8"
MAX_LINE = 64 << 20
"""Largest size of a line in bytes. A longer line is skipped, and is not held in memory."""


class LineStream(Protocol):
    """A file that is opened in binary mode, or what gives its lines in UTF-8."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, or so many bytes of it; nothing at the end."""
        ...


@value
class Line:
    """One line of input: a document, or the problem with the line.

    :param place: where the line is: the name of the file and the number of the line, ``news.jsonl:12``.
    :param document: the parsed JSON value.
    :param problem: why there is no document; None if the line is good.
    :param size: number of bytes in the line.
    :param raw: the bytes of the line in UTF-8, not parsed yet. ``parsed`` turns them into the document.
    :param stored: what is known of a stored document that is read again; None for other input.
    """

    place: str
    document: Any = None
    problem: str | None = None
    size: int = 0
    raw: bytes | None = None
    stored: Any = None


def raw_lines(stream: LineStream, name: str, *, max_line: int = MAX_LINE) -> Iterator[Line]:
    """Yield the lines of a stream, not parsed yet. Empty lines are skipped.

    :param stream: in UTF-8.
    :param name: the name of the file, for the places: ``name:12``.
    :param max_line: the most bytes of a line.
    """
    number = 0
    while line := stream.readline(max_line + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > max_line:
            size = len(line)
            while line and not line.endswith(b"\n"):
                line = stream.readline(max_line)
                size += len(line)
            problem = f"the line is longer than {max_line:,} bytes: write one JSON object on each line"
            yield Line(place, problem=problem, size=size)
        elif line.removeprefix(BOM_UTF8).strip():
            yield Line(place, size=len(line), raw=line)


def _float(text: str) -> float:
    """Return the float of a JSON number, or of what Python takes for one.

    :raises ValueError: for NaN, Infinity and a number that a float cannot hold.
    """
    if not isfinite(number := float(text)):
        raise ValueError(f"{text[:40]} is not a finite number of 64 bits: write null, or a string")
    return number


json_value = json.JSONDecoder(parse_constant=_float, parse_float=_float).decode
"""Returns the value of a JSON text, or raises ValueError."""


def parsed(line: Line) -> Line:
    """Return the line with its document, or with the problem that was found."""
    if line.raw is None or line.problem is not None or line.document is not None:
        return line
    try:
        return replace(line, document=json_value(line.raw.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        problem = not_decoded(line.raw, error)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}"
        if not error.pos or error.msg == "Extra data" or error.pos >= len(error.doc.rstrip()):
            problem += '; a line is one document, such as {"id": "1", "text": "…"}: `jq -c .` writes JSON so'
    except RecursionError:
        problem = "invalid JSON: nested too deeply: flatten it"
    except ValueError as error:
        problem = f"invalid JSON: {one_line(error)}"
    if not line.raw.endswith(b"\n"):
        problem += ", and the input ends there without a line break: check if the file is truncated"
    return replace(line, problem=problem)


def object_of(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line, or the row of a table.

    :raises InputError: if the line is none.
    """
    line = parsed(line)
    if line.problem is not None:
        raise InputError(line.problem)
    if not isinstance(line.document, dict):
        raise InputError("a document must be a JSON object")
    return line.document


def not_decoded(line: bytes, error: UnicodeDecodeError) -> str:
    """Return why a line is not in the encoding of its file, and what to do.

    :param error: from decoding the line as UTF-8, into which it was turned. A wrong byte stayed as it was.
    """
    character = len(line[: error.start].decode()) + 1
    return (
        f"not in the encoding of the file (by default UTF-8) at character {character}: correct the line, or name "
        "another encoding, such as gb18030 or utf-16 (--encoding; encoding in Python)"
    )
