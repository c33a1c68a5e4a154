"""Dead letters: what was rejected or failed, as JSON lines that carry the document and can be ingested again.

A dead letter is ``{"dead_letter": 1, "outcome", "reason", "place", "document"}``. A line that is not JSON, or can't be
written as JSON again (``1e400``), is kept as ``"line"``, with its line break, one that is not even UTF-8 as
``"line_base64"``, in place of ``"document"``. An ingest takes a dead letter for what it carries; an object with other
fields than these is a document of the user's own.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from es_simhash.lines import Line, parsed

if TYPE_CHECKING:
    from es_simhash.verbs.outcome import Outcome

VERSION = 1
_ABOUT = frozenset({"dead_letter", "outcome", "reason", "place"})
_CARRIED = frozenset({"document", "line", "line_base64"})


def dead_letter(outcome: Outcome) -> bytes:
    """One line for a document that was not taken, with the line break.

    In ASCII: whatever a document holds, half a character included, can be written and read back.
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
    return {"line": _described(document)}  # a dict of the caller's


def has_json_form(document: Any) -> bool:
    """It can be written as JSON; a number like 1e400 can be read, and not be written."""
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
