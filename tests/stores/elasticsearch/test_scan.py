"""The Calls of a scan, and when it closes its point in time."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents
from es_simhash.contract import Scan
from es_simhash.errors import InputError, SimhashError, StoreError
from es_simhash.retries import Patience
from es_simhash.stores.address import open_store
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


@pytest.mark.elasticsearch
@pytest.mark.parametrize("losses", [1, 3])
def test_a_scan_goes_on_exactly_after_its_point_in_time_was_lost(
    elasticsearch_url: str, index_name: str, losses: int
) -> None:
    address = f"{elasticsearch_url}/{index_name}"
    ids = [str(number) for number in range(40)]
    with Documents(address) as documents:
        documents.setup(keys=False)
        list(documents.ingest({"id": id, "text": f"新闻第{id}条"} for id in ids))
    with closing(open_store(address, patience=Patience())) as store, Elasticsearch(elasticsearch_url) as client:
        client.indices.put_settings(index=index_name, settings={"refresh_interval": "-1"})
        scan: Scan | None = Scan(size=4)
        found: list[str] = []
        for page_number in range(10_000):
            page = store.scan(scan)
            found += [row.id for row in page.rows]
            if (scan := scan.following(page)) is None:
                break
            if page_number % 3 == 1 and losses:
                losses -= 1
                client.close_point_in_time(id=page.after.reading.id)
                # The order of the next point in time is another one.
                client.update(index=index_name, id=found[0], doc={"more": losses}, refresh=True)
        assert not losses
        assert sorted(found) == sorted(ids)
