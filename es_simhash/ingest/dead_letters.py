"""Dead letters: rejected and failed documents as JSON lines. They hold the document, so they can be ingested again.

A dead letter is ``{"dead_letter": 1, "outcome", "reason", "place", "id", "document"}``. In place of ``"document"``, a
line that is no document has ``"line"``, with its line break. An ingest reads the document or the line that a dead
letter holds. An object with other fields is a document of the user's. After a kill a letter may stand in the file
twice.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, StoreError
from es_simhash.lines import Line, parsed
from es_simhash.machine import open_for_owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from es_simhash.decide.outcome import Outcome

VERSION = 1
_ABOUT = frozenset({"dead_letter", "outcome", "reason", "place", "id"})


def dead_letter(outcome: Outcome) -> bytes:
    """Return the dead letter of an outcome as a line, with the line break."""
    letter = {
        "dead_letter": VERSION,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "place": outcome.place,
        "id": outcome.id,
        **_carried(outcome.document),
    }
    return json.dumps(letter, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _carried(document: Any) -> dict[str, Any]:
    if isinstance(document, bytes):
        return {"line": document.decode("utf-8", "surrogateescape")}
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError):
        return {"line": repr(document)}  # a dict of the caller's with values that JSON does not have
    except RecursionError:
        return {"line": f"a {type(document).__name__} that is nested too deeply"}
    return {"document": document}


def carried_line(line: Line) -> Line:
    """Return the line that a dead letter carries, with the place of the letter; any other line as it is.

    Only a line of a file is a dead letter. A dict of the caller is a document, whatever its fields are.
    """
    letter = line.document
    if line.raw is None or not isinstance(letter, dict):
        return line
    if type(letter.get("dead_letter")) is not int or letter["dead_letter"] != VERSION:
        return line
    if letter.keys() == _ABOUT | {"document"}:
        id = letter["id"] if isinstance(letter["id"], str) else None
        return replace(line, document=letter["document"], raw=None, id=id)
    if letter.keys() == _ABOUT | {"line"} and isinstance(letter["line"], str):
        with suppress(UnicodeEncodeError):  # a lone surrogate that stands for no byte: nobody's dead letter
            return parsed(replace(line, document=None, raw=letter["line"].encode("utf-8", "surrogateescape")))
    return line


class DeadLetters:
    """Appends dead letters to a file. What is already in the file stays.

    A run that resumes after it was killed may append the letters of one batch again.

    :raises InputError: if the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with self._errors(InputError):
            # No buffer: a write that failed is not repeated when the file is closed.
            self._file: FileIO = open(path, "ab", buffering=0, opener=open_for_owner)  # noqa: SIM115  close() closes it
            self._end_last_line()

    def put(self, outcome: Outcome) -> None:
        """Append one dead letter.

        :raises StoreError: if it cannot be written, for example because the disk is full. The run must end then:
            otherwise the document would be lost.
        """
        letter = memoryview(dead_letter(outcome))
        with self._errors(StoreError):
            while letter:
                letter = letter[self._file.write(letter) :]

    def close(self) -> None:
        """Close the file."""
        with self._errors(StoreError):
            self._file.close()

    def _end_last_line(self) -> None:
        """End a last line that was cut, so that the next letter starts on its own line."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode) or not self._file.tell():
            return
        with open(self._path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            if not file.read().endswith(b"\n"):
                self._file.write(b"\n")

    @contextmanager
    def _errors(self, kind: type[InputError | StoreError]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise kind(f"cannot write dead letters to {self._path}: {reason}") from error
