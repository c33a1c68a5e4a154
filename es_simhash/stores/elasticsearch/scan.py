"""Read all documents, page by page, or count them.

The pages come from one point in time. If that is lost with its node, another one is opened. There the hits have another
order, so it is read from the start, without the documents that were returned already.

A part of the documents (``slice``) is a part of their ids, because the server's own slices depend on the point in time,
and each part has another one. Elasticsearch 9 selects the part itself. Releases 7 and 8 refuse to: then every page is
read, and the other parts are left out here.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from es_simhash.contract import Scan, ScanPage
from es_simhash.errors import SimhashError
from es_simhash.stores.elasticsearch.failures import ShardsAway
from es_simhash.stores.elasticsearch.point_in_time import Reading, close_point_in_time, open_point_in_time, read_page
from es_simhash.stores.elasticsearch.rows import hit_rows, row_options, usable_rows

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.index import Index

KEEP_ALIVE = "10m"
"""How long a point in time lives after each page."""
MOST_SLICES = 1024
"""The most slices that a server accepts by default."""


@dataclass(frozen=True)
class _Position:
    """Where a Scan goes on.

    :param reading: of the point in time.
    :param select: select the part of the request here, because the server does not.
    :param returned: hashes of the ids that were returned, in one array for each page: 8 bytes a document.
    :param again: hashes of the ids to leave out, because they were returned before a point in time was lost.
    """

    reading: Reading
    select: bool = False
    returned: tuple[array[int], ...] = ()
    again: frozenset[int] = frozenset()


def scan(index: Index, scan: Scan) -> ScanPage:
    if scan.after is None:
        position = _start(scan, index)
        every, reading = _first_page(scan, position, index)
    else:
        position = scan.after
        try:
            every, reading = _page(scan, position, index)
        except ShardsAway:
            again = position.again.union(*position.returned)
            opened = open_point_in_time(index, KEEP_ALIVE)
            position = replace(position, reading=opened, again=again)
            every, reading = _first_page(scan, position, index)
    hits = [hit for hit in every if _belongs(hit["_id"], scan, position)]
    read_rows = usable_rows if scan.fields is None else hit_rows
    rows = read_rows(hits, index, scan.time_field)
    sources = [] if scan.fields is None else [hit.get("_source", {}) for hit in hits]
    if reading.finished:
        close_point_in_time(reading, index)
        return ScanPage(rows, None, sources)
    returned = (*position.returned, array("q", [hash(hit["_id"]) for hit in hits]))
    return ScanPage(rows, replace(position, reading=reading, returned=returned), sources)


def _start(request: Scan, index: Index) -> _Position:
    position = _Position(open_point_in_time(index, KEEP_ALIVE))
    if request.slice is None:
        return position
    # A server that refuses slices of the ids accepts one that is a whole shard. None of so many slices is.
    options = {"slice": {"field": "_id", "id": 0, "max": MOST_SLICES}, "terminate_after": 1, "_source": False}
    try:
        read_page({"match_all": {}}, position.reading, 1, options, index)
    except SimhashError as error:
        if "cannot slice on [_id]" not in str(error):
            close_point_in_time(position.reading, index)
            raise
        return replace(position, select=True)
    return position


def _belongs(id: str, request: Scan, position: _Position) -> bool:
    """Return whether a hit is one of the documents to return."""
    if position.select and request.slice is not None:
        part, parts = request.slice
        if crc32(id.encode()) % parts != part:
            return False
    return not position.again or hash(id) not in position.again


def _first_page(request: Scan, position: _Position, index: Index) -> tuple[list[dict[str, Any]], Reading]:
    """Return the first page of a point in time. It is closed if there is an error, because no reply has it yet."""
    try:
        return _page(request, position, index)
    except SimhashError:
        close_point_in_time(position.reading, index)
        raise


def _page(request: Scan, position: _Position, index: Index) -> tuple[list[dict[str, Any]], Reading]:
    # To the server an empty list means all fields.
    options = {**row_options(request.time_field), "_source": list(request.fields) if request.fields else False}
    if request.slice is not None and not position.select:
        part, parts = request.slice
        options["slice"] = {"field": "_id", "id": part, "max": parts}
    return read_page(_query(request), position.reading, request.size or index.limits.scan_page, options, index)


def count(index: Index, scan: Scan) -> int:
    count = index.number_of(_query(scan))
    return count if scan.slice is None else count // scan.slice[1]  # slices have about equal sizes


def _query(request: Scan) -> dict[str, Any]:
    query: dict[str, Any] = {"filter": [request.filter] if request.filter else []}
    has_digest = {"exists": {"field": "simhash.digest"}}
    if request.missing:
        query["must_not"] = [has_digest]
    elif request.fields is None:
        query["filter"].append(has_digest)
    return {"bool": query}
