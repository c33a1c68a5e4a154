"""A search of your own that shows one document of each group, and every document that has no group.

Elasticsearch collapses all documents without the field into one hit. The field to collapse on must be a stored
keyword or number, and no mapping gives each document a value of its own. So it takes two searches: one collapses the
documents with a group, the other one finds those without. Their hits are merged in the order of the search.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError
from es_simhash.store.elastic.errors import check_answer

if TYPE_CHECKING:
    from typing import TypeAlias

    Hit: TypeAlias = "dict[str, Any]"

_GROUP = "simhash.group"
_GROUPED = {"exists": {"field": _GROUP}}
_SIZE = 10
"""The hits of a page, where the search does not say."""
_PRECISION = 40_000
"""Up to so many groups are counted almost exactly. The server accepts no larger value."""


@dataclass(frozen=True)
class _Order:
    """One of the fields that a search sorts by."""

    descending: bool
    missing_first: bool

    def compare(self, first: Any, second: Any) -> int:
        """Return a number below, at or above 0, as the first value stands before, beside or behind the second."""
        if first == second:
            return 0
        if first is None or second is None:
            return -1 if (first is None) is self.missing_first else 1
        return -1 if (first > second) is self.descending else 1


_BY_SCORE = _Order(descending=True, missing_first=False)


@dataclass(frozen=True)
class GroupSearch:
    """A page of a search of your own, without copies. :func:`group_search` makes it.

    >>> search = group_search({"query": {"match": {"body": "暴雨"}}, "size": 10})
    >>> answer = client.msearch(index="news", searches=search.searches)  # doctest: +SKIP
    >>> search.total(answer), search.hits(answer)  # doctest: +SKIP

    :param searches: the lines of a multi-search: ``client.msearch(searches=…)``; in opensearch-py ``body=…``.
    """

    searches: list[dict[str, Any]]
    _start: int = field(repr=False)
    _size: int = field(repr=False)
    _sort: tuple[_Order, ...] = field(repr=False)

    def hits(self, answer: Any) -> list[Hit]:
        """Return the hits of the page, in the order of the search.

        :param answer: of the multi-search.
        :raises SimhashError: if one of the searches failed.
        """
        grouped, single = _responses(answer)
        lists = [response["hits"]["hits"] for response in (grouped, single)]
        merged = list(heapq.merge(*lists, key=cmp_to_key(self._compare)))
        return merged[self._start : self._start + self._size]

    def total(self, answer: Any) -> int:
        """Return how many hits all pages have: the groups, and the documents without a group.

        Elasticsearch counts up to 40,000 groups almost exactly, and more of them with an error of about one percent.

        :param answer: of the multi-search.
        :raises SimhashError: if one of the searches failed.
        """
        grouped, single = _responses(answer)
        return int(grouped["aggregations"][_GROUP]["groups"]["value"]) + int(single["hits"]["total"]["value"])

    def _compare(self, first: Hit, second: Hit) -> int:
        pairs = zip(self._sort, _sort_values(first), _sort_values(second), strict=False)
        return next((found for order, *values in pairs if (found := order.compare(*values))), 0)


def group_search(search: Mapping[str, Any]) -> GroupSearch:
    """Return what to send for a search of your own that shows one document of each group.

    A document without a group, which no backfill has seen yet, is a hit of its own.

    :param search: the body of the search. With ``from`` and ``size`` it asks for a page, as without groups. Give it a
        ``collapse`` on ``simhash.group`` if you want ``inner_hits``; only hits with a group have them. Its aggregations
        see all documents, and stand in the first response.
    :raises InputError: for a search that has no such pages: another ``collapse``, ``search_after``.
    """
    collapse = search.get("collapse", {"field": _GROUP})
    if collapse.get("field") != _GROUP:
        raise InputError(f"the search collapses on {collapse.get('field')!r}: collapse on {_GROUP!r}, or on nothing")
    if "search_after" in search:
        raise InputError("search_after cannot go on in two searches: use from and size")
    start, size = search.get("from", 0), search.get("size", _SIZE)
    # A post_filter leaves the scores and the aggregations as they are.
    own = [search["post_filter"]] if "post_filter" in search else []
    base = {**search, "from": 0, "size": start + size}
    aggregations = base.pop("aggs", None) or base.pop("aggregations", {})
    base.pop("collapse", None)
    groups = {"groups": {"cardinality": {"field": _GROUP, "precision_threshold": _PRECISION}}}
    grouped = {
        **base,
        "collapse": collapse,
        "post_filter": {"bool": {"filter": [*own, _GROUPED]}},
        "aggs": {**aggregations, _GROUP: {"filter": {"bool": {"filter": own}}, "aggs": groups}},
    }
    single = {
        **base,
        "post_filter": {"bool": {"filter": own, "must_not": [_GROUPED]}},
        "track_total_hits": True,
    }
    return GroupSearch([{}, grouped, {}, single], start, size, _orders(search.get("sort")))


def _orders(sort: Any) -> tuple[_Order, ...]:
    """Return the order of a search."""
    if sort is None:
        return (_BY_SCORE,)
    return tuple(_order(each) for each in (sort if isinstance(sort, list) else [sort]))


def _order(each: Any) -> _Order:
    if isinstance(each, str):
        each = {each.partition(":")[0]: each.partition(":")[2]} if ":" in each else {each: {}}
    ((name, options),) = each.items()
    if not isinstance(options, dict):
        options = {"order": options}
    order = options.get("order") or ("desc" if name == "_score" else "asc")
    return _Order(order == "desc", options.get("missing") == "_first")


def _sort_values(hit: Hit) -> list[Any]:
    values = hit.get("sort")
    return [hit["_score"]] if values is None else values


def _responses(answer: Any) -> list[Any]:
    """Return the responses of the two searches."""
    check_answer(answer, "the search")
    responses: list[Any] = answer["responses"]
    return responses


# --- the hits of any search ------------------------------------------------------------------------------------------


def hits_of(answer: Any) -> list[Hit]:
    """Return the hits of an answer of Elasticsearch.

    :param answer: the answer, or the list of its hits.
    :raises InputError: if it is something else; if no hit has a group, because the search did not ask for it.
    """
    try:
        hits = answer if isinstance(answer, list) else answer["hits"]["hits"]
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"the search returned a {type(answer).__name__}: return the answer of Elasticsearch, or its list of hits"
        ) from error
    if hits and not any(hit.get("_source") or hit_group(hit) for hit in hits):
        raise InputError(
            f"none of the hits has the field {_GROUP}: search with docvalue_fields=[{{'field': '{_GROUP}'}}]"
        )
    return list(hits)


def hit_id(hit: Mapping[str, Any]) -> str:
    """Return the id of a hit."""
    return str(hit["_id"])


def hit_group(hit: Mapping[str, Any]) -> str | None:
    """Return the group of a hit; None if it has no fingerprint."""
    values = hit.get("fields", {}).get(_GROUP)
    if values:
        return str(values[0])
    simhash = (hit.get("_source") or {}).get("simhash")
    group = simhash.get("group") if isinstance(simhash, Mapping) else None
    return None if group is None else str(group)
