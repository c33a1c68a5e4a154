"""Whether a document satisfies a filter clause: the part of Elasticsearch's query language with a plain meaning.

For documents that no store can be asked about yet. A field holds one value or an array of them, of which one must
match; a clause on text is on the whole of it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN = "bool, exists, ids, match_all, range, term, terms"
_LIMITS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def satisfies(document: Mapping[str, Any], id: str, clause: Mapping[str, Any]) -> bool:
    """Whether a document satisfies a clause.

    :raises InputError: if the clause is malformed, or of a kind that only a server can judge.
    """
    if not hasattr(clause, "items") or len(clause) != 1:
        raise InputError(f"a filter clause is an object with one key, such as {{'term': {{'lang': 'zh'}}}}: {clause!r}")
    ((kind, body),) = clause.items()
    try:
        return _satisfies(document, id, kind, body)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the filter clause {clause!r} is malformed: write it as for Elasticsearch") from error


def _satisfies(document: Mapping[str, Any], id: str, kind: str, body: Any) -> bool:
    match kind:
        case "match_all":
            return True
        case "ids":
            return id in [str(value) for value in body["values"]]
        case "exists":
            return bool(_values(document, body["field"]))
        case "term":
            ((field, value),) = body.items()
            return (value["value"] if isinstance(value, dict) else value) in _values(document, field)
        case "terms":
            ((field, values),) = body.items()
            return any(value in _values(document, field) for value in values)
        case "range":
            ((field, limits),) = body.items()
            return any(_within(value, limits) for value in _values(document, field))
        case "bool":
            return _bool(document, id, body)
    raise InputError(f"a filter clause {kind!r} can't be judged before the document is stored: use {KNOWN}")


def _within(value: Any, limits: Mapping[str, Any]) -> bool:
    # A string and a number don't compare: no match, as in a store.
    return all(
        isinstance(value, str) == isinstance(limit, str) and _LIMITS[name](value, limit)
        for name, limit in limits.items()
    )


def _bool(document: Mapping[str, Any], id: str, body: Mapping[str, Any]) -> bool:
    each = {
        kind: [satisfies(document, id, clause) for clause in (clauses if isinstance(clauses, list) else [clauses])]
        for kind, clauses in body.items()
    }
    if unknown := each.keys() - {"must", "filter", "must_not", "should"}:
        raise InputError(f"a bool clause with {sorted(unknown)}: use must, filter, should, must_not")
    required = all(each.get("must", []) + each.get("filter", []))
    return required and not any(each.get("must_not", [])) and any(each.get("should") or [True])


def _values(document: Any, field: str) -> list[Any]:
    """What a field holds; a dot leads into an object, and into each object of an array."""
    found = [document]
    for name in field.removesuffix(".keyword").split("."):
        found = [value[name] for value in found if isinstance(value, dict) and name in value]
        found = [each for value in found for each in (value if isinstance(value, list) else [value])]
    return [value for value in found if value is not None]
