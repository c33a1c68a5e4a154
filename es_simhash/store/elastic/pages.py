"""Read all hits of a query page by page, from one point in time.

If a point in time is lost with its node, another one is opened, and the search goes on there.
"""

from __future__ import annotations

from array import array
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

    After a loss it goes on behind the sort values of the last hit. Elasticsearch numbers documents anew in each point
    in time: those with equal values are remembered, by eight bytes each; without a sort these are all.

    :param search: its sort stands before the tie-breaker.
    :param read: reads a hit.
    """
    kind = connection.point_in_time
    body = {"size": PAGE, **search, "sort": [*search.get("sort", ()), {kind.tie_breaker: "asc"}]}
    after: list[Any] | None = None
    tied = array("q")  # hashes of the ids of hits whose sort values are those of the last hit, but for the tie-breaker
    waits = Waits(end_after(connection.deadline))
    while True:
        returned = set(tied)
        try:
            for page in _pages_of_point(connection, body, after, read):
                new = [hit for hit in page if hash(hit[0]) not in returned]
                for id, sort, _ in new:
                    if after is None or sort[:-1] != after[:-1]:
                        tied = array("q")
                    if kind.first is not None:
                        tied.append(hash(id))
                    after = sort
                yield [value for *_, value in new]
                waits = Waits(end_after(connection.deadline))
            return
        except PointLost:
            if not waits.wait():
                raise
            if after is not None and kind.first is not None:
                after = [*after[:-1], kind.first]


def _pages_of_point(
    connection: Connection, search: Mapping[str, Any], after: list[Any] | None, read: Callable[[Any], T]
) -> Iterator[list[tuple[str, list[Any], T]]]:
    """Yield the hits of a search in pages, from a new point in time: the id, the sort values, and what is read of each.

    :param after: sort values behind which to begin; None for the first hit.
    """
    kind = connection.point_in_time

    def read_page(answer: Any) -> tuple[str, list[tuple[str, list[Any], T]]]:
        hits = answer["hits"]["hits"]
        return answer.get("pit_id", point), [(hit["_id"], list(hit["sort"]), read(hit)) for hit in hits]

    parameters = {"keep_alive": KEEP_ALIVE, **kind.parameters}
    point = connection.send("POST", kind.path, None, parameters, read=itemgetter(kind.key))
    try:
        while True:
            place = {} if after is None else {"search_after": after}
            body = {**search, **place, "pit": {"id": point, "keep_alive": KEEP_ALIVE}}
            point, page = connection.send("POST", "_search", body, index=False, read=read_page)
            yield page
            if len(page) < search["size"]:
                return
            _, after, _ = page[-1]
    finally:
        if not connection.closed:  # else the server ends it after KEEP_ALIVE
            with suppress(StoreError), limited(CLOSING_SECONDS):
                connection.send("DELETE", kind.path, {kind.key: point}, index=False)
