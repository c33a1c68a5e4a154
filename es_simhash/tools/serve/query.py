"""What a search of a client may ask. It reads only documents that match it, and no script, document or index beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash import InputError
from es_simhash.errors import shown
from es_simhash.filters import TYPES, check_filter, parse_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_OF_TEXT = {
    "match": {"query", "operator", "minimum_should_match", "boost"},
    "match_phrase": {"query", "slop", "boost"},
    "multi_match": {"query", "fields", "type", "operator", "minimum_should_match", "tie_breaker", "boost"},
}
"""The queries that compare words, and their options."""
_BOOL = frozenset({"must", "filter", "should", "must_not", "minimum_should_match", "boost"})
_DEEPEST = 20
_SORT = {"order", "missing", "unmapped_type"}
_OF_ANY = frozenset({"simhash.group", "simhash.duplicate_of"})
"""Fields that may hold the id of a document that the client does not reach."""
_EXACT = frozenset({"keyword", "constant_keyword", "boolean", "long", "integer", "short", "byte", "date"})
"""Types of fields that a server compares as :func:`~es_simhash.filters.parse_filter` does."""


def fields_of(query: Any) -> set[str]:
    """Check a query, and return the fields that it names.

    :raises InputError: if it is none; if it is of a type that could read more than the documents that it finds, or
        whose result depends on others.
    """
    check_filter(query, "query")
    return _fields_of(query, 1)


def _fields_of(query: Any, depth: int) -> set[str]:
    if depth > _DEEPEST:
        raise InputError(f"the query is nested more than {_DEEPEST} times: flatten it")
    if not isinstance(query, dict) or len(query) != 1:
        raise InputError(f'{shown(query)} is no query: use an object with one key, as {{"match": {{"text": "暴雨"}}}}')
    [(kind, body)] = query.items()
    if kind not in {*_OF_TEXT, *TYPES.split(", ")}:
        raise InputError(f"this server takes no query of the type {shown(kind)}: use {', '.join(_OF_TEXT)}, {TYPES}")
    if not isinstance(body, dict):
        raise InputError(f"the query {shown(query)} is malformed: write it as for Elasticsearch")
    if kind == "bool":
        _check_options(kind, body, _BOOL)
        parts = [body[name] for name in ("must", "filter", "should", "must_not") if name in body]
        inner = [one for part in parts for one in (part if isinstance(part, list) else [part])]
        return {field for one in inner for field in _fields_of(one, depth + 1)}
    if kind not in _OF_TEXT:
        parse_filter(query)
        return {body["field"]} if kind == "exists" else set(body) - {"values"}
    if kind == "multi_match":
        fields, options = body.get("fields"), body
        if not isinstance(fields, list) or not all(isinstance(one, str) and "*" not in one for one in fields):
            raise InputError(
                "multi_match has no list of fields, or a part of a name: give the whole name of each field"
            )
    else:
        fields = list(body)
        options = body[fields[0]] if len(fields) == 1 else {}
        options = options if isinstance(options, dict) else {"query": options}
    if not isinstance(options.get("query"), str | int | float):
        raise InputError(f"the query {shown(query)} has no text: write it as for Elasticsearch")
    _check_options(kind, options, _OF_TEXT[kind])
    return {field.partition("^")[0] for field in fields}


def _check_options(kind: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    if unknown := set(given) - set(allowed):
        raise InputError(f"{kind} has {', '.join(map(shown, sorted(unknown)))}: use {', '.join(sorted(allowed))}")


def sort_fields(sort: Sequence[Mapping[str, Any]]) -> set[str]:
    """Check what a search sorts by, and return the fields.

    :raises InputError: for anything but the score and fields, as for a script.
    """
    check_filter({"sort": sort}, "sort")
    for clause in sort:
        for field, options in clause.items():
            chosen = options if isinstance(options, dict) else {"order": options}
            if chosen.get("order", "asc") not in ("asc", "desc") or (field[:1] == "_" and field != "_score"):
                raise InputError(f'sort has {shown(clause)}: use fields, as in [{{"date": "desc"}}]')
            _check_options("sort", chosen, _SORT)
    return {field for clause in sort for field in clause}


def check_hidden(fields: set[str], what: str) -> None:
    """Check that a search under the filter of the server names no field with the ids of other documents.

    :raises InputError: naming the fields.
    """
    if named := sorted(fields & _OF_ANY):
        raise InputError(f"{what} names {', '.join(named)}, which may hold ids outside of the filter of this server")


def inexact(fields: Iterable[str], mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return which fields a server compares in another way than by their whole values, such as the words of a text.

    :param mappings: of the indices. A field that one lacks has no value there.
    """
    found = [(field, _mapped(mapping, field)) for mapping in mappings for field in fields]
    return sorted({name for name, one in found if one and (one.get("type") not in _EXACT or "normalizer" in one)})


def _mapped(mapping: Mapping[str, Any], field: str) -> Mapping[str, Any] | None:
    """Return how a field is mapped; None if it is not."""
    inner = {**mapping.get("properties", {}), **mapping.get("fields", {})}
    for name, one in inner.items():
        if name == field:
            return dict(one)
        if field.startswith(f"{name}.") and (found := _mapped(one, field[len(name) + 1 :])) is not None:
            return found
    return None
