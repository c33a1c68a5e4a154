"""Dead letters: rejected and failed documents as JSON lines. They hold the document, so they can be ingested again.

A dead letter is ``{"dead_letter": 1, "outcome", "reason", "place", "document"}``. In place of ``"document"``, a line
that is not JSON, or cannot be written as JSON again (``1e400``), has ``"line"``, with its line break. A line that is
not UTF-8 has ``"line_base64"``. An ingest reads the document or the line that a dead letter holds. An object with other
fields is a document of the user's.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.lines import Line, parsed

if TYPE_CHECKING:
    from es_simhash.deciding.outcome import Outcome

VERSION = 1
_ABOUT = frozenset({"dead_letter", "outcome", "reason", "place"})
_CARRIED = frozenset({"document", "line", "line_base64"})


def dead_letter(outcome: Outcome) -> bytes:
    """Return the dead letter of an outcome as a line, with the line break.

    It is ASCII, so every document can be written and read back, even one with a lone surrogate.
    """
    letter = {
        "dead_letter": VERSION,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "place": outcome.place,
        **_carried(outcome.document),
    }
    return json.dumps(letter).encode() + b"\n"


def _carried(document: Any) -> dict[str, Any]:
    if isinstance(document, bytes):
        try:
            return {"line": document.decode()}
        except UnicodeDecodeError:
            return {"line_base64": b64encode(document).decode()}
    if has_json_form(document):
        return {"document": document}
    return {"line": _described(document)}  # a dict of the caller's with values that JSON does not have


def has_json_form(document: Any) -> bool:
    """Return whether a value can be written as JSON. A number such as 1e400 can be read, but not written."""
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _described(document: Any) -> str:
    try:
        return repr(document)
    except RecursionError:
        return f"a {type(document).__name__} that is nested too deeply"


def carried_line(line: Line) -> Line:
    """Return the line that a dead letter carries, with the place of the letter; any other line as it is."""
    letter = line.document
    if not _is_dead_letter(letter):
        return line
    if "document" in letter:
        return replace(line, document=letter["document"], raw=None)
    try:
        raw = letter["line"].encode() if "line" in letter else b64decode(letter["line_base64"], validate=True)
    except (KeyError, AttributeError, TypeError, ValueError):
        return line
    return parsed(replace(line, document=None, raw=raw))


def _is_dead_letter(value: Any) -> bool:
    if not isinstance(value, dict) or type(value.get("dead_letter")) is not int or value["dead_letter"] != VERSION:
        return False
    more = value.keys() - _ABOUT
    return len(value) == len(_ABOUT) + 1 and len(more) == 1 and more <= _CARRIED
