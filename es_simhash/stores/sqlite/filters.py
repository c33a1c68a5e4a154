"""The user's own filter as SQL; a field is a path into the stored document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.search.filters import Clause, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANGE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

Sql = tuple[str, list[Any]]


def to_sql(clause: Mapping[str, Any]) -> Sql:
    """A condition on the table ``documents``, and its parameters.

    :raises InputError: if the clause is malformed, or of a kind that only Elasticsearch has.
    """
    return _sql(parsed(clause))


def _sql(clause: Clause) -> Sql:
    match clause.kind:
        case "ids":
            return f"id IN ({_marks(clause.values)})", list(clause.values)
        case "exists":
            inner = "EXISTS (SELECT 1 FROM json_tree({0}.value) WHERE atom IS NOT NULL)"
            return _any(clause.path, "({0}.atom IS NOT NULL OR {0}.type IN ('object', 'array') AND " + inner + ")", [])
        case "terms":
            return _any(clause.path, f"{{0}}.atom IN ({_marks(clause.values)})", list(map(_value, clause.values)))
        case "range":
            # SQLite takes every string for larger than every number.
            conditions = ["{0}.atom IS NOT NULL"]
            limits: list[Any] = []
            for name, limit in (clause.limits or {}).items():
                kind = "=" if isinstance(limit, str) else "<>"
                conditions.append(f"{{0}}.type {kind} 'text' AND {{0}}.atom {_RANGE[name]} ?")
                limits.append(_value(limit))
            return _any(clause.path, " AND ".join(conditions), limits)
        case "bool":
            return _bool(clause.clauses or {})
    return "1", []


def _bool(clauses: Mapping[str, tuple[Clause, ...]]) -> Sql:
    each = {occurs: [_sql(clause) for clause in inner] for occurs, inner in clauses.items()}
    parts = each.get("must", []) + each.get("filter", [])
    if not parts and (should := each.get("should")):  # beside what is required, what should be is only a wish
        parts = [(" OR ".join(f"({condition})" for condition, _ in should), [p for _, ps in should for p in ps])]
    parts += [(f"NOT ({condition})", parameters) for condition, parameters in each.get("must_not", [])]
    condition = " AND ".join(f"({condition})" for condition, _ in parts)
    return condition or "1", [parameter for _, parameters in parts for parameter in parameters]


def _any(path: tuple[str, ...], condition: str, parameters: list[Any]) -> Sql:
    """One of the field's values satisfies the condition, in which ``{0}`` stands for the row of ``json_each``."""
    tables, names = [], []
    above = "source"
    for depth, name in enumerate(path):
        if '"' in name:
            raise InputError(f"the field name {name!r} has a double quote: the SQLite store can't filter on it")
        # An array stands for its elements; all else for itself, also an object, whose members json_each would give.
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
        raise InputError(f"the number {value} in a filter clause is too large: 64 bits are")
    if isinstance(value, str):
        check_surrogates(value, "a string in a filter clause")
    return value


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values))
