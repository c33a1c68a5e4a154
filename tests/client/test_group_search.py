"""A search of one's own shows one document of each group, and hides no document that has no group."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from opensearchpy import OpenSearch

from es_simhash import Documents, DuplicateRule, group_search
from es_simhash.errors import InputError
from es_simhash.tools.doctor import doctor
from tests import ROOT
from tests.cli import HARVEST, STORM
from tests.es_node.fixtures import ELASTICSEARCH, OPENSEARCH, new_addresses

QUERY = {"match": {"body": "暴雨"}}
BY_DATE = [{"date": "desc"}, {"name": {"order": "asc", "missing": "_first"}}]


def documents_of(chance: random.Random) -> list[dict[str, Any]]:
    """Return documents in groups of copies, and some that no backfill has seen."""
    found = []
    for number in range(60):
        group = number // 3 if number < 30 else number if number < 40 else None
        ours = {} if group is None else {"simhash": {"group": str(group), "digest": f"{number:032x}"}}
        name = {"name": f"n{number}"} if number % 4 else {}
        body = f"暴雨 {'预警 ' * chance.randrange(5)}" if number % 5 else "晴"
        found.append({"body": body, "date": chance.randrange(7), "kind": number % 2, **name, **ours})
    return found


def one_of_each(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the hits of a plain search, of each group the first one."""
    seen: set[str] = set()
    found = []
    for hit in hits:
        group = hit["_source"].get("simhash", {}).get("group")
        if group is None or group not in seen:
            found.append(hit)
        seen.add(group)
    return found


def inner_hits_of(page: str) -> dict[str, Any]:
    """Return the collapse that a page shows as JSON."""
    [block] = re.findall(r'^```json\n(\{"field".*?)^```', (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return json.loads(block)


@pytest.mark.parametrize("page", ["docs/service.md", "docs/zh/service.md"])
def test_the_page_shows_the_two_searches(page: str) -> None:
    blocks = re.findall(r"```json\n(\[.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    copies = {"field": "simhash.group", "inner_hits": {"name": "copies", "size": 0}}
    search = group_search({"query": {"match": {"text": "暴雨"}}, "collapse": copies, "from": 0, "size": 10})
    assert [json.loads(each) for each in blocks] == [search.searches[1::2]]


@pytest.mark.parametrize("kind", [ELASTICSEARCH, OPENSEARCH])
def test_five_more_of_three_outlets_and_the_most_trusted_one_first(request: pytest.FixtureRequest, kind: str) -> None:
    collapse = inner_hits_of("docs/service.md")
    assert collapse == inner_hits_of("docs/zh/service.md")
    address = new_addresses(request, kind)()
    outlets = [("晨报", 2), ("晨报", 2), ("网站", 1), ("气象台", 3), ("网站", 1), ("晨报", 2)]
    with Documents(address) as documents:
        documents.setup()
        news = [
            {"id": str(n), "text": STORM, "outlet": name, "trust": trust} for n, (name, trust) in enumerate(outlets)
        ]
        list(documents.ingest([*news, {"id": "x", "text": HARVEST, "outlet": "晚报", "trust": 2}]))
    url, _, index = address.removeprefix("opensearch+").rpartition("/")
    search = group_search({"query": {"match": {"text": "暴雨 秋收"}}, "collapse": collapse, "size": 10})
    if kind == "elasticsearch":
        with Elasticsearch(url) as client:
            client.indices.refresh(index=index)
            answer: Any = client.msearch(index=index, searches=search.searches)
    else:
        with OpenSearch(url) as other:
            other.indices.refresh(index=index)
            answer = other.msearch(index=index, body=search.searches)
    shown = {}
    for hit in search.hits(answer):
        copies, each_outlet = (hit["inner_hits"][name]["hits"] for name in ("copies", "outlets"))
        [best] = copies["hits"]
        names = sorted(one["_source"]["outlet"] for one in each_outlet["hits"])
        shown[best["_id"]] = (copies["total"]["value"] - 1, names)
    assert shown == {"3": (5, sorted(["晨报", "网站", "气象台"])), "x": (0, ["晚报"])}


@pytest.mark.elasticsearch
def test_the_pages_hide_nothing_but_copies(elasticsearch_url: str, index_name: str) -> None:
    fields = {name: {"type": kind} for name, kind in (("date", "long"), ("name", "keyword"), ("kind", "long"))}
    with Elasticsearch(elasticsearch_url) as client, Documents(f"{elasticsearch_url}/{index_name}") as documents:
        client.indices.create(index=index_name, mappings={"properties": {"body": {"type": "text"}, **fields}})
        documents.setup()
        for number, each in enumerate(documents_of(random.Random(3))):
            client.index(index=index_name, id=str(number), document=each)
        client.indices.refresh(index=index_name)
        for search in (
            {"query": QUERY},
            {"query": QUERY, "sort": BY_DATE},
            {"query": QUERY, "sort": {"date": "desc", "name": {"missing": "_first"}}},
            {"query": QUERY, "sort": ["_score", "date"], "post_filter": {"term": {"kind": 1}}},
            {"query": {"match_all": {}}, "sort": BY_DATE, "aggs": {"kinds": {"terms": {"field": "kind"}}}},
        ):
            sort = search.get("sort", "_score")
            sort = [*(sort if isinstance(sort, list) else [sort]), {"simhash.order": "asc"}]
            plain = client.search(index=index_name, body={**search, "size": 100, "sort": sort})
            right = one_of_each(plain["hits"]["hits"])
            found, after = [], None
            for start in range(0, 60, 7):
                page = group_search({**search, "from": start, "size": 7})
                answer = client.msearch(index=index_name, searches=page.searches)
                assert page.total(answer) == len(right)
                found += page.hits(answer)
                following = group_search({**search, "size": 7}, after=after)
                parts = client.msearch(index=index_name, searches=following.searches)
                assert following.hits(parts) == page.hits(answer)
                assert max(len(part["hits"]["hits"]) for part in parts["responses"]) <= 7
                after = following.after(parts)
                assert after == page.after(answer)
                assert answer["responses"][0]["aggregations"].get("kinds") == plain.get("aggregations", {}).get("kinds")
            keys = [(hit.get("sort"), hit["_score"]) for hit in found]
            assert keys == [(hit.get("sort"), hit["_score"]) for hit in right]
            assert len({hit["_id"] for hit in found}) == len(found)
            collapsed = client.search(
                index=index_name, body={**search, "collapse": {"field": "simhash.group"}, "size": 60}
            )
            assert len(collapsed["hits"]["hits"]) < len(right)  # what a plain collapse hides

        page = group_search(
            {
                "query": QUERY,
                "collapse": {"field": "simhash.group", "inner_hits": {"name": "copies", "size": 0}},
                "size": 60,
            }
        )
        others = {}
        for hit in page.hits(client.msearch(index=index_name, searches=page.searches)):
            copies = hit.get("inner_hits", {}).get("copies", {}).get("hits", {}).get("total", {}).get("value", 1)
            others[hit["_id"]] = copies - 1
        assert sum(others.values()) + len(others) == client.count(index=index_name, query=QUERY)["count"]

        (advice,) = [check for check in doctor(documents).checks if check.status == "advice"]
        assert advice.text.startswith("20 documents have none: run `es-simhash backfill")
        assert "a collapse on simhash.group shows one of them" in advice.text
        documents.setup(DuplicateRule(text_field="body"))
        list(documents.backfill())
        assert not any("have none" in check.text for check in doctor(documents).checks)
        client.indices.refresh(index=index_name)
        page = group_search({"query": QUERY})
        collapsed = client.search(index=index_name, query=QUERY, collapse={"field": "simhash.group"})
        hits = page.hits(client.msearch(index=index_name, searches=page.searches))
        assert [hit["_score"] for hit in hits] == [hit["_score"] for hit in collapsed["hits"]["hits"]]


@pytest.mark.parametrize("sort", [None, [], "kind.keyword", [{"kind.keyword": "asc"}]])
@pytest.mark.elasticsearch
def test_pages_of_equal_hits_repeat_none_while_the_server_merges(
    elasticsearch_url: str, index_name: str, sort: Any
) -> None:
    search = {"query": {"match": {"kind": "x"}}, "size": 10} | ({} if sort is None else {"sort": sort})
    with Elasticsearch(elasticsearch_url) as client, Documents(f"{elasticsearch_url}/{index_name}") as documents:
        documents.setup(rule="exact")
        given = [{"id": str(n), "kind": "x", "text": f"第{n}条"} for n in range(60)]
        for part in (given[40:45], given[:30], given[45:], given[30:40], [{**one, "again": 1} for one in given[::3]]):
            documents.add_many(part, refresh=True)
        found, after = list[str](), None
        for number in range(6):
            page = group_search(search, after=after)
            answer = client.msearch(index=index_name, searches=page.searches)
            found += [hit["_id"] for hit in page.hits(answer)]
            after = page.after(answer)
            if number == 2:
                client.indices.forcemerge(index=index_name, max_num_segments=1)
                client.indices.refresh(index=index_name)
    assert sorted(found) == sorted(one["id"] for one in given)


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (
            {"collapse": {"field": "url"}},
            "collapses on {'field': 'url'}: collapse on {'field': 'simhash.group'}, or on",
        ),
        ({"collapse": "simhash.group"}, "collapses on 'simhash.group': collapse on {'field': 'simhash.group'}, or"),
        ({"search_after": [1], "sort": ["date"]}, "use from and size"),
        ({"from": "10", "size": "10"}, "from must be a whole number from 0 to 2147483647, and is '10'"),
        *(({"size": size}, "size must be a whole number") for size in ("10", -1, 2.5, True, None, 1 << 31)),
        *(({name: 5}, "the search has the aggregations 5: use an object") for name in ("aggs", "aggregations")),
        ({"sort": 5}, "the search sorts by 5: use a field"),
        ({"sort": [["date"]]}, r"sorts by \['date'\]: use a field"),
    ],
)
def test_a_search_without_pages_is_an_error(search: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        group_search(search)


@pytest.mark.parametrize("after", [3, "12", [1], [1, 2, 3], [1, "2"], [1, -1], {"a": 1, "b": 2}])
def test_a_page_starts_after_two_numbers_or_where_from_says(after: Any) -> None:
    with pytest.raises(InputError, match=r"use the two numbers that|after must be a whole number"):
        group_search({}, after=after)
    with pytest.raises(InputError, match="the search has from, and after is given: use one of them"):
        group_search({"from": 0}, after=[1, 2])


def test_a_failed_search_is_an_error() -> None:
    error = {"error": {"type": "parsing_exception", "reason": "unknown query [matsch]"}, "status": 400}
    with pytest.raises(InputError, match="unknown query"):
        group_search({}).hits({"responses": [error, error]})
