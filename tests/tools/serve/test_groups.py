"""Groups over HTTP: a search that shows one document of each, on real servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from starlette.testclient import TestClient

from es_simhash import AsyncDocuments, Documents
from es_simhash.tools.serve.gate import Limits
from es_simhash.tools.serve.operations import Scope, Service
from tests.cli import HARVEST, STORM
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses
from tests.es_node.proxy import Answer, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.es_node.proxy import Request

ALL = {"match_all": {}}
BY_DATE = [{"date": "asc"}]
LETTERS = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥金木水火土"
TEXTS = [f"{letter}市今天发布{letter}字第{n}号通告，{letter * 9}，请市民注意。" for n, letter in enumerate(LETTERS)]


@pytest.fixture(params=[ELASTICSEARCH, OPENSEARCH])
def documents(request: pytest.FixtureRequest) -> Iterator[Documents]:
    """Eighteen groups: those of the first six texts have a copy of each, the others have one document."""
    with Documents(new_addresses(request, request.param)()) as documents:
        documents.setup()
        originals = [{"id": f"o{n}", "text": text, "date": n, "t": "acme"} for n, text in enumerate(TEXTS[:18])]
        copies = [{"id": f"c{n}", "text": TEXTS[n], "date": 100 + n, "t": "acme"} for n in range(6)]
        assert [one.duplicate_of for one in documents.ingest([*originals, *copies])][18:] == [f"o{n}" for n in range(6)]
        yield documents


def application(documents: Documents, filter: Any = None, clients: bool = True) -> TestClient:
    """A client of a server of its own."""
    service = Service(AsyncDocuments(documents.store), None, Scope(filter, clients))
    return TestClient(service.application(Limits()), "http://localhost")


def client(documents: Documents, filter: Any = None, clients: bool = True) -> Callable[..., Any]:
    """What sends a search, and returns its answer, or the detail of the error."""
    app = application(documents, filter, clients)
    description = app.get("/openapi.json").json()
    answer = description["paths"]["/group_search"]["post"]["responses"]["200"]
    schema = answer["content"]["application/json"]["schema"]

    def search(**body: Any) -> Any:
        reply = app.post("/group_search", content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert reply.status_code in (200, 422), reply.text
        if reply.status_code == 422:
            return reply.json()["detail"]
        jsonschema.validate(reply.json(), {**schema, "components": description["components"]})
        return reply.json()

    return search


def test_pages_show_each_group_once_with_the_number_and_the_ids_of_the_others(documents: Documents) -> None:
    search = client(documents)
    whole = search(query=ALL, sort=BY_DATE, size=100)
    assert (whole["total"], [hit["id"] for hit in whole["hits"]]) == (18, [f"o{n}" for n in range(18)])
    assert [hit["others"] for hit in whole["hits"]] == [[f"c{n}"] for n in range(6)] + [[]] * 12
    assert [hit["group_size"] for hit in whole["hits"]] == [2] * 6 + [1] * 12
    assert {hit["id"]: hit["document"]["date"] for hit in whole["hits"]} == {f"o{n}": n for n in range(18)}
    by_number, by_after, after = [], [], None
    for start in range(0, 18, 5):
        by_number += search(query=ALL, sort=BY_DATE, size=5, **{"from": start})["hits"]
        page = search(query=ALL, sort=BY_DATE, size=5, **({"after": after} if after else {}))
        by_after += page["hits"]
        after = page["after"]
    assert by_number == by_after == whole["hits"]
    assert search(query=ALL, sort=BY_DATE, size=5, after=[], fields=[])["hits"] == whole["hits"][:5]
    [late] = search(query={"term": {"simhash.group": "o3"}}, sort=[{"date": "desc"}], fields=["date"])["hits"]
    assert late == {"id": "c3", "document": {"date": 103}, "group": "o3", "group_size": 2, "others": ["o3"]}
    found = search(query={"bool": {"must": [{"match": {"text": STORM}}], "filter": {"range": {"date": {"lt": 0}}}}})
    assert found == {"hits": [], "total": 0, "after": [0, 0]}


def test_a_document_that_no_backfill_has_seen_is_a_group_of_its_own_and_no_user_is_shown(documents: Documents) -> None:
    store: Any = documents.store
    store.connection.send("PUT", "_doc/alone", {"text": HARVEST, "date": -1})
    store.connection.send("PUT", "_doc/user", {"date": -2, "seen": {"newest": 5}})  # items that a user has seen
    store.refresh()
    first = client(documents)(query=ALL, sort=BY_DATE, size=1)
    assert first["total"] == 19
    assert first["hits"] == [{"id": "alone", "document": {"text": HARVEST, "date": -1}, "group_size": 1, "others": []}]


LEADS_ELSEWHERE = [
    {"script": {"script": "true"}},
    {"terms": {"salary": {"index": "hr", "id": "boss", "path": "salary"}}},
    {"bool": {"must_not": [{"terms": {"salary": {"index": "hr", "id": "boss", "path": "salary"}}}]}},
    {"more_like_this": {"like": [{"_index": "hr", "_id": "boss"}]}},
    {"geo_shape": {"place": {"indexed_shape": {"index": "hr", "id": "boss"}}}},
    {"percolate": {"field": "q", "index": "hr", "id": "boss"}},
    {"function_score": {"script_score": {"script": "1"}}},
    {"wrapper": {"query": "e30="}},
    {"query_string": {"query": "*"}},
    {"match": {"text": {"query": "a", "fuzziness": 2}}},
    {"match": {"text": {"query": "a", "cutoff_frequency": 0.1}}},
    {"match_phrase": {"text": {"query": "a", "max_expansions": 2}}},
    {"multi_match": {"query": "a", "fields": ["*"]}},
    {"multi_match": {"query": "a"}},
]
NO_QUERY = [
    {},
    {"match": {"text": "a"}, "term": {"id": 1}},
    {"match": []},
    {"match": {}},
    {"match": {"text": {"query": {}}}},
    {"match": {"text": "\ud800"}},
    {"match": {"text": float("inf")}},
    {"bool": {"must": "a"}},
    {"bool": {"must": [[{"match_all": {}}]]}},
    {"term": {}},
    {"nested": {"path": "a", "query": ALL}},
]
DEEP: dict[str, Any] = ALL
for _ in range(20):
    DEEP = {"bool": {"must": [DEEP]}}
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"query": query}, "") for query in [*LEADS_ELSEWHERE, *NO_QUERY]),
    *(({"query": query}, "query") for query in ("a", [], None, 5)),
    ({}, "query"),
    ({"query": DEEP}, "nested more than 20 times: flatten it"),
    ({"query": ALL, "aggs": {"a": {"terms": {"field": "tenant"}}}}, "aggs: Extra inputs"),
    ({"query": ALL, "runtime_mappings": {"a": {"type": "long"}}}, "runtime_mappings: Extra inputs"),
    ({"query": ALL, "script_fields": {}}, "script_fields: Extra inputs"),
    ({"query": ALL, "collapse": {"field": "tenant"}}, "collapse: Extra inputs"),
    ({"query": ALL, "sort": [{"_script": {"script": "1"}}]}, "use fields"),
    ({"query": ALL, "sort": [{"_doc": "asc"}]}, "use fields"),
    ({"query": ALL, "sort": [{"a": {"order": "asc", "nested": {"path": "a", "filter": ALL}}}]}, "sort has 'nested'"),
    ({"query": ALL, "sort": [{"date": "up"}]}, "use fields"),
    ({"query": ALL, "sort": "date"}, "sort"),
    ({"query": ALL, "from": -1}, "from"),
    ({"query": ALL, "size": 101}, "size"),
    ({"query": ALL, "after": [1]}, "after"),
    ({"query": ALL, "after": [1, 0], "from": 5}, "use one of them"),
]


@pytest.mark.parametrize(("body", "says"), WRONG)
def test_a_search_that_is_none_or_leads_elsewhere_is_refused_before_the_store_is_asked(
    body: dict[str, Any], says: str
) -> None:
    search = client(Documents("http://127.0.0.1:9/nothing"))
    detail = search(**body)
    assert says in detail
    assert ": " in detail


def test_what_only_the_server_can_refuse_is_an_error_that_names_it(documents: Documents) -> None:
    search = client(documents)
    assert "text" in search(query=ALL, sort=[{"text": "asc"}])
    assert "nowhere" in search(query=ALL, sort=[{"nowhere": "asc"}])
    assert "abc" in search(query={"term": {"date": "abc"}})
    last = "hit 10,000 is the last (index.max_result_window): send after in place of from, or narrow the query"
    assert search(query=ALL, size=10, **{"from": 9_995}) == search(query=ALL, size=10, after=[9_995, 0]) == last
    assert "type" in search(query={"multi_match": {"query": "a", "fields": ["text"], "type": "none"}})


def test_sqlite_says_that_it_needs_a_server() -> None:
    documents = Documents("memory://")
    documents.setup()
    assert "use Elasticsearch or OpenSearch" in client(documents)(query=ALL)


def test_under_the_filter_of_the_operator_nothing_depends_on_other_documents(documents: Documents) -> None:
    """Another program, without the filter, has linked documents of the tenants to each other."""
    for id, text in [(f"secret{n}", TEXTS[n]) for n in range(6)] + [("a-secret", TEXTS[20])]:
        assert documents.add({"id": id, "text": text, "date": 500, "t": "other", "salary": 7}, refresh=True).stored
    assert (
        documents.add({"id": "own", "text": TEXTS[20], "date": 600, "t": "acme"}, refresh=True).duplicate_of
        == "a-secret"
    )
    search = client(documents, {"term": {"t.keyword": "acme"}})
    page = search(query=ALL, sort=BY_DATE, size=100)
    assert "secret" not in str(page)
    assert page["total"] == 19
    assert [hit["group_size"] for hit in page["hits"]] == [2] * 6 + [1] * 13
    assert [hit.get("group") for hit in page["hits"]] == [f"o{n}" for n in range(18)] + [None]
    assert search(query={"term": {"salary": 7}}, sort=BY_DATE)["total"] == 0
    assert "give sort with fields" in search(query=ALL)
    assert "give sort with fields" in search(query=ALL, sort=[{"_score": "desc"}])
    for field in ("simhash.group", "simhash.duplicate_of"):
        for query in ({"range": {field: {"gte": "b"}}}, {"exists": {"field": field}}, {"match": {field: "a-secret"}}):
            assert "ids outside of the filter" in search(query={"bool": {"should": [query]}}, sort=BY_DATE)
        assert "ids outside of the filter" in search(query=ALL, sort=[{field: "asc"}])
    assert "name a keyword field" in client(documents, {"term": {"t": "acme"}})(query=ALL, sort=BY_DATE)
    assert "takes no filter" in client(documents, {"term": {"t.keyword": "acme"}}, clients=False)(query=ALL)
    app = application(documents, {"term": {"t.keyword": "acme"}})
    assert app.get("/groups/own").json() == {"size": 1, "members": ["own"]}
    assert app.get("/groups/o0").json() == {"group": "o0", "size": 2, "members": ["o0", "c0"]}
    for id in ("secret0", "none"):
        assert app.get(f"/groups/{id}").json()["detail"] == f"there is no document with id '{id}': add it first"
    added = app.post("/add", json={"document": {"id": "more", "text": TEXTS[0], "t": "acme"}}).json()
    assert (added["duplicate_of"], added["group_size"]) == ("o0", 3)


# --- how large a group is --------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", ELASTICSEARCH, OPENSEARCH])
def store(request: pytest.FixtureRequest) -> Iterator[Documents]:
    address = "memory://" if request.param == "memory" else new_addresses(request, request.param)()
    with Documents(address) as documents:
        documents.setup()
        yield documents


def test_a_group_that_grows_is_told(store: Documents) -> None:
    app = application(store)

    def added(*documents: tuple[str, str], **options: Any) -> list[Any]:
        sent = [{"id": id, "text": text} for id, text in documents]
        outcomes = app.post("/add_many", json={"documents": sent, **options}).json()["outcomes"]
        return [outcome.get("group_size") for outcome in outcomes]

    first, second = TEXTS[:2]
    assert added(("a", first), ("b", second), ("a/1", first), ("a/2", first)) == [3, 1, 3, 3]
    store.store.refresh()
    assert added(("a/3", first), refresh=True) == [4]
    assert added(("a/4", first), on_duplicate="skip") == [4]
    assert added(("a/3", first), ("b", second)) == [None, None]
    assert added(("b", first)) == [5]
    store.store.refresh()
    ids = ["a", "a/1", "a/2", "a/3", "b"]
    for id in ids:
        group = app.get(f"/groups/{id}").json()
        assert (group["group"], group["size"], sorted(group["members"]), group["members"][0]) == ("a", 5, ids, "a")
    many = [(f"n{number}", first) for number in range(120)]
    assert added(*many, refresh=True) == [125] * 120
    assert 'es_simhash_group_size_bucket{le="5.0"} 7.0' in app.get("/metrics").text
    assert "no document" in app.get("/groups/none").json()["detail"]
    assert app.post("/groups/a", json={}).json()["detail"] == "use GET"


@pytest.mark.elasticsearch
def test_if_the_store_cannot_count_a_document_is_stored_and_only_the_size_is_left_out(
    elasticsearch_url: str, index_name: str
) -> None:
    def refuse(request: Request) -> Answer | None:
        return Answer(403) if b'"aggs"' in request.body else None

    with Proxy(elasticsearch_url, refuse) as proxy, Documents(f"{proxy.url}/{index_name}") as documents:
        documents.setup()
        for filter in (None, {"term": {"t": "acme"}}):  # by words, so that the store counts others, too
            proxy.rule = refuse if filter is None else lambda request: None
            app = application(documents, filter)
            sent = [{"id": f"{id}{filter}", "text": TEXTS[0], "t": "acme"} for id in "ab"]
            first, second = (app.post("/add", json={"document": one, "refresh": True}).json() for one in sent)
            assert (second["outcome"], second["stored"], second.get("group_size")) == ("exact_duplicate", True, None)
        assert first["duplicate_of"] == "aNone"
