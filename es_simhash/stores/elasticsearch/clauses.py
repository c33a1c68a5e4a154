"""Parts that several kinds of search have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.stores.elasticsearch.by_id import with_ids

if TYPE_CHECKING:
    from es_simhash.contract import Candidates

COLLAPSED = {"collapse": {"field": "simhash.digest"}}
FIRST_WRITTEN = {"simhash.written": {"order": "asc", "missing": "_first"}}


def any_of(clauses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the query for documents that match one of these clauses."""
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def restricted(request: Candidates, clauses: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the query of these clauses for documents that match the filter, without the ids to leave out."""
    if request.filter is not None:
        clauses = {**clauses, "filter": [*clauses["filter"], request.filter]}
    if request.without:
        clauses = {**clauses, "must_not": [with_ids(request.without)]}
    return {"bool": clauses}
