"""A filter matches the same documents in memory, in SQLite and in Elasticsearch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from es_simhash import Documents
from es_simhash.errors import InputError
from es_simhash.filters import parse_filter
from es_simhash.rows import Description, Scan
from es_simhash.store.address import open_store
from es_simhash.text.scheme import DEFAULT
from tests.store.documents import entry, ids, put, scanned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from es_simhash.store.protocol import Store

strings = st.sampled_from(["zh", "en", "", "中", "2024-01-01"])
numbers = st.integers(-2, 3)
fields = st.sampled_from(["lang", "year", "who.name", "who"])
limits = st.sampled_from(["gt", "gte", "lt", "lte"])


def documents_of(lang: Any, year: Any, name: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Documents with some of the fields: a value of each, or a list of values."""
    person = st.fixed_dictionaries({}, optional={"name": name | st.lists(name, max_size=2)})
    values = {"lang": lang | st.lists(lang | st.none(), max_size=3), "year": year | st.lists(year, max_size=3)}
    return st.fixed_dictionaries({}, optional={**values, "who": person | st.lists(person, max_size=2)})


def leaves_of(field: Any, value: Any, bounds: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Filters of one field."""
    return st.one_of(
        st.builds(lambda field: {"exists": {"field": field}}, field),
        st.builds(lambda field, value: {"term": {field: value}}, field, value),
        st.builds(lambda field, values: {"terms": {field: values}}, field, st.lists(value, max_size=3)),
        st.builds(lambda field, bounds: {"range": {field: bounds}}, field, bounds),
    )


def filters_of(*leaves: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Filters inside each other."""
    ids = st.builds(lambda values: {"ids": {"values": values}}, st.lists(st.sampled_from(["0", "1", "7"]), max_size=2))
    occurrences = st.sampled_from(["must", "filter", "must_not", "should"])
    return st.recursive(
        st.one_of(st.just({"match_all": {}}), ids, *leaves),
        lambda inner: st.dictionaries(occurrences, inner | st.lists(inner, max_size=2), max_size=3).map(
            lambda body: {"bool": body}
        ),
        max_leaves=4,
    )


anything = st.one_of(strings, numbers, st.none())
documents = documents_of(strings | st.none(), numbers | st.none(), anything)
any_bounds = st.dictionaries(limits, numbers, max_size=2) | st.dictionaries(limits, strings, max_size=2)
filters = filters_of(leaves_of(fields, strings | numbers, any_bounds))
# Elasticsearch converts a number to a keyword and a keyword to a number. Here each field is compared with its type.
typed_documents = documents_of(strings, numbers, strings | st.none())
typed_filters = filters_of(
    *(
        leaves_of(st.just(field), value, st.dictionaries(limits, value, max_size=2))
        for field, value in (("lang", strings), ("year", numbers), ("who.name", strings))
    )
)


def in_memory(documents: list[dict[str, Any]], filter: dict[str, Any]) -> set[str]:
    return {str(n) for n, document in enumerate(documents) if parse_filter(filter)(document, str(n))}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'filters.db'}")
    store.set_up(Description(scheme=DEFAULT))
    yield store
    store.close()


def write(store: Store, documents: list[dict[str, Any]]) -> None:
    """Write documents in place of those with their numbers."""
    put(store, *(entry(str(n), source=json.dumps(fields)) for n, fields in enumerate(documents)))


def matching(store: Store, filter: dict[str, Any]) -> set[str]:
    return set(ids(scanned(store, Scan(filter=filter))))


def test_a_dot_leads_into_an_object_or_is_part_of_a_name() -> None:
    for document in ({"who": {"name": "zh"}}, {"who.name": "zh"}, {"who": [{"name": [["zh"]]}]}):
        assert parse_filter({"term": {"who.name": "zh"}})(document, "0")
        assert parse_filter({"exists": {"field": "who.name"}})(document, "0")
        assert not parse_filter({"term": {"who.name": "en"}})(document, "0")


@given(documents=st.lists(documents, min_size=4, max_size=4), filter=filters)
@example(documents=[{"who": [{"name": "zh"}, {"name": "en"}]}], filter={"term": {"who.name": "en"}})
@example(documents=[{"who": {"name": "zh"}}], filter={"term": {"who": "zh"}})
@example(documents=[{"lang": "zh"}], filter={"range": {"lang": {"gt": 1}}})
@example(documents=[{"x": 10**310}], filter={"range": {"x": {"gt": 5}}})
@example(documents=[{"x": "a\0b"}], filter={"term": {"x": "a"}})
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sqlite_finds_what_matches_the_filter_in_memory(
    store: Store, documents: list[dict[str, Any]], filter: dict[str, Any]
) -> None:
    store.remove(dict.fromkeys("0123"))
    write(store, documents)
    assert matching(store, filter) == in_memory(documents, filter)


def nested(depth: int) -> dict[str, Any]:
    """A filter of bool filters inside each other."""
    filter: dict[str, Any] = {"term": {"n": 1}}
    for _ in range(depth):
        filter = {"bool": {"must_not": [filter]}}
    return filter


LARGE: dict[str, dict[str, Any]] = {
    **{f"{depth} deep": nested(depth) for depth in (7, 8, 9, 29, 32)},
    "5,000 clauses": {"bool": {"should": [{"term": {"n": -n}} for n in range(5_000)]}},
    "5,000 clauses of must": {"bool": {"must": [{"range": {"n": {"gt": -n}}} for n in range(1, 5_000)]}},
    "40,000 values": {"terms": {"n": list(range(1, 40_000))}},
    "40,000 ids": {"ids": {"values": [str(n) for n in range(1, 40_000)]}},
    "a path of 100 names": {"bool": {"must_not": {"exists": {"field": ".".join("x" * 100)}}}},
}


@pytest.mark.parametrize("name", LARGE)
def test_sqlite_answers_a_deep_or_wide_filter_as_memory_does(store: Store, name: str) -> None:
    documents = [{"n": n} for n in range(3)]
    write(store, documents)
    assert matching(store, LARGE[name]) == in_memory(documents, LARGE[name])


CYCLE: dict[str, Any] = {"bool": {}}
CYCLE["bool"]["must"] = CYCLE
UNUSABLE: dict[str, tuple[Any, str]] = {
    "deep": (nested(600), "nested too deeply"),
    "a cycle": (CYCLE, "nested too deeply|Circular reference"),
    "half a character as a name": ({"term": {"a\ud800": 1}}, "JSON .*surrogates not allowed"),
    "half a character as a value": ({"term": {"a": "\ud800"}}, "JSON .*surrogates not allowed"),
    "half a character as an id": ({"ids": {"values": ["\ud800"]}}, "JSON .*surrogates not allowed"),
    "infinity": ({"term": {"a": float("inf")}}, "JSON .*Out of range"),
    "no number": ({"range": {"a": {"lt": float("nan")}}}, "JSON .*Out of range"),
    "a huge integer": ({"term": {"a": 10**5_000}}, "cannot be written as JSON"),
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("address", ["memory://", "http://127.0.0.1:1/nothing"])
def test_a_filter_that_no_store_can_take_is_refused_before_a_request(name: str, address: str) -> None:
    filter, message = UNUSABLE[name]
    documents = Documents(address, scheme=DEFAULT)
    for verb in (
        lambda: documents.similar("a", filter=filter),
        lambda: len(documents.remove(matching=filter)),
        lambda: documents.group(filter=filter),
        lambda: list(documents.ingest([], filter=filter)),
        lambda: list(documents.export(filter=filter)),
    ):
        with pytest.raises(InputError, match=message):
            verb()
    documents.close()


@pytest.mark.slow
@pytest.mark.elasticsearch
def test_elasticsearch_finds_what_matches_the_filter_in_memory(
    elasticsearch_url: str, make_index: Callable[[], str]
) -> None:
    index = make_index()
    names = {"properties": {"name": {"type": "keyword"}}}
    known = {"id": {"type": "keyword"}, "lang": {"type": "keyword"}, "year": {"type": "long"}, "who": names}
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(index=index, mappings={"dynamic": "strict", "properties": known})
    store = open_store(f"{elasticsearch_url}/{index}")
    store.set_up(Description(scheme=DEFAULT))

    @given(
        documents=st.lists(typed_documents, min_size=8, max_size=8),
        drawn=st.lists(typed_filters, min_size=8, max_size=8),
    )
    @settings(max_examples=15, deadline=None, derandomize=True)
    def law(documents: list[dict[str, Any]], drawn: list[dict[str, Any]]) -> None:
        write(store, documents)
        for filter in drawn:
            assert matching(store, filter) == in_memory(documents, filter), filter

    law()
    store.close()


MALFORMED: list[Any] = [
    {},
    {"term": {"a": 1}, "exists": {"field": "a"}},
    [],
    "lang",
    {"term": "a"},
    {"term": {}},
    {"term": {"a": 1, "b": 2}},
    {"term": {"a": None}},
    {"term": {"a": {"case_insensitive": True}}},
    {"terms": {"a": "zh"}},
    {"terms": {"a": [["zh"]]}},
    {"ids": {}},
    {"ids": {"values": "17"}},
    {"exists": {}},
    {"exists": {"field": 3}},
    {"range": {"a": 5}},
    {"range": {"a": {"above": 5}}},
    {"range": {"a": {"gt": None}}},
    {"range": {"a": {"gt": 5, "format": "yyyy"}}},
    {"bool": []},
    {"bool": {"filter": "a"}},
    {"bool": {"filter": [{"term": {"a": 1}}], "boost": 2}},
    {"bool": {"should": [{"exists": {"field": "a"}}], "minimum_should_match": 1}},
    {"bool": {"must_not": [{}]}},
]


@pytest.mark.parametrize("filter", MALFORMED, ids=json.dumps)
def test_a_malformed_filter_is_refused_whatever_the_document(filter: Any) -> None:
    for document in ({}, {"a": 1}, {"a": "zh"}):
        with pytest.raises(InputError, match="filter"):
            parse_filter(filter)(document, "1")


@pytest.mark.parametrize("kind", ["match", "prefix", "nested", "script", "query_string"])
def test_a_filter_type_that_needs_elasticsearch_is_refused_with_the_known_types(kind: str) -> None:
    with pytest.raises(InputError, match=f"{kind}.*use bool, exists, ids, match_all, range, term, terms"):
        parse_filter({"bool": {"must_not": {kind: {"a": "b"}}}})
