"""JSON lines: each line is a document, or a reason why it is none. A bad line never stops the others."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE = 64 << 20
"""Bytes of a line; a longer one is passed over without being held in memory."""


@dataclass(frozen=True)
class Line:
    """One line of input: a document, or why there is none.

    :param place: the file's name and the number of the line.
    :param size: bytes read for it.
    :param raw: the line as it was read; :func:`parsed` makes the document of it.
    """

    place: str
    document: Any = None
    problem: str | None = None
    size: int = 0
    raw: bytes | None = None


def raw_lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """The lines of a stream, not parsed yet; empty ones are passed over.

    :param stream: opened in binary mode.
    :param name: of the file, for the places: ``name:12``.
    """
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > MAX_LINE:
            size = len(line)
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE)
                size += len(line)
            problem = f"the line is longer than {MAX_LINE:,} bytes: one JSON object a line is wanted"
            yield Line(place, problem=problem, size=size)
        elif line.strip():
            yield Line(place, size=len(line), raw=line)


def parsed(line: Line) -> Line:
    """The line with its document, or with the problem that there is none."""
    if line.raw is None or line.problem is not None:
        return line
    try:
        return replace(line, document=_parse(line.raw))
    except InputError as error:
        return replace(line, problem=str(error))


def json_lines(stream: IO[bytes], name: str) -> Iterator[Line]:
    """:func:`raw_lines`, parsed."""
    return map(parsed, raw_lines(stream, name))


_CUT = ", and the input ends there without a line break: was it cut?"


def _parse(line: bytes) -> Any:
    if line.startswith(b"\x1f\x8b"):
        raise InputError("compressed by gzip: pipe it in by zcat")
    if b"\0" in line:
        raise InputError("not UTF-8, it has zero bytes as UTF-16 has them: convert the file to UTF-8")
    try:
        return json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        fix = _CUT if error.reason == "unexpected end of data" else ": convert the file to UTF-8"
        raise InputError(f"not UTF-8 at byte {error.start + 1}{fix}") from error
    except json.JSONDecodeError as error:
        cut = "" if line.endswith(b"\n") else _CUT
        message = error.msg.removesuffix(" at")
        raise InputError(f"not JSON: {message} at character {error.pos + 1}{cut}") from error
    except RecursionError as error:
        raise InputError("not usable JSON: nested too deeply; flatten it") from error
    except ValueError as error:
        raise InputError(f"not usable JSON: {error}") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number; use null")
