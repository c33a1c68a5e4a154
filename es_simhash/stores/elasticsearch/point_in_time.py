"""Points in time: open one, read it page by page, close it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreError

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index


@dataclass(frozen=True)
class Reading:
    """Where the reading of a point in time goes on.

    :param id: of the point in time.
    :param keep_alive: how long it lives after each use, such as ``2m``.
    :param ties: the most hits with one value of the tie-breaker.
    :param after: sort values of the last hit that was read; None to begin at the start.
    :param finished: there are no more hits.
    """

    id: str
    keep_alive: str
    ties: int = 1
    after: list[int] | None = None
    finished: bool = False


def open_point_in_time(index: Index, keep_alive: str) -> Reading:
    """Open a point in time. Its reading begins at the start.

    :param keep_alive: how long it lives after each use, such as ``2m``.
    """
    points = index.dialect.points_in_time
    body = index.send("POST", points.path, keep_alive=keep_alive, **points.parameters)
    # In each shard a hit has a value of the tie-breaker for itself.
    return Reading(body[points.key], keep_alive, body["_shards"]["total"] if points.ties else 1)


def close_point_in_time(reading: Reading, index: Index) -> None:
    """Close a point in time. If it was lost with its node, there is nothing to close; otherwise it expires."""
    points = index.dialect.points_in_time
    with suppress(StoreError):
        index.send("DELETE", f"/{points.path}", {points.key: reading.id})


def read_page(
    query: dict[str, Any], reading: Reading, size: int, options: dict[str, Any], index: Index
) -> tuple[list[dict[str, Any]], Reading]:
    """Return one page of hits, and where the reading goes on.

    :param size: about how many hits.
    :param options: of the search.
    """
    size = max(size, reading.ties + (reading.ties > 1))  # so a page has hits with several values of the tie-breaker
    search = {
        "query": query,
        "sort": [{index.dialect.points_in_time.tie_breaker: "asc"}],
        "pit": {"id": reading.id, "keep_alive": reading.keep_alive},
        "size": size,
        **options,
    }
    if reading.after is not None:
        search["search_after"] = reading.after
    body = index.search(search, "/_search")
    hits: list[dict[str, Any]] = body["hits"]["hits"]
    reading = replace(reading, id=body["pit_id"])
    if len(hits) < size:
        return hits, replace(reading, finished=True)
    after = hits[-1]["sort"]
    if reading.ties > 1:
        # The next page may begin with hits of other shards that have the last value. So they are all read there.
        hits = [hit for hit in hits if hit["sort"] != after]
        after = [after[0] - 1]
    return hits, replace(reading, after=after)
