"""Filters: the part of Elasticsearch's query language that means the same in memory, in SQLite and in Elasticsearch.

A field holds one value or an array of values; an array matches if one of its values does. A dot in a field's name leads
into an object, and into each object of an array. A filter on text compares the whole text. Outside of Elasticsearch
dates are compared as they are written, so they must all be written in one form and one time zone.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from es_simhash.errors import InputError, one_line, shown

Predicate = Callable[[Mapping[str, Any], str], bool]
"""Returns whether a document matches. Its second argument is the id of the document."""

TYPES = "bool, exists, ids, match_all, range, term, terms"
"""The filter types that :func:`parse_filter` knows, for messages."""
_TOO_DEEP = "the filter is nested too deeply: flatten it"
_MOST_VALUES = 2_000_000
"""Values in the arrays of one field. No text, time or id needs so many."""
_LIMITS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
_OCCURRENCES = ("must", "filter", "should", "must_not")
_DATE_MATH = re.compile(r"now($|[-+/])|.*\|\|", re.DOTALL)


def check_filter(filter: object, name: str = "filter") -> None:
    """Check that a filter is None, or a dict that can be sent to a store. The store checks its meaning.

    :param name: of the argument, for the message.
    :raises InputError: if it is no dict, is nested too deeply, or cannot be written as JSON.
    """
    if filter is None:
        return
    if not isinstance(filter, Mapping):
        raise InputError(f'{name} is {shown(filter)}: use a filter, such as {{"term": {{"lang": "zh"}}}}')
    try:
        json.dumps(filter, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError as error:
        raise InputError(_TOO_DEEP) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"the filter cannot be written as JSON ({one_line(error)}): correct this value") from error


def check_filter_of_originals(filter: Mapping[str, Any] | None) -> None:
    """Check a filter of originals. The program evaluates it itself: the store may not have them yet.

    :raises InputError: if it is malformed, or of a type that only a server can evaluate.
    """
    check_filter(filter)
    if filter is not None:
        parse_filter(filter)


def parse_filter(filter: Any) -> Predicate:
    """Check a filter, and return what says whether a document matches it, without a store.

    :param filter: a filter as for Elasticsearch, such as ``{"term": {"lang": "zh"}}``.
    :raises InputError: if it is malformed, or of a type that only Elasticsearch knows.
    """
    if not hasattr(filter, "items") or len(filter) != 1:
        raise InputError(
            f'{shown(filter)} is no filter: use an object with one key, such as {{"term": {{"lang": "zh"}}}}'
        )
    ((type, body),) = filter.items()
    try:
        return _parse(type, body)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(_TOO_DEEP) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the filter {shown(filter)} is malformed: write it as for Elasticsearch") from error


def _parse(type: str, body: Any) -> Predicate:
    match type:
        case "match_all":
            return lambda document, id: True
        case "ids":
            ids = frozenset(map(str, _list("ids", body["values"])))
            return lambda document, id: id in ids
        case "exists":
            field = _name(body["field"])
            return lambda document, id: any(_flat(value, objects=True) for value in field_values(document, field))
        case "term":
            ((field, value),) = body.items()
            wanted = _value(value["value"] if isinstance(value, dict) and len(value) == 1 else value)
            return _has_one(field, lambda held: held == wanted)
        case "terms":
            ((field, values),) = body.items()
            return _has_one(field, frozenset(map(_value, _list(field, values))).__contains__)
        case "range":
            ((field, given),) = body.items()
            limits = {name: _limit(name, limit) for name, limit in given.items()}
            return _has_one(field, lambda value: _within(value, limits))
        case "bool":
            return _parse_bool(body)
    raise InputError(
        f"filter type {shown(type)} works only in a search by Elasticsearch: to write, and in SQLite, use {TYPES}"
    )


def _has_one(field: str, fits: Callable[[Any], bool]) -> Predicate:
    """Return what says whether a field holds a value that fits."""
    name = _name(field)
    return lambda document, id: any(
        fits(value) for value in field_values(document, name) if not isinstance(value, dict)
    )


def _parse_bool(body: Any) -> Predicate:
    if unknown := body.keys() - set(_OCCURRENCES):
        raise InputError(f"a bool filter has unknown keys {sorted(unknown)}: use {', '.join(_OCCURRENCES)}")
    must, filters, should, must_not = (
        [parse_filter(each) for each in (inner if isinstance(inner, list) else [inner])]
        for inner in (body.get(occurrence, []) for occurrence in _OCCURRENCES)
    )
    required = must + filters
    # As in Elasticsearch: beside "must" or "filter", "should" only adds to the score, and a filter has no score.
    enough = [] if required else should

    def matches(document: Mapping[str, Any], id: str) -> bool:
        return (
            all(each(document, id) for each in required)
            and not any(each(document, id) for each in must_not)
            and (not enough or any(each(document, id) for each in enough))
        )

    return matches


def _name(field: str) -> str:
    # Elasticsearch calls the untokenized form of a string field "name.keyword". Here a string has no other form.
    return field.removesuffix(".keyword")


def _list(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise InputError(f"the values of {name!r} in a filter are {values!r}: use a list")
    return list(values)


def _value(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise InputError(f"a filter has the value {shown(value)}: use a string, a number, true or false")
    return value


def _limit(name: str, limit: Any) -> Any:
    if name not in _LIMITS:
        raise InputError(f"a range filter has the unknown key {name!r}: use gt, gte, lt, lte")
    if isinstance(limit, str) and _DATE_MATH.match(limit):
        raise InputError(
            f"a range filter has the date math {shown(limit)}, which works only in a search by Elasticsearch: write "
            "the date itself"
        )
    return _value(limit)


def _within(value: Any, limits: Mapping[str, Any]) -> bool:
    # Python can't compare a string with a number. Such a pair doesn't match, as in a store.
    return all(
        isinstance(value, str) == isinstance(limit, str) and _LIMITS[name](value, limit)
        for name, limit in limits.items()
    )


def field_values(value: Any, field: str) -> list[Any]:
    """Return what a field holds, as Elasticsearch reads it.

    Arrays are flat, and null is nothing. A dot leads into an object, and into each object of an array, or is part of a
    name.
    """
    if isinstance(value, list):
        return [found for each in _flat(value) for found in field_values(each, field)]
    if not isinstance(value, Mapping):
        return []
    head, dot, rest = field.partition(".")
    return _flat(value.get(field)) + (field_values(value.get(head), rest) if dot else [])


def _flat(value: Any, *, objects: bool = False) -> list[Any]:
    """Return the items of arrays in arrays, also those of objects, in order. Their depth does not matter.

    :raises InputError: for an array that holds itself.
    """
    found: list[Any] = []
    rest = [value]
    for _ in range(_MOST_VALUES):
        if not rest:
            return found
        value = rest.pop()
        if isinstance(value, list):
            rest += reversed(value)
        elif objects and isinstance(value, dict):
            rest += value.values()
        elif value is not None:
            found.append(value)
    raise InputError(f"an array holds itself, or a field has more than {_MOST_VALUES:,} values: correct the document")
