"""The functions of Python that SQL statements call: filters, and the order of a field."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from es_simhash.search.filters import parse_filter
from es_simhash.search.times import parse_time
from es_simhash.similarity.text_fields import field_value

if TYPE_CHECKING:
    import sqlite3

    from es_simhash.search.filters import Predicate

MATCHES = "matches(id, source, ?)"
"""The condition that a document matches a filter, which is the parameter as JSON."""
SORT_VALUE = "sort_value(source, ?)"
"""What documents are sorted by: the value of a field, a date as milliseconds; NULL for what cannot be sorted."""


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions to a connection."""
    connection.create_function("matches", 3, _matches, deterministic=True)
    connection.create_function("sort_value", 2, _sort_value, deterministic=True)


def document_of(source: str) -> dict[str, Any]:
    """Return a stored document; an empty one if another program wrote something else."""
    try:
        document = json.loads(source)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _matches(id: str, source: str, filter: str) -> bool:
    return _parsed(filter)(document_of(source), id)


@lru_cache(maxsize=64)
def _parsed(filter: str) -> Predicate:
    return parse_filter(json.loads(filter))


def _sort_value(source: str, field: str) -> str | int | float | None:
    value = field_value(document_of(source), field)
    if isinstance(value, str):
        time = parse_time(value)
        return value if time is None else time
    return value if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 64) else None
