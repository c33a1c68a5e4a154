"""Tables of a user's own (IDF, stop words): how their lines are read, and how a Scheme names them.

A Scheme holds no table, only its identity: ``sha256:`` and the first 16 hex digits of the SHA-256 of the table in
its canonical form, a line an entry, sorted. Two tables of one identity give the same fingerprints.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_IDENTITY = re.compile("sha256:[0-9a-f]{16}")


def identity(lines: Iterable[str]) -> str:
    """The identity of the table that has these lines, in any order."""
    sha256 = hashlib.sha256()
    for line in sorted(lines):
        sha256.update(line.encode() + b"\n")
    return f"sha256:{sha256.hexdigest()[:16]}"


def is_identity(name: object) -> bool:
    """Whether this is the identity of a table of somebody's own."""
    return isinstance(name, str) and _IDENTITY.fullmatch(name) is not None


def read_lines(stream: Iterable[bytes], name: str) -> Iterator[tuple[str, str]]:
    """The lines of a table in UTF-8 that are not empty, each after its place, ``name:12``.

    :param stream: opened in binary mode.
    :raises InputError: naming the line that is not UTF-8.
    """
    for number, data in enumerate(stream, 1):
        place = f"{name}:{number}"
        if data.startswith(b"\x1f\x8b"):
            raise InputError(f"{place}: compressed by gzip: unpack it")
        if b"\0" in data:
            raise InputError(f"{place}: not UTF-8, it has zero bytes as UTF-16 has them: convert the file to UTF-8")
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: not UTF-8 at byte {error.start + 1}: convert the file to UTF-8") from error
        if line:
            yield place, line


def entry(word: object, place: str) -> str:
    """A word as it comes out of a normalised text.

    :raises InputError: naming the place, if it is no string, or nothing is left of it.
    """
    try:
        normalised = normalise(word)  # type: ignore[arg-type]  # it says so if it isn't a string
    except InputError as error:
        raise InputError(f"{place}: {str(error).replace('the text', 'the word', 1)}") from error
    if not normalised:
        raise InputError(f"{place}: nothing is left of the word {word!r} once it is normalised: take it out")
    return normalised
