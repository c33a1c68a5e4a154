"""The searches that candidates are found by: how many, and with which clauses."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.search.candidates import plain_clause
from es_simhash.search.keys import KeyQuery
from es_simhash.stores.elasticsearch.search import candidates
from tests.contract.documents import keys
from tests.stores.elasticsearch.answered import SHARDS, index_with

NOTHING = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}}


def test_very_many_hits_are_counted_by_fingerprint_and_only_the_nearest_documents_are_read() -> None:
    def hit(id: str, value: int) -> dict[str, Any]:
        fields = {"simhash.fp": [value], "simhash.digest": [id], "simhash.group": [id], "simhash.written": [1]}
        return {"_index": "news", "_id": id, "_seq_no": 1, "_primary_term": 1, "fields": fields}

    def found(hits: list[dict[str, Any]]) -> dict[str, Any]:
        return {"timed_out": False, "_shards": SHARDS, "status": 200, "hits": {"hits": hits}}

    def bucket(value: int, count: int, first: int) -> dict[str, Any]:
        return {"key": {"simhash.fp": value}, "doc_count": count, "first": {"value": float(first)}}

    buckets = [bucket(0b1, 5, 20), bucket(0b10, 7, 10), bucket(0b111, 9, 1), bucket(0b11111, 90, 1)]
    counted = found([]) | {"aggregations": {"kinds": {"buckets": buckets}}}
    full = found([hit(f"d{n}", 0b11111) for n in range(1_000)])
    index = index_with({"responses": [full]}, {"responses": [counted]}, {"responses": [found([hit("first", 0b10)])]})
    index.count.set(10_000_000)
    query = Candidates((Probe(0, None),), 3, 64, one_per_digest=True, per_fingerprint=1, nearest=1)
    reply = candidates(index, query)
    assert [row.id for row in reply.rows] == ["first"], "of the two at one bit the first written"
    assert reply.left_out == {0: 5 + 9}
    [_, search] = index.client.calls[2].body
    assert search["query"]["bool"]["filter"][0] == {"terms": {"simhash.fp": [0b10]}}


def test_after_a_search_with_very_many_hits_the_next_one_does_not_read_a_page_of_them() -> None:
    fields = {"simhash.fp": [0b11111], "simhash.digest": ["d"], "simhash.group": ["d"], "simhash.written": [1]}
    hit = {"_index": "news", "_id": "d", "_seq_no": 1, "_primary_term": 1, "fields": fields}
    full = {"timed_out": False, "_shards": SHARDS, "status": 200, "hits": {"hits": [hit] * 1_000}}
    nothing = {"timed_out": False, "_shards": SHARDS, "status": 200, "hits": {"hits": []}}
    counted = nothing | {"aggregations": {"kinds": {"buckets": []}}}
    index = index_with({"responses": [full]}, {"responses": [counted]}, {"responses": [counted]})
    index.count.set(10_000_000)
    for _ in range(2):
        assert candidates(index, Candidates((Probe(0, None),), 3, 64, per_fingerprint=1_000, nearest=1_000)).rows == []
    assert [bool(call.body[1].get("aggs")) for call in index.client.calls] == [False, True, True]


def test_a_multi_search_asks_for_a_limited_number_of_hits() -> None:
    index = index_with(StoreError("the searches are what this test needs"))
    index.count.set(10_000_000)
    with pytest.raises(StoreError):
        candidates(index, Candidates(tuple(Probe(value, None) for value in range(100)), 7, 64))
    bodies = index.client.calls[0].body[1::2]
    assert len(bodies) == 100
    assert sum(body["size"] for body in bodies) <= 20_000
    query = tuple(Probe(None, None, (KeyQuery(keys(f"m{n}"), 1),), most=1_000) for n in range(100))
    index = index_with(StoreError("the searches are what this test needs"))
    with pytest.raises(StoreError):
        candidates(index, Candidates(query, -1, 64))
    assert sum(body["size"] for body in index.client.calls[0].body[1::2]) <= 20_000


def test_equal_queries_of_several_probes_take_one_search() -> None:
    query = KeyQuery(keys("m0", "m1"), 1, (2, 9))
    probes = (Probe(None, None, (query,)), Probe(None, "d", (query,)), Probe(None, None, (KeyQuery(keys("m2"), 2),)))
    hits = [{"_index": "news", "_id": str(n), "_seq_no": 1, "_primary_term": 1} for n in range(3)]
    found = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": hits, "total": {"value": 9}}}
    index = index_with({"responses": [NOTHING, found]})
    reply = candidates(index, Candidates(probes, -1, 64, most=2))
    [digests, by_keys] = index.client.calls[0].body[1::2]
    by_digest = {"bool": {"should": [{"terms": {"simhash.digest": ["d"]}}], "minimum_should_match": 1}}
    assert digests["query"] == {"bool": {"filter": [by_digest]}}
    assert by_keys["size"] == 3
    assert reply.left_out == {0: 7, 1: 7}
    assert [row.id for row in reply.rows] == ["0", "1"]


def test_probes_with_equal_queries_and_other_limits_take_one_search_for_each_limit() -> None:
    queries = (KeyQuery(keys("m0", "m1"), 1),)
    probes = tuple(Probe(7, "d", queries, most=most) for most in (3, None, 1, 3, 2))
    hits = [{"_index": "news", "_id": str(n), "_seq_no": 1, "_primary_term": 1} for n in range(4)]
    bodies = [
        {"timed_out": False, "_shards": SHARDS, "hits": {"hits": hits[:size], "total": {"value": 9}}}
        for size in (4, 3, 2)
    ]
    index = index_with({"responses": [NOTHING, *bodies]})
    reply = candidates(index, Candidates(probes, -1, 64, most=2))
    [digests, *by_keys] = index.client.calls[0].body[1::2]
    [of_digests] = digests["query"]["bool"]["filter"]
    assert of_digests["bool"]["should"] == [{"terms": {"simhash.digest": ["d"]}}], "copies are looked up once"
    assert [search["size"] for search in by_keys] == [4, 3, 2]
    assert reply.left_out == {0: 6, 1: 7, 2: 8, 3: 6, 4: 7}
    assert [row.id for row in reply.rows] == ["0", "1", "2"]


def test_the_documents_are_counted_once_and_not_for_each_query() -> None:
    index = index_with()
    one, two = (Candidates(probes, 3, 64) for probes in ((Probe(1, None),), (Probe(1, None), Probe(2, None))))
    paths = []
    for query, responses in [(one, [{"count": 5}]), (two, []), (two, []), (one, [])]:
        index.client.calls = []
        index.client.responses = [*responses, {"responses": [NOTHING]}]
        candidates(index, query)
        paths.append([call.path.rpartition("/")[2] for call in index.client.calls])
    assert paths == [["_count", "_msearch"], ["_msearch"], ["_msearch"], ["_msearch"]]
    [_, search] = index.client.calls[0].body
    [clause] = search["query"]["bool"]["filter"][0]["bool"]["should"]
    assert clause == plain_clause(1), "the index is small"


def test_copies_are_looked_up_by_one_search() -> None:
    probes = tuple(Probe(value, "digest") for value in (7, 7, 9, 7))
    assert searches(probes, 7, documents=10) == 1
    assert searches(probes, 7, documents=10_000_000) == 2
    assert searches(probes, -1, documents=10_000_000) == 1


def test_the_more_documents_there_are_the_fewer_fingerprints_are_looked_up_together() -> None:
    probes = tuple(Probe(value, None) for value in range(100))
    assert [searches(probes, 3, documents=10**n) for n in (3, 5, 6, 7, 8)] == [1, 1, 3, 9, 25]
    assert [searches(probes, 7, documents=10**n) for n in (3, 5, 6, 7)] == [3, 9, 25, 100]


def searches(probes: tuple[Probe, ...], max_distance: int, documents: int) -> int:
    """Return how many searches look these Probes up in an index with this number of documents."""
    index = index_with(StoreError("the searches are what this test needs"))
    index.count.set(documents)
    with pytest.raises(StoreError):
        candidates(index, Candidates(probes, max_distance, 64))
    [call] = index.client.calls
    headers, bodies = call.body[::2], call.body[1::2]
    assert len(headers) == len(bodies)
    return len(bodies)
