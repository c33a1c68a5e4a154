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
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.lines import Line, parsed
from es_simhash.machine import LinesFile

if TYPE_CHECKING:
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
    if line.raw is None or not isinstance(letter, dict) or letter.get("dead_letter") != VERSION:
        return line
    if letter.keys() == _ABOUT | {"document"}:
        id = letter["id"] if isinstance(letter["id"], str) else None
        return replace(line, document=letter["document"], raw=None, id=id)
    if letter.keys() == _ABOUT | {"line"} and isinstance(letter["line"], str):
        with suppress(UnicodeEncodeError):  # a lone surrogate that stands for no byte: nobody's dead letter
            return parsed(replace(line, document=None, raw=letter["line"].encode("utf-8", "surrogateescape")))
    return line


class DeadLetters(LinesFile):
    """Appends dead letters to a file. What is already in the file stays.

    A run that resumes after it was killed may append the letters of one batch again.

    :raises InputError: if the file cannot be written.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "ab")
        if not self._ends_with_a_line():
            self.write(b"\n")

    def _ends_with_a_line(self) -> bool:
        """Return whether the next letter starts on its own line. A kill may have cut the last one."""
        if not stat.S_ISREG(os.fstat(self.file.fileno()).st_mode) or not self.file.tell():
            return True
        with open(self.path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"

    def put(self, outcome: Outcome) -> None:
        """Append the dead letter of an outcome, if it was rejected or has failed.

        :raises StoreError: if it cannot be written. The run must end then: otherwise the document would be lost.
        """
        if outcome.reason is not None:
            self.write(dead_letter(outcome))
