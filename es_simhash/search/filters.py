"""Filters: the part of Elasticsearch's query language that means the same in memory, in SQLite and in Elasticsearch.

A field holds one value or an array of values; an array matches if one of its values does. A dot in a field's name leads
into an object, and into each object of an array. A filter on text compares the whole text.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates

TYPES = "bool, exists, ids, match_all, range, term, terms"
"""The filter types that :func:`parse_filter` knows, for messages."""
MAX_DEPTH = 100
"""The most objects and lists inside each other in a filter. Elasticsearch takes 30 bool filters inside each other."""
_MAX_BITS = 1024
"""Bits of the largest integer in a filter. A larger one is greater than every number of 64 bits with a fraction."""
_LIMITS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
_OCCURRENCES = ("must", "filter", "should", "must_not")
_DATE_MATH = re.compile(r"now($|[-+/])|.*\|\|", re.DOTALL)


@dataclass(frozen=True)
class Filter:
    """A filter that was checked.

    :param type: ``match_all``, ``ids``, ``exists``, ``terms`` (also for ``term``), ``range`` or ``bool``.
    :param path: the field's name, after the names of the objects that hold it.
    :param values: of ``ids`` and ``terms``; one of them must match.
    :param limits: of ``range``: values by ``gt``, ``gte``, ``lt`` or ``lte``.
    :param filters: of ``bool``: inner filters by ``must``, ``filter``, ``should`` or ``must_not``.
    """

    type: str
    path: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    limits: Mapping[str, Any] | None = None
    filters: Mapping[str, tuple[Filter, ...]] | None = None


def check_json(filter: Any) -> None:
    """Check that a filter can be sent to a store: its depth, its strings and its numbers. Its meaning is not checked.

    :raises InputError: if it is nested too deeply, or holds a lone surrogate, a number that is not finite, or a huge
        integer.
    """
    level = [filter]
    for _ in range(MAX_DEPTH):
        inner: dict[int, Any] = {}  # by identity, because an object may occur many times
        for container in level:
            values = [*container, *container.values()] if isinstance(container, Mapping) else container
            for value in values:
                if isinstance(value, Mapping | list | tuple):
                    inner[id(value)] = value
                else:
                    _check_scalar(value)
        if not inner:
            return
        level = list(inner.values())
    raise InputError(f"the filter is nested more than {MAX_DEPTH} deep: flatten it")


def _check_scalar(value: Any) -> None:
    if isinstance(value, str):
        check_surrogates(value, f"the filter's {value!r}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"the filter has the number {value}: use a finite number")
    elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise InputError(f"the filter has an integer of {value.bit_length():,} bits: use one of 64 bits")


def parse_filter(filter: Any) -> Filter:
    """Check a filter and return it as a :class:`Filter`.

    :param filter: a filter as for Elasticsearch, such as ``{"term": {"lang": "zh"}}``.
    :raises InputError: if it is malformed, or of a type that only Elasticsearch knows.
    """
    if not hasattr(filter, "items") or len(filter) != 1:
        raise InputError(f'{filter!r} is no filter: use an object with one key, such as {{"term": {{"lang": "zh"}}}}')
    ((type, body),) = filter.items()
    try:
        return _parse(type, body)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the filter {filter!r} is malformed: write it as for Elasticsearch") from error


def _parse(type: str, body: Any) -> Filter:
    match type:
        case "match_all":
            return Filter(type)
        case "ids":
            return Filter(type, values=tuple(map(str, _list("ids", body["values"]))))
        case "exists":
            return Filter(type, _path(body["field"]))
        case "term":
            ((field, value),) = body.items()
            return Filter("terms", _path(field), (_value(value["value"] if isinstance(value, dict) else value),))
        case "terms":
            ((field, values),) = body.items()
            return Filter(type, _path(field), tuple(map(_value, _list(field, values))))
        case "range":
            ((field, limits),) = body.items()
            return Filter(type, _path(field), limits={name: _limit(name, limit) for name, limit in limits.items()})
        case "bool":
            if unknown := body.keys() - set(_OCCURRENCES):
                raise InputError(f"a bool filter has unknown keys {sorted(unknown)}: use {', '.join(_OCCURRENCES)}")
            filters = {
                occurrence: tuple(parse_filter(each) for each in (inner if isinstance(inner, list) else [inner]))
                for occurrence, inner in body.items()
            }
            return Filter(type, filters=filters)
    raise InputError(f"filter type {type!r} needs Elasticsearch: in an ingest and in SQLite use {TYPES}")


def _path(field: str) -> tuple[str, ...]:
    # Elasticsearch calls the untokenized form of a string field "name.keyword". Here a string has no other form.
    return tuple(field.removesuffix(".keyword").split("."))


def _list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise InputError(f"the values of {name!r} in a filter are {values!r}: use a list")
    return list(values)


def _value(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InputError(f"a filter has the value {value!r}: use a string, a number, true or false")
    return value


def _limit(name: str, limit: Any) -> Any:
    if name not in _LIMITS:
        raise InputError(f"a range filter has the unknown key {name!r}: use gt, gte, lt, lte")
    if isinstance(limit, str) and _DATE_MATH.match(limit):
        raise InputError(
            f"a range filter has the date math {limit!r}, which needs Elasticsearch: write the date itself"
        )
    return _value(limit)


def matches(document: Mapping[str, Any], id: str, filter: Mapping[str, Any]) -> bool:
    """Return whether a document matches a filter, without a store.

    An ingest needs it for documents that no store holds yet.

    :raises InputError: if the filter is malformed, or of a type that only Elasticsearch knows.
    """
    return matches_parsed(document, id, parse_filter(filter))


def matches_parsed(document: Mapping[str, Any], id: str, filter: Filter) -> bool:
    """:func:`matches` for a filter that was parsed."""
    match filter.type:
        case "ids":
            return id in filter.values
        case "exists":
            return any(map(_holds_something, _values(document, filter.path)))
        case "terms":
            return any(value in filter.values for value in _scalars(document, filter.path))
        case "range":
            limits = filter.limits or {}
            return any(_within(value, limits) for value in _scalars(document, filter.path))
        case "bool":
            return _matches_bool(document, id, filter.filters or {})
    return True


def _within(value: Any, limits: Mapping[str, Any]) -> bool:
    # Python can't compare a string with a number. Such a pair doesn't match, as in a store.
    return all(
        isinstance(value, str) == isinstance(limit, str) and _LIMITS[name](value, limit)
        for name, limit in limits.items()
    )


def _matches_bool(document: Mapping[str, Any], id: str, filters: Mapping[str, tuple[Filter, ...]]) -> bool:
    matched = {
        occurrence: [matches_parsed(document, id, each) for each in inner] for occurrence, inner in filters.items()
    }
    required = matched.get("must", []) + matched.get("filter", [])
    # As in Elasticsearch: beside "must" or "filter", "should" only adds to the score, and a filter has no score.
    should = [] if required else matched.get("should", [])
    return all(required) and not any(matched.get("must_not", [])) and any(should or [True])


def _values(document: Any, path: tuple[str, ...]) -> list[Any]:
    """Return everything that the field at ``path`` holds, except null."""
    found = [document]
    for name in path:
        found = [value[name] for value in found if isinstance(value, dict) and name in value]
        found = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return [value for value in found if value is not None]


def _scalars(document: Any, path: tuple[str, ...]) -> list[Any]:
    return [value for value in _values(document, path) if not isinstance(value, dict | list)]


def _holds_something(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return value is not None if inner is None else any(map(_holds_something, inner))
