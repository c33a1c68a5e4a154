"""Read fingerprints alone, or keys alone: those that were written since the last reading.

The server gives each write in a shard the next sequence number. So the documents that were written after a former reply
are those with a higher number in their shard. If the numbers have risen by as many as the program itself has written,
no other program has written. If another one has, search may find a document later than one with a higher number,
because a shard handles several writes at a time. So the last numbers are read once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from es_simhash.contract import FingerprintPage
from es_simhash.fingerprinting.encoding import from_longs
from es_simhash.search.encoding import decoded
from es_simhash.stores.elasticsearch.rows import FINGERPRINT_FIELDS, KEY_FIELDS
from es_simhash.stores.elasticsearch.search import multi_search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from es_simhash.stores.elasticsearch.index import Index
    from es_simhash.stores.elasticsearch.search import Search

PAGE = 10_000
"""Documents in a page."""

IN_FLIGHT = 10_000
"""So many sequence numbers of a shard are read once more: search may not have found all of their documents yet."""

Shard = tuple[str, int]
"""The name of an index, and the number of the shard in it."""


@dataclass(frozen=True)
class _Position:
    """Where the reading goes on.

    :param read: by shard, the last sequence number of the documents that were read or need not be read; -1 for none.
    :param to: by shard, the last sequence number to read. A shard without documents to read is not named.
    :param others: other programs may have been writing at that time.
    """

    read: Mapping[Shard, int]
    to: Mapping[Shard, int]
    others: bool


def read_fingerprints(
    index: Index, after: Any = None, own: int | None = None, most: int | None = None, *, keys: bool = False
) -> FingerprintPage | None:
    if index.routing is not None:
        return None  # its shard holds documents of others, and it is not large
    position: _Position | None = after
    if position is None or not position.to:
        read = {} if position is None else position.read
        found = _last_numbers(read, most, index)
        if found is None:
            return None
        risen = sum(number - read.get(shard, -1) for shard, number in found.items())
        others = 0 if own is None else abs(risen - own)
        alone = position is not None and own == risen
        again = IN_FLIGHT if position is not None and position.others else 0
        if alone and not again:
            return FingerprintPage((), _Position(found, {}, others=False), more=False)
        read = {shard: max(-1, read.get(shard, -1) - again) for shard in found}
        to = {shard: number for shard, number in found.items() if number > read[shard]}
        position = _Position(read, to, others=not alone)
        if others or not to:
            return FingerprintPage((), position, more=bool(to), others=others)
    return _page(position, index, keys=keys)


def _last_numbers(read: Mapping[Shard, int], most: int | None, index: Index) -> dict[Shard, int] | None:
    """Return by shard the highest sequence number of the documents that search finds, -1 for none.

    :param read: where the reading has come to.
    :param most: documents of all shards; with more the reply is None.
    """
    names = index.members.names if index.members.several else (index.index,)
    any_shard = [_search(name, None, {"size": 0, "track_total_hits": most is not None}, index) for name in names]
    bodies = multi_search(any_shard, index)
    if most is not None and sum(body["hits"]["total"]["value"] for body in bodies) > most:
        return None
    shards = [
        (name, number) for name, body in zip(names, bodies, strict=True) for number in range(body["_shards"]["total"])
    ]
    last = {"sort": [{"_seq_no": "desc"}], "size": 1, "track_total_hits": False}
    searches = [
        _search(name, number, {**last, "query": _numbers(above=read.get((name, number), -1))}, index)
        for name, number in shards
    ]
    bodies = multi_search(searches, index)
    found: dict[Shard, int] = {}
    for shard, body in zip(shards, bodies, strict=True):
        hits = body["hits"]["hits"]
        found[shard] = hits[0]["sort"][0] if hits else read.get(shard, -1)
    return found


def _page(position: _Position, index: Index, *, keys: bool) -> FingerprintPage:
    """Return the next page of the first shard that has documents to read."""
    shard, last = next(iter(position.to.items()))
    new = _numbers(above=position.read[shard], to=last)
    fields = KEY_FIELDS if keys else FINGERPRINT_FIELDS
    page = {
        "query": {"bool": {"filter": [new, {"exists": {"field": fields[0]}}]}},
        "sort": [{"_seq_no": "asc"}],
        "size": PAGE,
        "docvalue_fields": fields,
        "track_total_hits": False,
    }
    [body] = multi_search([_search(*shard, page, index)], index)
    hits = body["hits"]["hits"]
    read = {**position.read, shard: hits[-1]["sort"][0] if len(hits) == PAGE else last}
    to = {each: number for each, number in position.to.items() if number > read[each]}
    values = () if keys else list(_fingerprints(hits))
    return FingerprintPage(
        values, _Position(read, to, position.others), more=bool(to), keys=list(_keys(hits)) if keys else ()
    )


def _fingerprints(hits: Iterable[Mapping[str, Any]]) -> Iterable[int]:
    for hit in hits:
        longs = [hit["fields"][field] for field in FINGERPRINT_FIELDS if field in hit["fields"]]
        yield from map(from_longs, zip(*longs, strict=False))  # a damaged document has several values


def _keys(hits: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[int, ...], int]]:
    for hit in hits:
        keys, lengths = (hit["fields"].get(field, []) for field in KEY_FIELDS)
        yield from ((decoded(keys) or (), length) for length in lengths)  # a damaged document has several, or none


def _numbers(*, above: int, to: int | None = None) -> dict[str, Any]:
    """Return the clause for the documents with sequence numbers in a range."""
    return {"range": {"_seq_no": {"gt": above} if to is None else {"gt": above, "lte": to}}}


def _search(name: str, number: int | None, body: dict[str, Any], index: Index) -> Search:
    """Return the header and the body of a search in one shard of an index, or in all."""
    header: dict[str, Any] = {}
    if name != index.index:  # otherwise the path names it; some servers refuse names in headers
        header["index"] = name
    if number is not None:
        header["preference"] = f"_shards:{number}"
    return header, {"_source": False, **body}
