"""A user's filter as SQL; a field is a path into the stored document.

SQLite's JSON functions misread a string with a zero character, and cannot name every field. So Python evaluates a part
of a filter, through the SQL function ``matches_filter``, if the document may have such a string, or if SQL cannot name
the field. A filter that is too large for SQLite's parser is evaluated by Python as a whole.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.search.filters import Filter, check_json, matches_parsed, parse_filter
from es_simhash.stores.sqlite.schema import id_list

if TYPE_CHECKING:
    from collections.abc import Mapping
    from sqlite3 import Connection

_RANGE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_DEPTH = 8
"""The most bool filters inside each other in SQL. SQLite's parser has a stack of 100 entries."""
_PARTS = 400
"""The most filters and values in SQL. SQLite takes an expression of depth 1,000, and 32,766 parameters."""
_PATH = 8
"""The most names in a path in SQL. SQLite joins 64 tables."""
_PLAIN_NAME = re.compile(r'[^"\\\x00-\x1f]*')
"""The names that a JSON path of SQLite can hold."""
MARK = " "
"""The first character of a source with ``\\u`` escapes, which SQLite's JSON functions misread in names and for zero
characters. JSON allows white space there."""

Sql = tuple[str, list[Any]]


def marked(source: str) -> str:
    """Return the JSON text of a document as it is stored: marked, if SQLite's JSON functions would misread it.

    :param source: in a damaged file, perhaps something else; that stays as it is.
    """
    if not isinstance(source, str):
        return source
    return MARK + source if "\\u" in source and not source.startswith(MARK) else source


def add_function(connection: Connection) -> None:
    """Add the function ``matches_filter`` to a connection."""
    connection.create_function("matches_filter", 3, _matches_filter, deterministic=True)


def to_sql(filter: Mapping[str, Any], *, trusted: bool = True) -> Sql:
    """Return a condition on the table ``documents``, and its parameters.

    :param trusted: False if the file holds a source that is not JSON. Then Python evaluates the filter: to SQLite's
        JSON functions such a source is an error.
    :raises InputError: if the filter is malformed, or of a type that only Elasticsearch knows.
    """
    check_json(filter)
    parsed = parse_filter(filter)
    _check_numbers(parsed)
    if not trusted or _parts(parsed) > _PARTS or _depth(parsed) > _DEPTH:
        return _by_python(parsed)
    return _sql(parsed)


def _sql(filter: Filter) -> Sql:
    match filter.type:
        case "match_all":
            return "1", []
        case "ids":
            return "id IN (SELECT value FROM json_each(?))", [id_list(filter.values)]
        case "bool":
            return _bool(filter.filters or {})
    python, python_parameters = _by_python(filter)
    if len(filter.path) > _PATH or not all(map(_PLAIN_NAME.fullmatch, filter.path)):
        return python, python_parameters
    condition, parameters = _field(filter)
    return f"CASE WHEN source < '{{' THEN {python} ELSE {condition} END", [*python_parameters, *parameters]


def _field(filter: Filter) -> Sql:
    """Return the condition of a filter on a field."""
    if filter.type == "exists":
        inner = "EXISTS (SELECT 1 FROM json_tree({0}.value) WHERE atom IS NOT NULL)"
        return _any(filter.path, "({0}.atom IS NOT NULL OR {0}.type IN ('object', 'array') AND " + inner + ")", [])
    if filter.type == "terms":
        return _any(filter.path, f"{{0}}.atom IN ({', '.join('?' * len(filter.values))})", list(filter.values))
    # To SQLite every string is larger than every number, so the types are compared too.
    conditions = ["{0}.atom IS NOT NULL"]
    limits: list[Any] = []
    for name, limit in (filter.limits or {}).items():
        comparison = "=" if isinstance(limit, str) else "<>"
        conditions.append(f"{{0}}.type {comparison} 'text' AND {{0}}.atom {_RANGE[name]} ?")
        limits.append(limit)
    return _any(filter.path, " AND ".join(conditions), limits)


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
        # json_each yields the elements of an array, but also the members of an object: what is no array is wrapped. A
        # number that is no integer of 64 bits is not: json_array() would round it, or write 1e400 as invalid JSON.
        found = f"json_extract({above}, ?)"
        is_real = f"CASE WHEN typeof({found}) = 'real' THEN"
        is_array = f"CASE json_type({above}, ?) WHEN 'array' THEN"
        value = f"{is_real} {above} ELSE {is_array} {found} ELSE json_array({found}) END END"
        start = f"{is_real} ? ELSE '$' END"
        if depth:
            value, start = (f"CASE v{depth - 1}.type WHEN 'object' THEN {each} END" for each in (value, start))
        tables.append(f"json_each({value}, {start}) AS v{depth}")
        names += [f'$."{name}"'] * 6
        above = f"v{depth}.value"
    return f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {condition.format(f'v{len(path) - 1}')})", [
        *names,
        *parameters,
    ]


# --- in Python ---------------------------------------------------------------------------------------------------


_filters: OrderedDict[str, Filter] = OrderedDict()
"""The filters that Python evaluates, by the name that they have in SQL: the last ``_FILTERS``."""
_FILTERS = 10_000


def _by_python(filter: Filter) -> Sql:
    name = f"{hash(repr(filter)):x}"
    _filters[name] = filter
    _filters.move_to_end(name)
    if len(_filters) > _FILTERS:
        _filters.popitem(last=False)
    return "matches_filter(source, id, ?)", [name]


def _matches_filter(source: Any, id: Any, name: str) -> bool:
    try:
        document = json.loads(source)
    except (TypeError, ValueError, RecursionError):
        document = {}
    return matches_parsed(document if isinstance(document, dict) else {}, id, _filters[name])


def _check_numbers(filter: Filter) -> None:
    """Check that SQLite can hold the numbers of a filter.

    :raises InputError: for an integer of more than 64 bits.
    """
    for value in (*filter.values, *(filter.limits or {}).values()):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise InputError(f"the number {value} in a filter is too large for SQLite: use a signed number of 64 bits")
    for inner in _inner(filter):
        _check_numbers(inner)


def _parts(filter: Filter) -> int:
    """Return the number of filters and values. Ids do not count, because they are one parameter."""
    values = 0 if filter.type == "ids" else len(filter.values)
    return 1 + values + sum(map(_parts, _inner(filter)))


def _depth(filter: Filter) -> int:
    return 1 + max(map(_depth, _inner(filter)), default=0)


def _inner(filter: Filter) -> list[Filter]:
    return [each for some in (filter.filters or {}).values() for each in some]
