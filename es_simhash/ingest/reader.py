"""Check and fingerprint documents: each line becomes a Document, or a rejected Outcome with the place and the fix."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, Any

from es_simhash.decide.outcome import Document, Outcome
from es_simhash.errors import InputError, one_line
from es_simhash.input.values import json_form, not_json, to_json, unique_names
from es_simhash.lines import parsed
from es_simhash.rows import Row
from es_simhash.similarity.text_fields import field_value, fields_of, id_field_of, text_of
from es_simhash.similarity.times import time_of
from es_simhash.store.elastic.rows import OWN_FIELDS
from es_simhash.text.ids import checked_id, kind_of
from es_simhash.text.keys import keys_of_texts
from es_simhash.text.normalisation import check_surrogates
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from es_simhash.decide.rule import ResolvedRule
    from es_simhash.lines import Line
    from es_simhash.rows import Description
    from es_simhash.text.fingerprinter import Fingerprint
    from es_simhash.text.keys import TextKeys

MAX_SOURCE = 30_000_000
"""Characters of a whole document as JSON. Together with the rest of its batch it stays within a server's 100 MB."""

_ROUNDED = re.compile(r"\d\.\d+E\+\d\d")

_sorted_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=json_form).encode


def content_of(document: str) -> int:
    """Return the content of a document: all its fields, as a signed integer of 64 bits.

    It tells whether a document with the same text has changed. It is that of the document as it was given, so it does
    not depend on what a pipeline of the server adds, or on which fields the server leaves out of a ``_source``.

    :param document: as JSON with sorted fields, so their order does not count.
    """
    return int.from_bytes(blake2b(document.encode(), digest_size=8).digest(), "big", signed=True)


@value
class IdField:
    """Where the id of a document stands.

    :param name: of the field. A dot leads into an object.
    :param is_stored: the field is stored with the document. It is not if its name is ``_id``, or if the store does not
        take it: the id of a stored document stands beside its fields, too.
    """

    name: str
    is_stored: bool

    @classmethod
    def of(cls, described: Description, name: str | None = None) -> IdField:
        """Return where the id of new documents stands.

        :param name: of the field; None for that of the store.
        """
        field = name or described.id_field
        taken = described.fields is None or field.partition(".")[0] in described.fields
        return cls(field, is_stored=taken and field != "_id")


class Reader:
    """Checks and fingerprints the documents of one run.

    :param rule: names the text fields and the field with the time, and says whether documents get keys.
    :param id_field: its value is a string or a whole number.
    """

    def __init__(self, rule: ResolvedRule, id_field: IdField) -> None:
        self._fingerprinter = rule.fingerprinter
        self._id_field = id_field.name
        self._left_out = {"simhash"} if id_field.is_stored else {"simhash", id_field.name}
        self.text_fields = rule.text_fields
        self._keys = rule.keys
        self._time_field = rule.chosen.time_field

    def read_all(self, lines: Sequence[Line]) -> Sequence[Document | Outcome]:
        """Return for each line, in order, its Document or a rejected Outcome."""
        checked = [self._checked(line) for line in lines]
        good = [item for item in checked if not isinstance(item, Outcome)]
        normalised = [item.text for item in good]
        fingerprints = self._fingerprinter.fingerprints_normalised(normalised)
        keys: Iterable[TextKeys | None] = keys_of_texts(normalised) if self._keys else repeat(None)
        documents = map(_whole, good, fingerprints, keys)
        return [item if isinstance(item, Outcome) else next(documents) for item in checked]

    def _checked(self, line: Line) -> Document | Outcome:
        """Check a document, and normalise its text. Return it without its fingerprint and keys, or as rejected."""
        line = parsed(line)
        document, id = line.document, None
        try:
            if line.problem is not None:
                raise InputError(line.problem)
            if not isinstance(document, dict):
                raise InputError(f"a document must be a JSON object or a mapping, this is {kind_of(document)}")
            field = id_field_of(document, self._id_field)
            id = self._id(document, field)
            text = self._fingerprinter.scheme.normalise(text_of(document, self.text_fields))
            time = None if self._time_field is None else time_of(document, self._time_field)
            source, content = self._source(document, field) if line.stored is None else (None, None)
            return Document(Row(id, None, "", time=time, content=content), text, line.place, source, stored=line.stored)
        except ValueError as error:  # Python does not write an integer of some thousand digits
            given = document if line.problem is None or line.raw is None else line.raw
            return Outcome(id, "rejected", reason=f"{line.place}: {one_line(error)}", place=line.place, document=given)

    def _id(self, document: Mapping[str, Any], field: str) -> str:
        id = field_value(document, field)
        if id is None and field not in document:
            raise InputError(
                f"no field {field!r}: name the field that holds the id (--id-field; id_field in Python)"
                f"{fields_of(document)}"
            )
        text = checked_id(id, f"the id in {field!r}")
        if _ROUNDED.fullmatch(text):
            raise InputError(
                f"the id in {field!r} is {text!r}, a number that a spreadsheet has rounded: export it as text"
            )
        return text

    def _source(self, document: Mapping[str, Any], id_field: str) -> tuple[str, int]:
        """Return a document as JSON, without what is not stored, and its content."""
        # A document that was stored and read back has our own field, or null. Any other `simhash` belongs to the user.
        if "simhash" in document:
            ours = document["simhash"]
            if ours is not None and (not isinstance(ours, dict) or ours.keys() - set(OWN_FIELDS)):
                raise InputError("the field 'simhash' is used for the fingerprint: rename yours")
        left_out = self._left_out if id_field != "_id" else {*self._left_out, "_id"}
        if not left_out.isdisjoint(document):
            document = {key: value for key, value in document.items() if key not in left_out}
        if dotted := [key for key in document if str(key).startswith("simhash.")]:
            raise InputError(f"the field {dotted[0]!r} is used for the fingerprint: rename yours")
        try:
            source = to_json(document)
            try:
                in_order = _sorted_json(document)
            except TypeError:  # names of two types, such as text and 0 in a data frame: in JSON they are strings
                in_order = _sorted_json(json.loads(source, object_pairs_hook=unique_names))
        except (TypeError, ValueError, RecursionError) as error:
            raise not_json(document, error) from error
        check_surrogates(source, "the document, as JSON,")
        if len(source) > MAX_SOURCE:
            raise InputError(
                f"the document has {len(source):,} characters as JSON, the limit is {MAX_SOURCE:,}: split it, or "
                "leave large fields out"
            )
        return source, content_of(in_order)


def _whole(document: Document, fingerprint: Fingerprint, keys: TextKeys | None) -> Document:
    """Return a checked document with its fingerprint and keys."""
    length = None if keys is None else keys.length
    row = document.row._replace(fingerprint=fingerprint.value, digest=fingerprint.digest, length=length)
    return replace(document, row=row, keys=keys)
