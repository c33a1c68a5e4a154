"""The Calls of a scan, and when it closes its point in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from es_simhash.contract import Scan
from es_simhash.errors import InputError, SimhashError, StoreError
from es_simhash.stores.elasticsearch.failures import ShardsAway
from es_simhash.stores.elasticsearch.scan import scan
from tests.stores.elasticsearch.answered import SHARDS, index_with


def test_a_scan_with_no_fields_returns_every_document_without_fields() -> None:
    hit = {"_index": "news", "_id": "a", "_seq_no": 1, "_primary_term": 1, "sort": [0]}
    page = {"timed_out": False, "_shards": SHARDS, "pit_id": "pit", "hits": {"hits": [hit]}}
    index = index_with({"id": "pit"}, page, {})
    reply = scan(index, Scan(fields=()))
    calls = index.client.calls
    assert [(call.method, call.path) for call in calls] == [
        ("POST", "/news/_pit"),
        ("POST", "/_search"),
        ("DELETE", "/_pit"),
    ]
    assert calls[1].body["_source"] is False, "to a server an empty list means all fields"
    assert calls[1].body["query"] == {"bool": {"filter": []}}
    assert [(row.id, row.digest) for row in reply.rows] == [("a", "")]


@pytest.mark.parametrize("error", [ShardsAway("a node ended"), StoreError("refused"), InputError("bad filter")])
@pytest.mark.parametrize("asked", [Scan(fields=()), Scan(fields=(), slice=(0, 2)), "the page after a reopening"])
def test_a_point_in_time_that_no_page_has_is_closed_after_an_error(asked: Scan | str, error: SimhashError) -> None:
    index = index_with({"id": "pit"}, error, {})
    if isinstance(asked, str):
        hits = [{"_index": "news", "_id": id, "_seq_no": 1, "_primary_term": 1, "sort": [0]} for id in "ab"]
        page = {"timed_out": False, "_shards": SHARDS, "pit_id": "old", "hits": {"hits": hits}}
        first = Scan(fields=(), size=2)
        reply = scan(index_with({"id": "old"}, page), first)
        assert reply.after is not None
        asked = replace(first, after=reply.after)
        index = index_with(ShardsAway("a node ended"), {"id": "pit"}, error, {})
    with pytest.raises(type(error)):
        scan(index, asked)
    last = index.client.calls[-1]
    assert (last.method, last.path, last.body) == ("DELETE", "/_pit", {"id": "pit"})
