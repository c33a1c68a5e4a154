"""Read all hits of a query page by page, from one point in time.

If a point in time is lost with its node, another one is opened. The documents that were returned are left out there.
"""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.errors import StoreError
from es_simhash.retries import Waits, end_after, limited
from es_simhash.store.elastic.errors import PointLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from es_simhash.store.elastic.connection import Connection

T = TypeVar("T")

KEEP_ALIVE = "10m"
"""How long a point in time lives after each page."""
CLOSING_SECONDS = 0.5
"""How long a scan waits for a point in time to be closed. One that stays open expires."""
PAGE = 2_000


def pages(connection: Connection, search: Mapping[str, Any], read: Callable[[Any], T]) -> Iterator[list[T]]:
    """Yield what is read of the hits of a search in pages, each once.

    :param search: its sort stands before the tie-breaker.
    :param read: reads a hit.
    """
    tie_breaker = {connection.point_in_time.tie_breaker: "asc"}
    body = {"size": PAGE, **search, "sort": [*search.get("sort", ()), tie_breaker]}
    returned: set[int] = set()
    waits = Waits(end_after(connection.deadline))
    while True:
        try:
            for page in _pages_of_point(connection, body, read):
                new = {id: hit for id, hit in page.items() if hash(id) not in returned}
                returned.update(map(hash, new))
                yield list(new.values())
                waits = Waits(end_after(connection.deadline))
            return
        except PointLost:
            if not waits.wait():
                raise


def _pages_of_point(
    connection: Connection, search: Mapping[str, Any], read: Callable[[Any], T]
) -> Iterator[dict[str, T]]:
    """Yield what is read of the hits of a search in pages, by id, from a new point in time."""
    kind = connection.point_in_time

    def read_page(answer: Any) -> tuple[str, dict[str, T], Any]:
        hits = answer["hits"]["hits"]
        last = hits[-1]["sort"] if len(hits) == search["size"] else None
        return answer.get("pit_id", point), {hit["_id"]: read(hit) for hit in hits}, last

    parameters = {"keep_alive": KEEP_ALIVE, **kind.parameters}
    point = connection.send("POST", kind.path, None, parameters, read=itemgetter(kind.key))
    body = dict(search)
    try:
        while True:
            body["pit"] = {"id": point, "keep_alive": KEEP_ALIVE}
            point, page, last = connection.send("POST", "_search", body, index=False, read=read_page)
            yield page
            if last is None:
                return
            body["search_after"] = last
    finally:
        with suppress(StoreError), limited(CLOSING_SECONDS):
            connection.send("DELETE", kind.path, {kind.key: point}, index=False)
