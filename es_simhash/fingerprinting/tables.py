"""Custom tables (IDF, stop words): how a file of one is read, and how a Scheme names one.

A Scheme does not hold a table. It holds the identity of the table: ``sha256:`` and the first 16 hex digits of the
SHA-256 of the table in canonical form (one line for each entry, sorted). Two tables with the same identity give the
same fingerprints.
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
    """Return the identity of the table that has these lines, in any order."""
    sha256 = hashlib.sha256()
    for line in sorted(lines):
        sha256.update(line.encode() + b"\n")
    return f"sha256:{sha256.hexdigest()[:16]}"


def is_identity(name: object) -> bool:
    """Return True if ``name`` has the form of an identity of a custom table."""
    return isinstance(name, str) and _IDENTITY.fullmatch(name) is not None


def read_lines(stream: Iterable[bytes], name: str) -> Iterator[tuple[str, str]]:
    """Yield the place (``name:12``) and the stripped text of each line of a table that is not empty.

    :param stream: the file, opened in binary mode.
    :param name: the name of the file.
    :raises InputError: if a line is not UTF-8 or the file is compressed; the message names the line.
    """
    for number, data in enumerate(stream, 1):
        place = f"{name}:{number}"
        if data.startswith(b"\x1f\x8b"):
            raise InputError(f"{place}: the file is compressed by gzip: decompress it")
        if b"\0" in data:
            raise InputError(f"{place}: not UTF-8: the line has zero bytes, as in UTF-16: convert the file to UTF-8")
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: not UTF-8 at byte {error.start + 1}: convert the file to UTF-8") from error
        if line:
            yield place, line


def normalise_word(word: object, name: str) -> str:
    """Return the word in the form that it has in a normalised text, in the script that it is written in.

    :param name: names the word in error messages, for example ``stop.txt:12``.
    :raises InputError: if it is not a string, or if the normalised word is empty.
    """
    try:
        normalised = normalise(word, "as_written")  # type: ignore[arg-type]  # raises InputError if it is not a string
    except InputError as error:
        raise InputError(f"{name}: {str(error).replace('the text', 'the word', 1)}") from error
    if not normalised:
        raise InputError(f"{name}: the word {word!r} is empty after normalisation: remove it")
    return normalised
