"""The searches that candidates are found by: how many, and with which clauses."""

from __future__ import annotations

from typing import Any

import pytest

from es_simhash.contract import Candidates, Probe
from es_simhash.errors import StoreError
from es_simhash.search.blocks import block_keys
from es_simhash.search.candidates import plain_clause
from es_simhash.search.keys import KeyQuery
from es_simhash.stores.elasticsearch.search import candidates
from tests.stores.elasticsearch.answered import SHARDS, index_with

NOTHING = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}}


def test_a_query_is_not_divided_again_if_each_half_finds_as_many_documents() -> None:
    def page(count: int, total: int) -> dict[str, Any]:
        hit = {"_index": "news", "_seq_no": 1, "_primary_term": 1, "fields": {}}
        hits = [{"_id": f"d{n}", **hit, "sort": [n]} for n in range(count)]
        return {
            "timed_out": False,
            "_shards": SHARDS,
            "pit_id": "pit",
            "hits": {"hits": hits, "total": {"value": total}},
        }

    def several(body: dict[str, Any]) -> dict[str, Any]:
        return {"responses": [body | {"status": 200}]}

    every, half = several(page(1_000, 50_000)), several(page(1_000, 49_000))
    query = Candidates(tuple(Probe(n, None) for n in range(64)), 3, 64, per_fingerprint=1)
    of_half = [half, {"id": "pit"}, page(3, 3), {}]
    index = index_with({"count": 50_000}, every, every, *of_half, *of_half)
    found = candidates(query, index)
    assert [call.path for call in index.client.calls].count("/news/_msearch") == 4
    assert {row.id for row in found.rows} == {"d0", "d1", "d2"}


def test_equal_queries_of_several_probes_take_one_search() -> None:
    query = KeyQuery(("m0", "m1"), 1, (2, 9))
    probes = (Probe(None, None, (query,)), Probe(None, "d", (query,)), Probe(None, None, (KeyQuery(("m2",), 2),)))
    hits = [{"_index": "news", "_id": str(n), "_seq_no": 1, "_primary_term": 1} for n in range(3)]
    found = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": hits, "total": {"value": 9}}}
    index = index_with({"responses": [NOTHING, found]})
    reply = candidates(Candidates(probes, -1, 64, most=2), index)
    [digests, keys] = index.client.calls[0].body[1::2]
    by_digest = {"bool": {"should": [{"terms": {"simhash.digest": ["d"]}}], "minimum_should_match": 1}}
    assert digests["query"] == {"bool": {"filter": [by_digest]}}
    assert keys["size"] == 3
    assert reply.left_out == {0: 7, 1: 7}
    assert [row.id for row in reply.rows] == ["0", "1"]


def test_probes_with_equal_queries_and_other_limits_take_one_search_for_each_limit() -> None:
    queries = (KeyQuery(("m0", "m1"), 1),)
    probes = tuple(Probe(7, "d", queries, most=most) for most in (3, None, 1, 3, 2))
    hits = [{"_index": "news", "_id": str(n), "_seq_no": 1, "_primary_term": 1} for n in range(4)]
    bodies = [
        {"timed_out": False, "_shards": SHARDS, "hits": {"hits": hits[:size], "total": {"value": 9}}}
        for size in (4, 3, 2)
    ]
    index = index_with({"responses": [NOTHING, *bodies]})
    reply = candidates(Candidates(probes, -1, 64, most=2), index)
    [digests, *keys] = index.client.calls[0].body[1::2]
    [of_digests] = digests["query"]["bool"]["filter"]
    assert of_digests["bool"]["should"] == [{"terms": {"simhash.digest": ["d"]}}], "copies are looked up once"
    assert [search["size"] for search in keys] == [4, 3, 2]
    assert reply.left_out == {0: 6, 1: 7, 2: 8, 3: 6, 4: 7}
    assert [row.id for row in reply.rows] == ["0", "1", "2"]


def test_with_block_keys_a_whole_batch_is_one_clause() -> None:
    probes = (Probe(1, None), Probe(2, None))
    index = index_with({"count": 5}, {"responses": [NOTHING]})
    candidates(Candidates(probes, 3, 64, blocks=True), index)
    [_, search] = index.client.calls[1].body
    [clause] = search["query"]["bool"]["filter"][0]["bool"]["should"]
    assert clause == {"terms": {"simhash.blocks": [key for keys in block_keys([1, 2], 64) for key in keys]}}


def test_the_documents_are_counted_for_batches_and_not_for_each_query() -> None:
    index = index_with()
    one, two = (Candidates(probes, 3, 64) for probes in ((Probe(1, None),), (Probe(1, None), Probe(2, None))))
    paths = []
    for query, responses in [(one, []), (two, [{"count": 5}]), (two, []), (one, [])]:
        index.client.calls = []
        index.client.responses = [*responses, {"responses": [NOTHING]}]
        candidates(query, index)
        paths.append([call.path.rpartition("/")[2] for call in index.client.calls])
    assert paths == [["_msearch"], ["_count", "_msearch"], ["_msearch"], ["_msearch"]]
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
        candidates(Candidates(probes, max_distance, 64), index)
    [call] = index.client.calls
    headers, bodies = call.body[::2], call.body[1::2]
    assert len(headers) == len(bodies)
    return len(bodies)
