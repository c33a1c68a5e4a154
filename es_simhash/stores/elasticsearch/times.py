"""The times of documents in Elasticsearch: the check of the mapping, the range of a query, and the doc values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.contract import CheckTimeField
from es_simhash.errors import InputError
from es_simhash.stores.elasticsearch.calls import handler
from es_simhash.stores.elasticsearch.steps import read_mappings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.stores.elasticsearch.calls import Index, Steps

_DATES = ("date", "date_nanos")
_FORMATS = frozenset(
    {
        "strict_date_optional_time",
        "strict_date_optional_time_nanos",
        "strict_date_time",
        "strict_date_time_no_millis",
        "strict_date",
        "yyyy-MM-dd",
        "uuuu-MM-dd",
        "epoch_millis",
    }
)
"""The formats in which Elasticsearch reads every value as :mod:`es_simhash.search.times` does, or refuses it."""
_LAST_NANOS = 9_223_372_036_854
"""The last time that a field of type date_nanos can hold. The first one is 0."""


def _check_time_field(request: CheckTimeField, index: Index) -> Steps[None]:
    mappings = (yield from read_mappings(index)) or {}
    types = sorted({str((_mapped(mapping, request.field) or {}).get("type")) for mapping in mappings.values()})
    if set(types) == set(_DATES):
        raise InputError(
            f"{index.name} is an alias of indices that map the field {request.field!r} as {' and as '.join(types)}: "
            "map it with one type, or name another field (--time-field)"
        )
    for name, mapping in mappings.items():
        problem = _problem(_mapped(mapping, request.field))
        if problem is not None:
            raise InputError(
                f"the index {name} cannot compare times in the field {request.field!r}: {problem}; map the field "
                f'as {{"type": "date"}} (PUT {name}/_mapping), or name another field (--time-field)'
            )


def _problem(field: Mapping[str, Any] | None) -> str | None:
    """Return why times in a field cannot be compared; None if they can."""
    if field is None:
        return "it has no mapping"
    if field["type"] not in _DATES:
        return f"its type is {field['type']}"
    if not field.get("doc_values", True):
        return "it has no doc values"
    formats = field.get("format", "epoch_millis").split("||")
    if other := [each for each in formats if each not in _FORMATS]:
        return f"its format is {other[0]}, and only ISO 8601 and milliseconds since 1970 (the default) are read"
    return None


def _mapped(mapping: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Return the mapping of a field; None if it has none, or if it is inside a nested object."""
    found = mapping
    for name in field.split("."):
        if found.get("type", "object") != "object" or name not in found.get("properties", {}):
            return None
        found = found["properties"][name]
    return {"type": "object", **found}


def type_of_times(ranges: Iterable[tuple[int, int] | None], field: str | None, index: Index) -> Steps[str]:
    """Return the type of the field, as far as :func:`time_range` needs it: ``date`` or ``date_nanos``.

    The server is asked only if a range has a time that date_nanos cannot hold, which is rare.
    """
    every = [each for each in ranges if each is not None]
    if field is None or all(first >= 0 and last < _LAST_NANOS for first, last in every):
        return "date"
    mappings = (yield from read_mappings(index)) or {}
    types = {(_mapped(mapping, field) or {}).get("type") for mapping in mappings.values()}
    return "date_nanos" if "date_nanos" in types else "date"


def time_range(field: str, times: tuple[int, int], type: str) -> dict[str, Any]:
    """Return a clause for the documents with a time in a range.

    :param times: the first and the last time; both are inside.
    :param type: of the field. The server refuses a limit that a date_nanos cannot hold.
    """
    first, last = times
    limits: dict[str, Any] = {"format": "epoch_millis"}
    nanos = type == "date_nanos"
    if nanos and (last < 0 or first > _LAST_NANOS):
        return {"match_none": {}}
    if not nanos or first >= 0:
        limits["gte"] = first
    if not nanos or last < _LAST_NANOS:
        limits["lt"] = last + 1  # a time may have a fraction of a millisecond
    return {"range": {field: limits}}


def time_doc_value(field: str) -> dict[str, str]:
    """Return the entry of ``docvalue_fields`` for the time."""
    return {"field": field, "format": "epoch_millis"}


def time_from_doc_values(values: list[str]) -> int | None:
    """Return the time of a document; None if it has none or several."""
    return int(values[0].split(".")[0]) if len(values) == 1 else None


HANDLERS = dict([handler(CheckTimeField, _check_time_field)])
