"""Read all hits of a query page by page, from one point in time.

If a point in time is lost with its node, another one is opened. The documents that were returned are left out there.
"""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from es_simhash.errors import StoreError
from es_simhash.retries import Waits, end_after, limited
from es_simhash.store.elastic.errors import PointLost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from es_simhash.store.elastic.connection import Connection

KEEP_ALIVE = "10m"
"""How long a point in time lives after each page."""
CLOSING_SECONDS = 0.5
"""How long a scan waits for a point in time to be closed. One that stays open expires."""
PAGE = 2_000


def pages(
    connection: Connection, query: Mapping[str, Any], sort: Sequence[Any], options: Mapping[str, Any]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the hits of a query in pages, each once.

    :param sort: before the tie-breaker.
    :param options: of the search.
    """
    body = {"query": query, "sort": [*sort, {connection.point_in_time.tie_breaker: "asc"}], "size": PAGE, **options}
    returned: set[int] = set()
    waits = Waits(end_after(connection.deadline))
    while True:
        try:
            for hits in _pages_of_point(connection, body):
                new = [hit for hit in hits if hash(hit["_id"]) not in returned]
                returned.update(hash(hit["_id"]) for hit in new)
                yield new
                waits = Waits(end_after(connection.deadline))
            return
        except PointLost:
            if not waits.wait():
                raise


def _pages_of_point(connection: Connection, search: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the hits of a search in pages, from a new point in time."""
    kind = connection.point_in_time
    parameters = {"keep_alive": KEEP_ALIVE, **kind.parameters}
    point = connection.send("POST", kind.path, None, parameters, read=itemgetter(kind.key))
    body = dict(search)
    try:
        while True:
            body["pit"] = {"id": point, "keep_alive": KEEP_ALIVE}
            answer = connection.search(body, index=False)
            point = answer.get("pit_id", point)
            hits: list[dict[str, Any]] = answer["hits"]["hits"]
            yield hits
            if len(hits) < body["size"]:
                return
            body["search_after"] = hits[-1]["sort"]
    finally:
        with suppress(StoreError), limited(CLOSING_SECONDS):
            connection.send("DELETE", kind.path, {kind.key: point}, index=False)
