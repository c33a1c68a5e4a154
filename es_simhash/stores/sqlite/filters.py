"""A user's filter as SQL; a field is a path into the stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.search.filters import Filter, parse_filter

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANGE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

Sql = tuple[str, list[Any]]


def to_sql(filter: Mapping[str, Any]) -> Sql:
    """Return a condition on the table ``documents``, and its parameters.

    :raises InputError: if the filter is malformed, or of a type that only Elasticsearch knows.
    """
    return _sql(parse_filter(filter))


def _sql(filter: Filter) -> Sql:
    match filter.type:
        case "ids":
            return f"id IN ({_marks(filter.values)})", list(filter.values)
        case "exists":
            inner = "EXISTS (SELECT 1 FROM json_tree({0}.value) WHERE atom IS NOT NULL)"
            return _any(filter.path, "({0}.atom IS NOT NULL OR {0}.type IN ('object', 'array') AND " + inner + ")", [])
        case "terms":
            return _any(filter.path, f"{{0}}.atom IN ({_marks(filter.values)})", list(map(_value, filter.values)))
        case "range":
            # To SQLite every string is larger than every number, so the types are compared too.
            conditions = ["{0}.atom IS NOT NULL"]
            limits: list[Any] = []
            for name, limit in (filter.limits or {}).items():
                comparison = "=" if isinstance(limit, str) else "<>"
                conditions.append(f"{{0}}.type {comparison} 'text' AND {{0}}.atom {_RANGE[name]} ?")
                limits.append(_value(limit))
            return _any(filter.path, " AND ".join(conditions), limits)
        case "bool":
            return _bool(filter.filters or {})
    return "1", []


def _bool(filters: Mapping[str, tuple[Filter, ...]]) -> Sql:
    each = {occurrence: [_sql(one) for one in inner] for occurrence, inner in filters.items()}
    parts = each.get("must", []) + each.get("filter", [])
    # As in Elasticsearch: beside "must" or "filter", "should" only adds to the score, and a filter has no score.
    if not parts and (should := each.get("should")):
        parts = [(" OR ".join(f"({condition})" for condition, _ in should), [p for _, ps in should for p in ps])]
    parts += [(f"NOT ({condition})", parameters) for condition, parameters in each.get("must_not", [])]
    condition = " AND ".join(f"({condition})" for condition, _ in parts)
    return condition or "1", [parameter for _, parameters in parts for parameter in parameters]


def _any(path: tuple[str, ...], condition: str, parameters: list[Any]) -> Sql:
    """Return the condition that one of the field's values matches; ``{0}`` is the row of ``json_each``."""
    tables, names = [], []
    above = "source"
    for depth, name in enumerate(path):
        if '"' in name:
            raise InputError(f"the field name {name!r} has a double quote: the SQLite store can't filter on it")
        # json_each yields the elements of an array, but also the members of an object: an object is wrapped.
        value = f"json_extract({above}, ?)"
        values = f"CASE json_type({above}, ?) WHEN 'array' THEN {value} ELSE json_array({value}) END"
        if depth:
            values = f"CASE v{depth - 1}.type WHEN 'object' THEN {values} END"
        tables.append(f"json_each({values}) AS v{depth}")
        names += [f'$."{name}"'] * 3
        above = f"v{depth}.value"
    return f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {condition.format(f'v{len(path) - 1}')})", [
        *names,
        *parameters,
    ]


def _value(value: Any) -> Any:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"the number {value} in a filter is too large for SQLite: use a signed number of 64 bits")
    if isinstance(value, str):
        check_surrogates(value, "a string in a filter")
    return value


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values))
