"""On a real Elasticsearch: the mapping, the clauses in a user's query, complete replies, clients."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import AsyncDocuments, Documents, Scheme, fingerprint, plain_clause
from es_simhash.contract import KeysState
from es_simhash.errors import InputError, NotSetUp, SchemeMismatch, StoreError
from es_simhash.search.candidates import candidates_clause
from es_simhash.search.keys import KeyQuery
from es_simhash.stores.elasticsearch.failures import check_complete
from tests.contract.documents import entry, find_by_keys, flip, keys, near, write
from tests.limited import limit_reading
from tests.rules import keywords_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

SHIPPED = Path(__file__).parents[3] / "mappings" / "documents.json"
NEWS = "市气象台今晨发布暴雨橙色预警，部分路段已经出现积水，交警提醒市民绕行"


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield client


@pytest.fixture
def documents(client: Elasticsearch, index_name: str) -> Documents:
    documents = Documents(client, index=index_name)
    documents.setup(keys=False)
    return documents


def ingest(documents: Documents, *items: dict[str, Any], **options: Any) -> list[Any]:
    return list(documents.ingest(items, **keywords_of(options)))


# --- mapping -----------------------------------------------------------------------------------------------


def test_the_mapping_file_applied_by_hand_is_what_the_package_makes(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(index=index_name, body=json.loads(SHIPPED.read_text(encoding="utf-8")))
    documents = Documents(client, index=index_name)
    assert documents.setup(keys=False) == "unchanged"
    assert [o.outcome for o in ingest(documents, {"id": 1, "text": NEWS})] == ["new"]


def test_an_index_that_exists_gets_the_fields_and_keeps_its_own(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(
        index=index_name, mappings={"_meta": {"owner": "news"}, "properties": {"tenant": {"type": "keyword"}}}
    )
    documents = Documents(client, index=index_name)
    with pytest.raises(NotSetUp, match=r"es-simhash init --store http.*" + index_name):
        ingest(documents, {"id": 1, "text": NEWS})
    assert [documents.setup(keys=False), documents.setup(keys=False)] == ["added", "unchanged"]
    mapping = client.indices.get_mapping(index=index_name)[index_name]["mappings"]
    assert mapping["_meta"]["owner"] == "news"
    assert mapping["properties"]["tenant"] == {"type": "keyword"}
    assert mapping["properties"]["simhash"]["dynamic"] == "strict"
    assert [o.outcome for o in ingest(documents, {"id": 1, "text": NEWS, "tenant": "a"})] == ["new"]


def test_a_simhash_field_of_another_program_stays_as_it_is(client: Elasticsearch, index_name: str) -> None:
    mappings = {"properties": {"simhash": {"properties": {"other": {"type": "keyword"}}}}}
    client.indices.create(index=index_name, mappings=mappings)
    with pytest.raises(NotSetUp, match="another program uses the field"):
        Documents(client, index=index_name).setup(keys=False)


def test_a_simhash_field_of_another_type_is_an_error(client: Elasticsearch, index_name: str) -> None:
    client.indices.create(index=index_name, mappings={"properties": {"simhash": {"type": "long"}}})
    with pytest.raises(StoreError, match="simhash"):
        Documents(client, index=index_name).setup(keys=False)


def test_an_alias_of_indices_that_differ_is_refused(client: Elasticsearch, make_index: Any) -> None:
    alias = make_index()
    for scheme in (Scheme(), Scheme(weights="tf")):
        index = make_index()
        Documents(client, index=index, scheme=scheme).setup(keys=False)
        client.indices.put_alias(index=index, name=alias)
    with pytest.raises(SchemeMismatch, match="an alias of equal indices"):
        Documents(client, index=alias).similar(NEWS, rule="fingerprint")


def test_an_index_without_the_fields_of_keys_gets_them(client: Elasticsearch, index_name: str) -> None:
    mappings = json.loads(SHIPPED.read_text(encoding="utf-8"))["mappings"]
    for field in ("keys", "length"):
        del mappings["properties"]["simhash"]["properties"][field]
    client.indices.create(index=index_name, mappings=mappings)
    store = Documents(client, index=index_name)._store
    assert [store.set_up(Scheme()), store.set_up_keys()] == ["added", "added"]
    write(store, entry("a", 1, keys=keys("m0"), length=1))
    assert [row.id for row in find_by_keys(store, KeyQuery(keys("m0"), 1, (1, 1))).rows] == ["a"]


def test_the_indices_of_an_alias_have_the_same_keys(client: Elasticsearch, make_index: Any) -> None:
    alias, indices = make_index(), [make_index(), make_index()]
    for index in indices:
        Documents(client, index=index).setup(keys=False)
        client.indices.put_alias(index=index, name=alias)
    one, both = Documents(client, index=indices[0])._store, Documents(client, index=alias)._store
    one.set_up_keys()
    with pytest.raises(NotSetUp, match=rf"{indices[1]}: none") as caught:
        both.describe_keys()
    assert alias in str(caught.value)
    write(one, entry("a", 1))
    assert [both.set_up_keys() for _ in range(2)] == ["added", "unchanged"]
    assert both.describe_keys() == KeysState.INCOMPLETE
    both.complete_keys()
    assert both.describe_keys() == one.describe_keys() == KeysState.COMPLETE
    assert both.describe() == Scheme()


def test_documents_with_the_most_keys_are_found_on_several_shards(client: Elasticsearch, index_name: str) -> None:
    mappings = json.loads(SHIPPED.read_text(encoding="utf-8"))["mappings"]
    client.indices.create(index=index_name, mappings=mappings, settings={"number_of_shards": 3})
    store = Documents(client, index=index_name)._store
    every = keys(*(f"m{n}" for n in range(25)))
    write(store, *(entry(f"{n}", None, keys=every[: n % 25 + 1], length=1) for n in range(12_000)))
    found = find_by_keys(store, KeyQuery(every, 1), most=20)
    assert {row.id for row in found.rows} == {str(24 + 25 * n) for n in range(20)}
    assert found.left_out == {0: 10_000 - 20}, "no more than 10,000 documents are counted"


def test_the_simhash_object_takes_no_other_field(documents: Documents, client: Elasticsearch, index_name: str) -> None:
    with pytest.raises(Exception, match="strict_dynamic_mapping"):
        client.index(index=index_name, document={"simhash": {"s9": "0001"}})


# --- query -------------------------------------------------------------------------------------------------


def test_the_clauses_can_be_part_of_any_query(documents: Documents, client: Elasticsearch, index_name: str) -> None:
    ingest(documents, *({"id": lang, "text": NEWS, "lang": lang} for lang in ("zh", "en")))
    value = fingerprint(NEWS).value
    assert value is not None
    for clause in (
        candidates_clause(value, 3),
        candidates_clause(value, 0),
        candidates_clause([value, 0], 3),
        plain_clause(value),
    ):
        query = {"bool": {"must": [{"term": {"lang": "zh"}}], "filter": [clause]}}
        assert [hit["_id"] for hit in client.search(index=index_name, query=query)["hits"]["hits"]] == ["zh"]


def test_the_plain_clause_finds_everything_within_three_bits(
    documents: Documents, client: Elasticsearch, index_name: str
) -> None:
    rng = random.Random(5)
    centre = rng.getrandbits(64)
    planted = {f"{d}-{n}": flip(centre, rng.sample(range(64), d)) for d in range(4) for n in range(20)}
    write(documents._store, *(entry(id, value) for id, value in planted.items()))
    hits = client.search(index=index_name, query=plain_clause(centre), size=200)["hits"]["hits"]
    assert {hit["_id"] for hit in hits} == set(planted)


@pytest.mark.parametrize("wrong", [-1, 8])
def test_the_candidates_clause_rejects_a_distance_out_of_range(wrong: int) -> None:
    with pytest.raises(InputError, match="use 0 to 7"):
        candidates_clause(1, wrong)


def test_several_shards_are_searched_to_their_end(client: Elasticsearch, index_name: str) -> None:
    mappings = json.loads(SHIPPED.read_text(encoding="utf-8"))["mappings"]
    client.indices.create(index=index_name, mappings=mappings, settings={"number_of_shards": 3})
    store = Documents(client, index=index_name)._store
    ids = {f"id{n}" for n in range(3_300)}
    write(store, *(entry(id, 42, digest=f"digest{n % 7}") for n, id in enumerate(sorted(ids))))
    assert {row.id for row in near(store, 42, 7)} == ids
    assert {row.id for row in near(store, 42 ^ 7, 3)} == ids


def test_no_point_in_time_is_left_open(documents: Documents, client: Elasticsearch, index_name: str) -> None:
    write(documents._store, *(entry(f"id{n}", 42) for n in range(1_500)))
    assert len(near(documents._store, 42, 3)) == 1_500
    statistics = client.indices.stats(index=index_name, metric="search")["indices"][index_name]
    assert statistics["total"]["search"]["open_contexts"] == 0


def test_an_original_with_more_copies_than_the_limit_is_updated_and_removed(documents: Documents) -> None:
    limit_reading(documents.store, page=20, most_hits=20)
    documents.setup(rule="fingerprint")
    ingest(documents, *({"id": f"{n:02}", "text": NEWS} for n in range(60)))
    assert [each.outcome for each in ingest(documents, {"id": "00", "text": "another page"})] == ["updated"]
    assert documents.remove(["01"]) == {"01"}
    rows = {row.id: row.duplicate_of for row in documents.export()}
    assert rows == {"00": None, "02": None} | {f"{n:02}": "02" for n in range(3, 60)}


def test_a_filter_that_the_server_does_not_understand_is_an_input_error(documents: Documents) -> None:
    with pytest.raises(InputError, match="check the filter"):
        documents.similar(NEWS, filter={"nonsense": {}}, rule="fingerprint")


def test_an_index_that_vanishes_is_named(documents: Documents, client: Elasticsearch, index_name: str) -> None:
    documents.similar(NEWS, rule="fingerprint")
    client.indices.delete(index=index_name)
    with pytest.raises(NotSetUp, match=index_name):
        documents.similar(NEWS, rule="fingerprint")
    with pytest.raises(NotSetUp, match=index_name):
        documents.similar_to("1", rule="fingerprint")


SHARDS = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}


def test_a_search_that_timed_out_is_an_error() -> None:
    check_complete({"timed_out": False, "_shards": SHARDS}, "es")
    with pytest.raises(StoreError, match="es: the search timed out"):
        check_complete({"timed_out": True, "_shards": SHARDS}, "es")


# --- documents ---------------------------------------------------------------------------------------------


def test_the_document_is_stored_as_it_came(documents: Documents, client: Elasticsearch, index_name: str) -> None:
    document = {"id": 7, "text": NEWS, "标题": "预警 \u2028\n\"'", "n": 1.5, "deep": {"a": [1, None]}}
    ingest(documents, document)
    source = client.get(index=index_name, id="7")["_source"]
    simhash = source.pop("simhash")
    assert source == document
    expected = fingerprint(NEWS)
    assert "".join(simhash[f"s{i}"] for i in range(4)) == expected.hex
    assert simhash["fp"] & (2**64 - 1) == expected.value
    assert (simhash["digest"], simhash["group"]) == (expected.digest, "7")


def test_a_document_read_back_can_be_ingested_again(
    documents: Documents, client: Elasticsearch, index_name: str
) -> None:
    ingest(documents, {"id": 7, "text": NEWS})
    source = client.get(index=index_name, id="7")["_source"]
    assert [o.outcome for o in ingest(documents, source | {"id": 8})] == ["exact_duplicate"]


def test_a_document_that_the_index_refuses_has_failed_and_the_others_are_stored(
    documents: Documents, client: Elasticsearch, index_name: str
) -> None:
    items = [{"id": n, "text": f"{NEWS}{n}", "when": when} for n, when in enumerate(["2024-01-01", "not a date", None])]
    outcomes = ingest(documents, *items, rule="fingerprint")
    assert [(o.outcome, o.stored) for o in outcomes] == [("new", True), ("failed", False), ("near_duplicate", True)]
    assert "when" in outcomes[1].reason
    assert client.count(index=index_name)["count"] == 2


def test_the_callers_own_client_stays_open(client: Elasticsearch, documents: Documents) -> None:
    documents.close()
    assert client.ping()


def test_a_client_of_the_wrong_kind_is_refused(client: Elasticsearch) -> None:
    with pytest.raises(InputError, match="AsyncDocuments and AsyncSeenItems need a client of the class Async"):
        AsyncDocuments(client, index="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="index="):
        Documents(client)
