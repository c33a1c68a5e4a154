"""The fields of a request: what they hold, for the check of each request and for OpenAPI. It is JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash import InputError
from es_simhash.similarity.measures import MEASURES
from es_simhash.similarity.rule import RULES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MOST = 1_000
"""Documents, texts, ids or items in one request."""

_STRING = {"type": "string"}
_ID = {"type": ["string", "integer"]}


def _list_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(schema), "maxItems": MOST}


RULE: dict[str, dict[str, Any]] = {
    "rule": {"type": "string", "enum": list(RULES), "description": "What counts beside exact duplicates."},
    "max_distance": {"type": "integer", "description": "Bits in which fingerprints may differ."},
    "confirm": {"type": "number", "description": "The least similarity of the texts."},
    "measure": {"type": "string", "enum": list(MEASURES)},
    "numbers_agree": {"type": "boolean", "description": "Texts with other numbers are no duplicates."},
    "within": {"type": "string", "description": "Times of duplicates differ by at most this: 12h, 7d, 2w."},
    "time_field": {"type": "string", "description": "With within: the field with the time of a document."},
    "text_field": {"type": "string", "description": "The field with the text; several with commas are joined."},
}
"""The fields of a DuplicateRule. Those that a request leaves out are those of the store."""

FIELDS: dict[str, dict[str, Any]] = {
    **RULE,
    "document": {"type": "object", "description": "One document, with an id and a text."},
    "documents": {**_list_of({"type": "object"}), "description": "Several documents, in place of document."},
    "id": {**_ID, "description": "Of a stored document."},
    "id_field": {"type": "string", "description": "The field with the id. The default is id."},
    "on_duplicate": {"type": "string", "enum": ["index", "skip"], "description": "What to do with a new duplicate."},
    "filter": {"type": "object", "description": 'A filter that originals or matches fulfil: {"term": {"lang": "zh"}}.'},
    "refresh": {"enum": [True, False, "wait_for"], "description": "As in Elasticsearch. The default is false."},
    "pipeline": {"type": "string", "description": "An ingest pipeline of Elasticsearch."},
    "text": _STRING,
    "texts": {**_list_of(_STRING), "description": "Several texts, in place of text."},
    "fingerprint": {"type": "string", "pattern": "^[0-9a-f]+$", "description": "In place of a text: hex digits."},
    "time": {"type": ["string", "integer"], "description": "Of the text, with within."},
    "times": {**_list_of({"type": ["string", "integer"]}), "description": "Of the texts, one for each."},
    "ids": _list_of(_ID),
    "user": _ID,
    "items": _list_of(_ID),
}

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def check_fields(body: Any, allowed: Collection[str], one_of: tuple[tuple[str, ...], ...]) -> None:
    """Check the fields of a request.

    :param body: the parsed JSON.
    :param allowed: names of fields.
    :param one_of: of each of these groups exactly one field is needed.
    :raises InputError: naming the field, and what to use.
    """
    if not isinstance(body, dict):
        raise InputError("the body is no JSON object: send an object, such as the example in /openapi.json")
    if unknown := body.keys() - set(allowed):
        raise InputError(f"unknown field {', '.join(sorted(unknown))!r}: use {', '.join(allowed)}")
    for names in one_of:
        if len(body.keys() & set(names)) != 1:
            given = "are given together" if body.keys() & set(names) else "is missing"
            what = " and ".join(sorted(body.keys() & set(names))) or " or ".join(names)
            raise InputError(f"{what} {given}: send exactly one of {', '.join(names)}")
    for name, value in body.items():
        _check(name, value, FIELDS[name])


def _check(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else types
    allowed = tuple(each for type in types for each in _TYPES[type])
    if allowed and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
        raise InputError(f"{name} is of another type: send {' or '.join(types)}")
    if "enum" in schema and not any(value is each or (value == each and type(value) is str) for each in schema["enum"]):
        raise InputError(f"{name} is {value!r}: use one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, list):
        if len(value) > MOST:
            raise InputError(f"{name} has {len(value):,} entries: send at most {MOST:,} at once")
        for position, each in enumerate(value):
            _check(f"{name}[{position}]", each, schema["items"])
