"""Points in time: open one, read a page of hits from it, close it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreError
from es_simhash.stores.elasticsearch.calls import WHOLE, Call
from es_simhash.stores.elasticsearch.responses import check_complete

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.calls import Index, Steps


def open_point_in_time(index: Index, keep_alive: str) -> Steps[str]:
    """Open a point in time, and return its id.

    :param keep_alive: how long it lives after each use, such as ``2m``.
    """
    body = yield index.call("POST", index.dialect.points_in_time, keep_alive=keep_alive)
    id: str = body[index.dialect.point_in_time_key]
    return id


def close_point_in_time(id: str, index: Index) -> Steps[None]:
    """Close a point in time. If it was lost with its node, there is nothing to close; otherwise it expires."""
    with suppress(StoreError):
        yield Call("DELETE", f"/{index.dialect.points_in_time}", {index.dialect.point_in_time_key: id})


def read_page(
    query: dict[str, Any], point_in_time: str, keep_alive: str, options: dict[str, Any], index: Index
) -> Steps[dict[str, Any]]:
    """Return the body of the response with one page of hits."""
    search = {
        "query": query,
        "sort": [{index.dialect.tie_breaker: "asc"}],
        "pit": {"id": point_in_time, "keep_alive": keep_alive},
        **options,
    }
    body: dict[str, Any] = yield Call("POST", "/_search", search, WHOLE)
    check_complete(body, index.name)
    return body
