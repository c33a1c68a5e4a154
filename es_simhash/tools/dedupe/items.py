"""The items of ``es-simhash dedupe``: documents of files, how they are written again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from es_simhash import InputError
from es_simhash.cli.input import object_of
from es_simhash.search.times import time_of
from es_simhash.similarity.text_fields import field_value, text_of
from es_simhash.tools.dedupe.originals import Decision, Text
from es_simhash.values import value

if TYPE_CHECKING:
    from es_simhash import DuplicateRule, Line


class Name(NamedTuple):
    """What a copy learns of its original.

    :param place: of its line: ``news.jsonl:12``; of a document in a store the name of the store.
    :param id: None if the document has none.
    """

    place: str
    id: Any


@value
class Item:
    """A document of the input.

    :param asked: its text; or a Decision with the problem, if it has none.
    :param output: the line that is written if the document is kept, with its line break.
    :param against: it is of a file of ``--against``: it is not written.
    """

    name: Name
    asked: Text | Decision
    output: bytes
    against: bool


def item_of(line: Line, rule: DuplicateRule, id_field: str, *, against: bool) -> Item:
    """Return the document of a line."""
    try:
        document = object_of(line)
        name = Name(line.place, field_value(document, id_field))
        time = None if rule.time_field is None else time_of(document, rule.time_field)
        asked = Text(text_of(document, rule.text_fields), time, name)
        return Item(name, asked, _output(line, document), against)
    except InputError as error:
        return Item(Name(line.place, None), Decision(problem=str(error)), b"", against)


def _output(line: Line, document: dict[str, Any]) -> bytes:
    """Return the document as a line: as it stands in the input, if it is one line of JSON there."""
    raw = b"\n" if line.raw is None else line.raw.removeprefix(b"\xef\xbb\xbf").strip()
    if b"\n" in raw or b'"dead_letter"' in raw:  # a dead letter may carry the document
        return json_line(document)
    return raw + b"\n"


def json_line(value: Any) -> bytes:
    """Return a value as a line of JSON.

    :raises InputError: if it has no form in JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(value, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the document cannot be written as JSON: {error}") from error
