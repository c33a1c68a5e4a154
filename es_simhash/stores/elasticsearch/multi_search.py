"""Several searches in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.stores.elasticsearch.responses import check_complete, error_from_body

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.stores.elasticsearch.calls import Index

    Search = tuple[dict[str, Any], dict[str, Any]]
    """The header and the body of one search. A header may name an index, in place of the index of the store."""


def multi_search(searches: Iterable[Search], index: Index) -> list[dict[str, Any]]:
    """Return the body of the response to each search. Every shard has answered."""
    whole = {"allow_partial_search_results": False}
    lines = [line for header, body in searches for line in ({**whole, **header}, body)]
    response = index.send(index.call("POST", "_msearch", lines))
    bodies: list[dict[str, Any]] = response["responses"]
    for body in bodies:
        if "error" in body:
            raise error_from_body(body, body["status"], index.name)
        check_complete(body, index.name)
    return bodies
