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
from itertools import islice
from typing import TYPE_CHECKING, Any

from es_simhash.errors import InputError, shown, whole_number
from es_simhash.store.elastic.errors import check_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    Hit: TypeAlias = "dict[str, Any]"

_GROUP = "simhash.group"
_GROUPED = {"exists": {"field": _GROUP}}
_SIZE = 10
"""The hits of a page, where the search does not say."""
_MOST = (1 << 31) - 1
"""The server accepts no larger number."""
_EARLIEST_FIRST = {"simhash.order": {"order": "asc", "unmapped_type": "long"}}
"""The last thing to sort by. Without it hits that nothing tells apart change places between two pages."""
_PRECISION = 40_000
"""Up to so many groups are counted almost exactly. The server accepts no larger value."""


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
    _after: tuple[int, int] = field(repr=False)
    _sort: tuple[tuple[bool, bool], ...] = field(repr=False)
    """For each field that the search sorts by: whether it descends, and whether what lacks it comes first."""

    def hits(self, answer: Any) -> list[Hit]:
        """Return the hits of the page, in the order of the search.

        :param answer: of the multi-search.
        :raises SimhashError: if one of the searches failed.
        """
        return [hit for _, hit in self._merged(answer)[self._start :]]

    def after(self, answer: Any) -> tuple[int, int]:
        """Return where the next page starts: ``group_search(search, after=…)`` reads it without the pages before it.

        :param answer: of the multi-search.
        :returns: how many hits of each of the two searches stand before it.
        :raises SimhashError: if one of the searches failed.
        """
        used = [number for number, _ in self._merged(answer)]
        grouped, single = self._after
        return grouped + used.count(0), single + used.count(1)

    def _merged(self, answer: Any) -> list[tuple[int, Hit]]:
        """Return the hits up to the end of the page, each with the number of its search."""
        lists = [[(number, hit) for hit in each["hits"]["hits"]] for number, each in enumerate(_responses(answer))]
        merged = heapq.merge(*lists, key=cmp_to_key(self._compare))
        return list(islice(merged, self._start + self._size))

    def total(self, answer: Any) -> int:
        """Return how many hits all pages have: the groups, and the documents without a group.

        Elasticsearch counts up to 40,000 groups almost exactly, and more of them with an error of about one percent.

        :param answer: of the multi-search.
        :raises SimhashError: if one of the searches failed.
        """
        grouped, single = _responses(answer)
        return int(grouped["aggregations"][_GROUP]["groups"]["value"]) + int(single["hits"]["total"]["value"])

    def _compare(self, first: tuple[int, Hit], second: tuple[int, Hit]) -> int:
        """Return a number below, at or above 0, as the first hit stands before, beside or behind the second."""
        of_fields = zip(self._sort, _sort_values(first[1]), _sort_values(second[1]), strict=False)
        for (descending, missing_first), one, other in of_fields:
            if one is None or other is None:
                if one is not other:
                    return -1 if (one is None) is missing_first else 1
            elif one != other:
                return -1 if (one > other) is descending else 1
        return 0


def group_search(search: Mapping[str, Any], *, after: Sequence[int] | None = None) -> GroupSearch:
    """Return what to send for a search of your own that shows one document of each group.

    A document without a group, which no backfill has seen yet, is a hit of its own.

    No search knows how many hits of the other one stand before a page. So with ``from`` both return all hits from the
    first one on: page 500 costs 500 times as much as page 1. With ``after`` each page costs as much as page 1.

    :param search: the body of the search. With ``from`` and ``size`` it asks for a page, as without groups. Give it a
        ``collapse`` on ``simhash.group`` if you want ``inner_hits``; only hits with a group have them. Its aggregations
        see all documents, and stand in the first response.
    :param after: where the page starts, in place of ``from``: what :meth:`GroupSearch.after` returned for the page
        before it. Two whole numbers, which a client may keep between two requests.
    :raises InputError: for a search that has no such pages: another ``collapse``, ``search_after``; for ``from`` and
        ``size`` that are no whole numbers.
    """
    if not isinstance(search, Mapping):
        raise InputError(f"the search is {shown(search)}: use the body of a search, a dict")
    collapse = search.get("collapse", {"field": _GROUP})
    if not isinstance(collapse, Mapping) or collapse.get("field") != _GROUP:
        raise InputError(
            f"the search collapses on {shown(collapse)}: collapse on {{'field': {_GROUP!r}}}, or on nothing"
        )
    if "search_after" in search:
        raise InputError("search_after cannot go on in two searches: use from and size, or after")
    if after is not None and "from" in search:
        raise InputError("the search has from, and after is given: use one of them")
    start = whole_number("from", search.get("from", 0), 0, _MOST)
    size = whole_number("size", search.get("size", _SIZE), 0, _MOST)
    skipped = _checked_after((0, 0) if after is None else after)
    # A post_filter leaves the scores and the aggregations as they are.
    own = [search["post_filter"]] if "post_filter" in search else []
    clauses = _clauses(search.get("sort"))
    base = {**search, "size": start + size, "sort": [*clauses, _EARLIEST_FIRST]}
    aggregations = base.pop("aggs", base.pop("aggregations", {}))
    if not isinstance(aggregations, Mapping):
        raise InputError(f"the search has the aggregations {shown(aggregations)}: use an object")
    base.pop("collapse", None)
    groups = {"groups": {"cardinality": {"field": _GROUP, "precision_threshold": _PRECISION}}}
    grouped = {
        **base,
        "from": skipped[0],
        "collapse": collapse,
        "post_filter": {"bool": {"filter": [*own, _GROUPED]}},
        "aggs": {**aggregations, _GROUP: {"filter": {"bool": {"filter": own}}, "aggs": groups}},
    }
    single = {
        **base,
        "from": skipped[1],
        "post_filter": {"bool": {"filter": own, "must_not": [_GROUPED]}},
        "track_total_hits": True,
    }
    return GroupSearch([{}, grouped, {}, single], start, size, skipped, _orders(clauses))


def _checked_after(after: Any) -> tuple[int, int]:
    if not isinstance(after, list | tuple) or len(after) != 2:
        raise InputError(f"after is {shown(after)}: use the two numbers that the page before it returned")
    grouped, single = (whole_number("after", each, 0, _MOST) for each in after)
    return grouped, single


def _clauses(sort: Any) -> list[Any]:
    """Return the order of a search, which is by score if it says nothing."""
    return sort if sort and isinstance(sort, list) else [sort or "_score"]


def _orders(clauses: list[Any]) -> tuple[tuple[bool, bool], ...]:
    return tuple(order for clause in clauses for order in _orders_of(clause))


def _orders_of(clause: Any) -> Iterator[tuple[bool, bool]]:
    if isinstance(clause, str):
        clause = {clause: None}
    if not isinstance(clause, Mapping):
        raise InputError(f"the search sorts by {shown(clause)}: use a field, or an object such as {{'date': 'desc'}}")
    for name, options in clause.items():
        chosen = options if isinstance(options, Mapping) else {"order": options}
        order = chosen.get("order") or ("desc" if name == "_score" else "asc")
        yield order == "desc", chosen.get("missing") == "_first"


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
    if hits and not any("_source" in hit or hit_group(hit) for hit in hits):
        raise InputError(
            f"none of the hits has the field {_GROUP}: let the search return it, as by _source=['{_GROUP}']"
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
