"""The Calls of requests, and the replies that responses become, without a server: the test gives the responses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from es_simhash.drive import run
from es_simhash.stores.elasticsearch.handlers import steps

from es_simhash import Scheme
from es_simhash.bloom.seen import SeenConfig
from es_simhash.contract import Candidates, Link, Probe, Scan, UserState
from es_simhash.errors import (
    FilterMismatch,
    IncompleteAnswer,
    InputError,
    NotSetUp,
    SchemeMismatch,
    SimhashError,
    StoreError,
    StoreUnavailable,
)
from es_simhash.search.blocks import block_keys
from es_simhash.search.candidates import plain_clause
from es_simhash.search.keys import KeyQuery
from es_simhash.stores.elasticsearch.calls import Index
from es_simhash.stores.elasticsearch.client import ELASTICSEARCH
from es_simhash.stores.elasticsearch.failures import ShardsAway
from es_simhash.stores.elasticsearch.mapping import DOCUMENTS, META, SEEN
from tests.contract.documents import entry
from tests.contract.watched import StoreCall

if TYPE_CHECKING:
    from es_simhash.stores.elasticsearch.calls import Call


def new_index() -> Index:
    return Index("news", "http://here/news", ELASTICSEARCH)


def performed(request: StoreCall, *responses: Any, index: Index | None = None) -> tuple[list[Call], Any]:
    """Return the Calls of a request and its reply. A response that is an error is raised.

    :param index: by default one that was not asked before.
    """
    calls: list[Call] = []
    left = iter(responses)

    def answer(call: Call) -> Any:
        calls.append(call)
        response = next(left)
        if isinstance(response, Exception):
            raise response
        return response

    return calls, run(steps(request, index or new_index()), answer)


SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


def test_a_scan_with_no_fields_returns_every_document_without_fields() -> None:
    hit = {"_index": "news", "_id": "a", "_seq_no": 1, "_primary_term": 1, "sort": [0]}
    page = {"timed_out": False, "_shards": SHARDS, "pit_id": "pit", "hits": {"hits": [hit]}}
    calls, reply = performed(Scan(fields=()), {"id": "pit"}, page, {})
    assert [(call.method, call.path) for call in calls] == [
        ("POST", "/news/_pit"),
        ("POST", "/_search"),
        ("DELETE", "/_pit"),
    ]
    assert calls[1].body["_source"] is False, "to a server an empty list means all fields"
    assert calls[1].body["query"] == {"bool": {"filter": []}}
    assert [(row.id, row.digest) for row in reply.rows] == [("a", "")]


@pytest.mark.parametrize("error", [ShardsAway("a node ended"), StoreError("refused"), InputError("bad filter")])
@pytest.mark.parametrize("request_of", [Scan(fields=()), Scan(fields=(), slice=(0, 2)), "the page after a reopening"])
def test_a_point_in_time_that_no_reply_has_is_closed_after_an_error(
    request_of: Scan | str, error: SimhashError
) -> None:
    calls: list[Call] = []
    given: list[Any] = [{"id": "pit"}, error, {}]
    request = request_of if request_of.method == "scan" else Scan(fields=())
    if request_of == "the page after a reopening":
        hits = [{"_index": "news", "_id": id, "_seq_no": 1, "_primary_term": 1, "sort": [0]} for id in "ab"]
        page = {"timed_out": False, "_shards": SHARDS, "pit_id": "old", "hits": {"hits": hits}}
        request = replace(request, size=2)
        _, first = performed(request, {"id": "old"}, page)
        request = request.following(first) or request
        given = [ShardsAway("a node ended"), *given]
    left = iter(given)

    def answer(call: Call) -> Any:
        calls.append(call)
        if isinstance(response := next(left), Exception):
            raise response
        return response

    with pytest.raises(type(error)):
        run(steps(request, new_index()), answer)
    assert (calls[-1].method, calls[-1].path, calls[-1].body) == ("DELETE", "/_pit", {"id": "pit"})


def item(kind: str, id: str, status: int, error: str | None = None) -> dict[str, Any]:
    """Return the result of one document of a bulk request, as a server sends it."""
    result: dict[str, Any] = {"_id": id, "status": status}
    return {kind: result | ({"error": {"type": error, "reason": "…"}} if error else {"result": "done"})}


RETRYABLE = [
    (429, "es_rejected_execution_exception"),
    (503, "unavailable_shards_exception"),
    (500, "node_closed_exception"),
]


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_document_with_a_retryable_error_is_busy_and_not_refused(status: int, error: str) -> None:
    items = [
        item("index", "a", 201),
        item("index", "b", status, error),
        item("index", "c", 400, "mapper_parsing_exception"),
    ]
    _, written = performed(Write(tuple(entry(id, 1) for id in "abc"), 64), {"items": items})
    assert written.busy == {"b"}
    assert written.refused.keys() == {"c"}
    assert not written.conflicts


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_user_with_a_retryable_error_is_a_conflict_and_not_refused(status: int, error: str) -> None:
    states = {user: UserState(newest=1) for user in ("ann", "bob")}
    items = [item("create", "ann", status, error), item("create", "bob", 400, "mapper_parsing_exception")]
    _, changed = performed(ChangeUsers(states), {"items": items})
    assert changed.conflicts == {"ann"}
    assert changed.refused.keys() == {"bob"}


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_links_and_removals_with_a_retryable_error_raise_a_retryable_error(status: int, error: str) -> None:
    with pytest.raises(StoreUnavailable):
        performed(Relink({"a": Link("a", None, (1, 1))}), {"items": [item("update", "a", status, error)]})
    with pytest.raises(StoreUnavailable):
        performed(Remove(("a",)), {"items": [item("delete", "a", status, error)]})
    user = {"_id": "ann", "found": True, "_seq_no": 1, "_primary_term": 1, "_source": {"seen": {"newest": 1}}}
    with pytest.raises(StoreUnavailable):
        performed(RemoveUsers(("ann",)), user, {"items": [item("delete", "ann", status, error)]})


@pytest.mark.parametrize(("status", "error"), RETRYABLE)
def test_a_row_with_a_retryable_error_is_busy_and_neither_refused_nor_a_conflict(status: int, error: str) -> None:
    rows = tuple(replace(entry(id, 1).row, version=(1, 1)) for id in "ab")
    items = [item("update", "a", 200), item("update", "b", status, error)]
    _, written = performed(Annotate(rows, 64), {"items": items})
    assert written.busy == {"b"}
    assert not written.refused
    assert not written.conflicts


def test_a_row_that_is_stored_already_is_no_conflict() -> None:
    """The response to the first request got lost, and the request was sent again."""
    row = replace(entry("a", 1).row, version=(1, 1), keys=("sb", "sc", "sa"), length=9)
    calls, _ = performed(Annotate((row,), 64), {"items": [item("update", "a", 200)]})
    simhash = calls[0].body[1]["doc"]["simhash"]
    simhash = {**simhash, "keys": sorted(simhash["keys"])}  # as a synthetic _source returns them
    stored = {"_id": "a", "found": True, "_seq_no": 2, "_primary_term": 1, "_source": {"simhash": simhash}}
    conflict = {"items": [item("update", "a", 409, "version_conflict_engine_exception")]}
    assert not performed(Annotate((row,), 64), conflict, stored)[1].conflicts
    changed = {**stored, "_source": {"simhash": {**simhash, "group": "other"}}}
    assert performed(Annotate((row,), 64), conflict, changed)[1].conflicts == {"a"}


def test_a_refresh_with_a_failed_shard_is_an_error() -> None:
    assert performed(Refresh(), {"_shards": SHARDS})[1] is None
    failures = [{"shard": 0, "reason": {"type": "engine_closed_exception", "reason": "closed"}}]
    failed = {"_shards": {"total": 2, "successful": 1, "failed": 1, "failures": failures}}
    with pytest.raises(IncompleteAnswer, match="1 of 2 shards failed: engine_closed_exception: closed") as caught:
        performed(Refresh(), failed)
    assert caught.value.retryable


# --- set-up --------------------------------------------------------------------------------------------------------

OURS, THEIRS = Scheme(), Scheme(weights="tf")
USABLE: list[Any] = [
    {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}},  # no document has custom routing
    {"news": {"settings": {}}},
]
"""The responses to the questions whether an index can be used, before fields are added to it."""


def index_with(mapping: dict[str, Any]) -> dict[str, Any]:
    return {"news": {"mappings": mapping}}


def test_of_two_programs_that_make_an_index_at_the_same_moment_the_second_changes_nothing() -> None:
    exists = StoreError("resource_already_exists_exception: index [news] already exists")
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        performed(SetUp(OURS), NotSetUp("no such index"), exists, index_with(DOCUMENTS.mapping(THEIRS)))
    same = index_with(DOCUMENTS.mapping(OURS))
    assert performed(SetUp(OURS), NotSetUp("no such index"), exists, same)[1] == "unchanged"


def test_of_two_programs_that_add_to_an_index_at_the_same_moment_the_first_gets_the_error() -> None:
    calls, reply = performed(SetUp(OURS), index_with({}), *USABLE, {}, index_with(DOCUMENTS.mapping(OURS)))
    assert [(call.method, call.path) for call in calls] == [
        ("GET", "/news/_mapping"),
        ("POST", "/news/_search"),
        ("GET", "/news/_settings/index.mapping.source.mode"),
        ("PUT", "/news/_mapping"),
        ("GET", "/news/_mapping"),
    ]
    assert reply == "added"
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        performed(SetUp(OURS), index_with({}), *USABLE, {}, index_with(DOCUMENTS.mapping(THEIRS)))
    ours, theirs = SeenConfig(), SeenConfig(capacity=5)
    with pytest.raises(FilterMismatch, match="'capacity': 5"):
        performed(SetUpSeen(ours), index_with({}), *USABLE, {}, index_with(SEEN.mapping(theirs)))


def test_the_check_of_routing_is_repeated_and_not_left_out_if_the_server_is_busy() -> None:
    with pytest.raises(StoreUnavailable):
        performed(SetUp(OURS), index_with({}), StoreUnavailable("busy"))
    with pytest.raises(IncompleteAnswer):
        performed(SetUp(OURS), index_with({}), {"timed_out": True, "_shards": SHARDS, "hits": {"hits": []}})


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
    request = Candidates(tuple(Probe(n, None) for n in range(64)), 3, 64, per_fingerprint=1)
    of_half = [half, {"id": "pit"}, page(3, 3), {}]
    calls, found = performed(request, {"count": 50_000}, every, every, *of_half, *of_half)
    assert [call.path for call in calls].count("/news/_msearch") == 4
    assert {row.id for row in found.rows} == {"d0", "d1", "d2"}


def test_keys_are_in_the_mapping_from_its_first_version_and_not_added_to_one_that_was_set_up() -> None:
    keys = {"kinds": ["shingles"], "complete": True}
    request = SetUp(OURS, ("shingles",))
    calls, _ = performed(request, NotSetUp("no such index"), {})
    assert calls[1].body["mappings"]["_meta"][META]["keys"] == keys
    calls, _ = performed(request, index_with({}), *USABLE, {}, index_with(DOCUMENTS.mapping(OURS)))
    assert calls[3].body["_meta"][META]["keys"] == keys
    incomplete = DOCUMENTS.mapping(OURS)
    del incomplete["properties"]["simhash"]["properties"]["s0"]
    calls, _ = performed(request, index_with(incomplete), *USABLE, {}, index_with(DOCUMENTS.mapping(OURS)))
    assert "keys" not in calls[3].body["_meta"][META]


def test_the_set_up_of_keys_keeps_everything_else_in_the_mapping() -> None:
    mapping = DOCUMENTS.mapping(OURS)
    mapping["_meta"] = {"owner": "news", META: {**mapping["_meta"][META], "seen": SeenConfig().to_dict()}}
    keys = {"kinds": ["shingles"], "complete": True}
    after = {**mapping, "_meta": {"owner": "news", META: {**mapping["_meta"][META], "keys": keys}}}
    empty = {"_shards": SHARDS, "count": 0}
    calls, reply = performed(
        SetUpKeys(("shingles",)), index_with(mapping), {"_shards": SHARDS}, empty, {}, index_with(after)
    )
    assert reply == "added"
    [put] = [call for call in calls if call.method == "PUT"]
    assert (put.path, put.body) == ("/news/_mapping", {"_meta": after["_meta"]})


def test_keys_that_another_program_replaced_are_set_up_again() -> None:
    mapping = DOCUMENTS.mapping(OURS)

    def with_keys(*kinds: str) -> dict[str, Any]:
        keys = {"kinds": list(kinds), "complete": False}
        return index_with({**mapping, "_meta": {META: {**mapping["_meta"][META], "keys": keys}}})

    counted = [{"_shards": SHARDS}, {"_shards": SHARDS, "count": 5}]
    responses = [index_with(mapping), *counted, {}, with_keys("theirs"), *counted, {}, with_keys("ours", "theirs")]
    calls, reply = performed(SetUpKeys(("ours",)), *responses)
    assert reply == "added"
    first, second = (call.body["_meta"][META]["keys"] for call in calls if call.method == "PUT")
    assert first == {"kinds": ["ours"], "complete": False}
    assert second == {"kinds": ["ours", "theirs"], "complete": False}


def test_equal_queries_of_several_probes_take_one_search() -> None:
    query = KeyQuery(("m0", "m1"), 1, (2, 9))
    probes = (Probe(None, None, (query,)), Probe(None, "d", (query,)), Probe(None, None, (KeyQuery(("m2",), 2),)))
    hits = [{"_index": "news", "_id": str(n), "_seq_no": 1, "_primary_term": 1} for n in range(3)]
    found = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": hits, "total": {"value": 9}}}
    nothing = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}}
    calls, reply = performed(Candidates(probes, -1, 64, most=2), {"responses": [nothing, found]})
    [digests, keys] = calls[0].body[1::2]
    by_digest = {"bool": {"should": [{"terms": {"simhash.digest": ["d"]}}], "minimum_should_match": 1}}
    assert digests["query"] == {"bool": {"filter": [by_digest]}}
    assert keys["size"] == 3
    assert reply.left_out == {0: 7, 1: 7}
    assert [row.id for row in reply.rows] == ["0", "1"]


NOTHING = {"timed_out": False, "_shards": SHARDS, "hits": {"hits": []}}


def test_with_block_keys_a_whole_batch_is_one_clause() -> None:
    probes = (Probe(1, None), Probe(2, None))
    calls, _ = performed(Candidates(probes, 3, 64, blocks=True), {"count": 5}, {"responses": [NOTHING]})
    [_, search] = calls[1].body
    [clause] = search["query"]["bool"]["filter"][0]["bool"]["should"]
    assert clause == {"terms": {"simhash.blocks": [key for keys in block_keys([1, 2], 64) for key in keys]}}


def test_the_documents_are_counted_for_batches_and_not_for_each_request() -> None:
    index = new_index()
    one, two = (Candidates(probes, 3, 64) for probes in ((Probe(1, None),), (Probe(1, None), Probe(2, None))))
    paths = []
    for request, responses in [(one, []), (two, [{"count": 5}]), (two, []), (one, [])]:
        calls, _ = performed(request, *responses, {"responses": [NOTHING]}, index=index)
        paths.append([call.path.rpartition("/")[2] for call in calls])
    assert paths == [["_msearch"], ["_count", "_msearch"], ["_msearch"], ["_msearch"]]
    [_, search] = calls[0].body
    [clause] = search["query"]["bool"]["filter"][0]["bool"]["should"]
    assert clause == plain_clause(1), "the index is small"


def test_a_mapping_with_another_scheme_and_missing_fields_is_not_changed() -> None:
    incomplete = DOCUMENTS.mapping(THEIRS)
    del incomplete["properties"]["simhash"]["properties"]["s0"]
    with pytest.raises(SchemeMismatch, match=THEIRS.version):
        performed(SetUp(OURS), index_with(incomplete))
