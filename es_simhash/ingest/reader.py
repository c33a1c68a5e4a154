"""Check and fingerprint: what was read becomes a Document, or a rejected Outcome that names the place and the fix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.ingest.dead_letters import has_json_form, opened
from es_simhash.lines import parsed
from es_simhash.verbs.outcome import Document, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.lines import Line

MAX_TEXT = 10_000_000
"""Characters of a text, some ten novels. Beyond that a document is a collection; and a server would refuse it."""
MAX_SOURCE = 30_000_000
"""Characters of a whole document as JSON: with those before it in a batch it stays within a server's 100 MB."""
MAX_ID = 512
"""Bytes of an id, as Elasticsearch has it."""

SIMHASH_FIELDS = frozenset(
    {*(f"s{segment}" for segment in range(8)), "fp", "fp1", "digest", "group", "duplicate_of", "written"}
)


class Reader:
    """Checks and fingerprints the documents of one run.

    :param id_field: name of the field with the id, a string or a whole number.
    :param text_fields: names of the fields with the text; several are joined, those that are missing left out.
    :param max_text: characters that a text may have.
    """

    def __init__(
        self, fingerprinter: Fingerprinter, id_field: str, text_fields: tuple[str, ...], max_text: int = MAX_TEXT
    ) -> None:
        self._fingerprinter = fingerprinter
        self._id_field = id_field
        self._text_fields = text_fields
        self._max_text = max_text

    def read_all(self, lines: Sequence[Line]) -> list[Document | Outcome]:
        """What becomes of each line, in their order."""
        return [self._read_line(line) for line in lines]

    def _read_line(self, line: Line) -> Document | Outcome:
        line = opened(parsed(line))
        if line.problem is not None:
            return rejected(None, line.place, line.problem, line.raw)
        try:
            return self.read(line.document, line.place, line.version)
        except InputError as error:
            carried = line.document if line.raw is None or has_json_form(line.document) else line.raw
            return rejected(self._id_if_any(line.document), line.place, str(error), carried)

    def read(self, document: Any, place: str = "", version: Any = None) -> Document:
        """Check a document and take its fingerprint.

        :raises InputError: saying what is wrong with it.
        """
        if not isinstance(document, dict):
            raise InputError(f"a document must be a JSON object, this is {_kind(document)}")
        id = self._id(document)
        text = self.text(document)
        if len(text) > self._max_text:
            raise InputError(
                f"the text has {len(text):,} characters, the limit is {self._max_text:,}: "
                "split the document, or raise the limit (--max-text)"
            )
        source = self._source(document)
        return Document(id, self._fingerprinter.fingerprint(text), source, place, version)

    def _id_if_any(self, document: Any) -> str | None:
        try:
            return self._id(document)
        except (InputError, TypeError):
            return None

    def _id(self, document: Mapping[str, Any]) -> str:
        field = self._id_field
        if field not in document:
            raise InputError(f"no field {field!r}: name the field that holds the id (--id-field)")
        id = document[field]
        if isinstance(id, bool) or not isinstance(id, str | int):
            raise InputError(f"the id in {field!r} is {_kind(id)}: use a string or a whole number")
        id = str(id)
        check_surrogates(id, f"the id in {field!r}")
        if "\0" in id:
            raise InputError(f"the id in {field!r} has a zero byte: take it out")
        if not id or len(id.encode()) > MAX_ID:
            raise InputError(f"the id in {field!r} has {len(id.encode())} bytes: use from 1 to {MAX_ID}")
        return id

    def text(self, document: Mapping[str, Any]) -> str:
        """The text of a document, of all its text fields.

        :raises InputError: if there is none.
        """
        texts = {field: value for field in self._text_fields if (value := _value(document, field)) is not None}
        if not texts:
            names = ", ".join(map(repr, self._text_fields))
            raise InputError(f"no text in the field {names}: name the field that holds the text (--text-field)")
        for field, text in texts.items():
            if not isinstance(text, str):
                raise InputError(f"the text in {field!r} is {_kind(text)}: use a string")
            check_surrogates(text, f"the text in {field!r}")
        return "\n".join(texts.values())

    def _source(self, document: Mapping[str, Any]) -> str:
        # A document that was stored and read back brings our own field along; any other `simhash` is the user's.
        ours = document.get("simhash")
        if ours is not None:
            if not isinstance(ours, dict) or ours.keys() - SIMHASH_FIELDS:
                raise InputError("the field 'simhash' is taken for the fingerprint: rename yours")
            document = {key: value for key, value in document.items() if key != "simhash"}
        if dotted := [key for key in document if str(key).startswith("simhash.")]:
            raise InputError(f"the field {dotted[0]!r} is taken for the fingerprint: rename yours")
        try:
            source = json.dumps(document, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the document can't be written as JSON: {error}") from error
        check_surrogates(source, "the document, as JSON,")
        if len(source) > MAX_SOURCE:
            raise InputError(
                f"the document has {len(source):,} characters as JSON, the limit is {MAX_SOURCE:,}: split it, or leave "
                "large fields out"
            )
        return source


def rejected(id: str | None, place: str, problem: str, document: Any) -> Outcome:
    """The Outcome of what can't be used; ``document`` is what it was, or the bytes of the line."""
    return Outcome(id, "rejected", reason=f"{place}: {problem}", place=place, document=document)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


def _value(document: Mapping[str, Any], field: str) -> Any:
    """What a field holds; a dot may be part of its name, or lead into an object."""
    if field in document:
        return document[field]
    head, dot, rest = field.partition(".")
    inner = document.get(head) if dot else None
    return _value(inner, rest) if isinstance(inner, dict) else None


def field_names(text_field: str | Sequence[str]) -> tuple[str, ...]:
    """One name of a field, or several."""
    return (text_field,) if isinstance(text_field, str) else tuple(text_field)
