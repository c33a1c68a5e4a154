"""Filter clauses: the part of Elasticsearch's query language that has a plain meaning.

A field holds one value or an array of them, of which one must match; a dot leads into an object, and into each object
of an array. A clause on text is on the whole of it.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN = "bool, exists, ids, match_all, range, term, terms"
_LIMITS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
_OCCURS = ("must", "filter", "should", "must_not")
_DATE_MATH = re.compile(r"now($|[-+/])|.*\|\|", re.DOTALL)


@dataclass(frozen=True)
class Clause:
    """A clause that was checked, in a form that is easily followed.

    :param kind: ``match_all``, ``ids``, ``exists``, ``terms`` (also for ``term``), ``range`` or ``bool``.
    :param path: the field's name, and those of the objects that it is in.
    :param values: of which one is wanted.
    :param limits: of a range.
    :param clauses: of a bool, by how they occur.
    """

    kind: str
    path: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    limits: Mapping[str, Any] | None = None
    clauses: Mapping[str, tuple[Clause, ...]] | None = None


def parsed(clause: Any) -> Clause:
    """Check a clause.

    :raises InputError: if it is malformed, or of a kind that only a server can judge.
    """
    if not hasattr(clause, "items") or len(clause) != 1:
        raise InputError(f"a filter clause is an object with one key, such as {{'term': {{'lang': 'zh'}}}}: {clause!r}")
    ((kind, body),) = clause.items()
    try:
        return _parsed(kind, body)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the filter clause {clause!r} is malformed: write it as for Elasticsearch") from error


def _parsed(kind: str, body: Any) -> Clause:
    match kind:
        case "match_all":
            return Clause(kind)
        case "ids":
            return Clause(kind, values=tuple(map(str, _list("ids", body["values"]))))
        case "exists":
            return Clause(kind, _path(body["field"]))
        case "term":
            ((field, value),) = body.items()
            return Clause("terms", _path(field), (_value(value["value"] if isinstance(value, dict) else value),))
        case "terms":
            ((field, values),) = body.items()
            return Clause(kind, _path(field), tuple(map(_value, _list(field, values))))
        case "range":
            ((field, limits),) = body.items()
            return Clause(kind, _path(field), limits={name: _limit(name, limit) for name, limit in limits.items()})
        case "bool":
            if unknown := body.keys() - set(_OCCURS):
                raise InputError(f"a bool clause with {sorted(unknown)}: use {', '.join(_OCCURS)}")
            clauses = {
                occurs: tuple(parsed(clause) for clause in (inner if isinstance(inner, list) else [inner]))
                for occurs, inner in body.items()
            }
            return Clause(kind, clauses=clauses)
    raise InputError(
        f"only an Elasticsearch can judge a filter clause {kind!r}, and an ingest and SQLite judge by themselves: "
        f"use {KNOWN}"
    )


def _path(field: str) -> tuple[str, ...]:
    # Elasticsearch's own name for the untokenized form of a string.
    return tuple(field.removesuffix(".keyword").split("."))


def _list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise InputError(f"the values of {name!r} in a filter clause are {values!r}: give a list")
    return list(values)


def _value(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InputError(f"a filter clause compares with strings, numbers, true and false; not with {value!r}")
    return value


def _limit(name: str, limit: Any) -> Any:
    if name not in _LIMITS:
        raise InputError(f"a range clause with {name!r}: use gt, gte, lt, lte")
    if isinstance(limit, str) and _DATE_MATH.match(limit):
        raise InputError(
            f"the limit {limit!r} in a range clause is for an Elasticsearch to reckon: write the date itself"
        )
    return _value(limit)


def satisfies(document: Mapping[str, Any], id: str, clause: Mapping[str, Any]) -> bool:
    """Whether a document satisfies a clause: for those that no store can be asked about yet.

    :raises InputError: if the clause is malformed, or of a kind that only a server can judge.
    """
    return _satisfies(document, id, parsed(clause))


def _satisfies(document: Mapping[str, Any], id: str, clause: Clause) -> bool:
    match clause.kind:
        case "ids":
            return id in clause.values
        case "exists":
            return any(map(_holds_something, _values(document, clause.path)))
        case "terms":
            return any(value in clause.values for value in _plain(document, clause.path))
        case "range":
            limits = clause.limits or {}
            return any(_within(value, limits) for value in _plain(document, clause.path))
        case "bool":
            return _bool(document, id, clause.clauses or {})
    return True


def _within(value: Any, limits: Mapping[str, Any]) -> bool:
    # A string and a number don't compare: no match, as in a store.
    return all(
        isinstance(value, str) == isinstance(limit, str) and _LIMITS[name](value, limit)
        for name, limit in limits.items()
    )


def _bool(document: Mapping[str, Any], id: str, clauses: Mapping[str, tuple[Clause, ...]]) -> bool:
    each = {occurs: [_satisfies(document, id, clause) for clause in inner] for occurs, inner in clauses.items()}
    required = each.get("must", []) + each.get("filter", [])
    # Beside what is required, what should be is only a wish.
    should = [] if required else each.get("should", [])
    return all(required) and not any(each.get("must_not", [])) and any(should or [True])


def _values(document: Any, path: tuple[str, ...]) -> list[Any]:
    """What a field holds."""
    found = [document]
    for name in path:
        found = [value[name] for value in found if isinstance(value, dict) and name in value]
        found = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return [value for value in found if value is not None]


def _plain(document: Any, path: tuple[str, ...]) -> list[Any]:
    return [value for value in _values(document, path) if not isinstance(value, dict | list)]


def _holds_something(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return value is not None if inner is None else any(map(_holds_something, inner))
