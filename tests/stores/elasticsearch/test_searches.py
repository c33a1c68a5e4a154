"""The searches that candidates are found by: how many, and with which clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.search.candidates import plain_clause
from es_simhash.search.encoding import encoded
from es_simhash.search.keys import KeyQuery
from es_simhash.stores.elasticsearch.keys import clauses_of, sharing_clause
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
    index.crowded_keys.set(True)
    with pytest.raises(StoreError):
        candidates(index, Candidates(query, -1, 64))
    assert sum(body["size"] for body in index.client.calls[0].body[1::2]) <= 20_000


def key_hit(id: str, *names: str) -> dict[str, Any]:
    fields = {
        "simhash.fp": [1],
        "simhash.digest": [id],
        "simhash.group": [id],
        "simhash.written": [1],
        "simhash.keys": encoded(keys(*names)),
        "simhash.length": [9],
    }
    return {"_index": "news", "_id": id, "_seq_no": 1, "_primary_term": 1, "fields": fields}


def hits_of(*hits: dict[str, Any], total: int = 0) -> dict[str, Any]:
    return {"timed_out": False, "_shards": SHARDS, "hits": {"hits": list(hits), "total": {"value": total}}}


def test_the_keys_of_several_texts_take_one_search_and_a_text_with_too_many_documents_one_more() -> None:
    few, many = KeyQuery(keys("m0", "m1"), 1), KeyQuery(keys("m2", "m3"), 1)
    queries = [(few,), (many,), (KeyQuery(keys("m4"), 1, numbers=keys("m5")),), (KeyQuery(keys("m6"), 1, (5, 9)),)]
    probes = tuple(Probe(None, None, some, most=2) for some in queries)
    together = hits_of(key_hit("a", "m0"), *(key_hit(id, "m2") for id in "bcd"), key_hit("e", "m4", "m5"))
    alone = hits_of(key_hit("d", "m2"), key_hit("c", "m2"), key_hit("b", "m2"), total=3)
    index = index_with({"responses": [together]}, {"responses": [alone]})
    reply = candidates(index, Candidates(probes, -1, 64))
    [first], [second] = (call.body[1::2] for call in index.client.calls)
    plain, with_numbers, with_lengths = first["query"]["bool"]["filter"][0]["bool"]["should"]
    assert plain == {"terms": {"simhash.keys": encoded([*few.keys, *many.keys])}}
    terms = [{"terms": {"simhash.keys": encoded(keys(name))}} for name in ("m4", "m5")]
    assert with_numbers == {"bool": {"filter": terms}}
    assert with_lengths["bool"]["filter"] == [{"range": {"simhash.length": {"gte": 5, "lte": 9}}}]
    assert second["query"]["bool"]["must"] == [sharing_clause((many,))]
    assert [row.id for row in reply.rows] == ["a", "e", "d", "c"]
    assert reply.left_out == {1: 1}


def test_if_several_texts_have_too_many_documents_each_is_searched_alone_and_so_are_the_next_ones() -> None:
    probes = tuple(Probe(None, None, (KeyQuery(keys(name), 1),), most=1) for name in ("m0", "m1"))
    full = hits_of(*(key_hit(str(n), "m0") for n in range(120)))
    alone = [hits_of(key_hit("0", "m0")), hits_of()]
    index = index_with({"responses": [full]}, {"responses": alone}, {"responses": alone})
    for _ in range(2):
        assert [row.id for row in candidates(index, Candidates(probes, -1, 64)).rows] == ["0"]
    assert [[search["size"] for search in call.body[1::2]] for call in index.client.calls] == [[120], [2, 2], [2, 2]]


def test_a_query_has_no_more_clauses_than_a_server_allows() -> None:
    query = KeyQuery(keys(*(f"m{n}" for n in range(97))), 5, (40, 60))
    searches = [replace(query, minimum=minimum) for minimum in range(2, 27)]
    assert clauses_of(searches[:1]) == 100
    index = index_with({"responses": [hits_of()] * 5})
    candidates(index, Candidates(tuple(Probe(None, None, (each,)) for each in searches), -1, 64))
    bodies = index.client.calls[0].body[1::2]
    assert [len(body["query"]["bool"]["filter"][0]["bool"]["should"]) for body in bodies] == [5, 5, 5, 5, 5]


def test_beside_a_filter_with_many_clauses_each_text_is_searched_alone() -> None:
    probes = tuple(Probe(None, None, (KeyQuery(keys(name), 1, numbers=keys("n")),)) for name in ("m0", "m1"))
    for clauses, sizes in [(100, [120]), (600, [21, 21])]:
        filter = {"bool": {"should": [{"term": {"lang": f"l{n}"}} for n in range(clauses)]}}
        index = index_with({"responses": [hits_of()] * len(sizes)})
        candidates(index, Candidates(probes, -1, 64, filter))
        assert [search["size"] for search in index.client.calls[0].body[1::2]] == sizes


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
    index.crowded_keys.set(True)
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
