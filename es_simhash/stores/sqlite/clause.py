"""The user's own filter: the part of Elasticsearch's query language that has a plain meaning in SQL.

A field is a path into the stored document; an array matches if one of its elements does, as in Elasticsearch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.core.text import check_surrogates
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_RANGE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_KNOWN = "bool, exists, ids, match_all, range, term, terms"

Sql = tuple[str, list[Any]]


def to_sql(clause: Mapping[str, Any]) -> Sql:
    """A condition on the table ``documents``, and its parameters.

    :raises InputError: if the clause is malformed, or of a kind that only Elasticsearch has.
    """
    if not hasattr(clause, "items") or len(clause) != 1:
        raise InputError(f"a filter clause is an object with one key, such as {{'term': {{'lang': 'zh'}}}}: {clause!r}")
    ((kind, body),) = clause.items()
    try:
        if kind == "match_all":
            return "1", []
        if kind == "ids":
            return f"id IN ({_marks(body['values'])})", [str(id) for id in body["values"]]
        if kind == "exists":
            return _any(body["field"], "1", [])
        if kind == "term":
            ((field, value),) = body.items()
            return _any(field, "value = ?", [_value(value["value"] if isinstance(value, dict) else value)])
        if kind == "terms":
            ((field, values),) = body.items()
            if not isinstance(values, list | tuple):
                raise InputError(f"the values of {field!r} in a terms clause are {values!r}: give a list")
            return _any(field, f"value IN ({_marks(values)})", [_value(value) for value in values])
        if kind == "range":
            ((field, limits),) = body.items()
            condition = " AND ".join(f"value {_RANGE[name]} ?" for name in limits)
            return _any(field, condition or "1", [_value(limit) for limit in limits.values()])
        if kind == "bool":
            return _bool(body)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the filter clause {clause!r} is malformed: write it as for Elasticsearch") from error
    raise InputError(f"the SQLite store knows no filter clause {kind!r}: use {_KNOWN}")


def _bool(body: Mapping[str, Any]) -> Sql:
    parts: list[Sql] = []
    for kind, clauses in body.items():
        each = [to_sql(clause) for clause in (clauses if isinstance(clauses, list) else [clauses])]
        if kind in ("must", "filter"):
            parts += each
        elif kind == "must_not":
            parts += [(f"NOT ({condition})", parameters) for condition, parameters in each]
        elif kind == "should" and each:
            parts.append((" OR ".join(f"({condition})" for condition, _ in each), [p for _, ps in each for p in ps]))
        elif kind != "should":
            raise InputError(f"the SQLite store knows no {kind!r} in a bool clause: use must, filter, should, must_not")
    condition = " AND ".join(f"({condition})" for condition, _ in parts)
    return condition or "1", [parameter for _, parameters in parts for parameter in parameters]


def _any(field: str, condition: str, parameters: list[Any]) -> Sql:
    """One of the field's values satisfies the condition; a field may hold one value or an array of them."""
    # Elasticsearch's own name for the untokenized form of a string.
    names = field.removesuffix(".keyword").split(".")
    if any('"' in name for name in names):
        raise InputError(f"the field name {field!r} has a double quote: the SQLite store can't filter on it")
    path = "$" + "".join(f'."{name}"' for name in names)
    condition = f"EXISTS (SELECT 1 FROM json_each(source, ?) WHERE value IS NOT NULL AND {condition})"
    return condition, [path, *parameters]


def _value(value: Any) -> Any:
    if isinstance(value, dict | list) or value is None:
        raise InputError(f"a filter clause compares with strings, numbers, true and false; not with {value!r}")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise InputError(f"the number {value} in a filter clause is too large: 64 bits are")
    if isinstance(value, str):
        check_surrogates(value, "a string in a filter clause")
    return value


def _marks(values: Any) -> str:
    return ", ".join("?" * len(values))
