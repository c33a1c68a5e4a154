"""Backfill gives the documents of an index that was there before fingerprints, and touches nothing else of them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch
from elasticsearch.helpers import bulk

from es_simhash import Documents, DuplicateRule, fingerprint
from tests.client import before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from es_simhash.similarity.rule import Rule

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]

FIELDS = ["title", "content.body"]
PROPERTIES = {
    "title": {"type": "text"},
    "content": {"properties": {"body": {"type": "text"}, "length": {"type": "float"}}},
    "lang": {"type": "keyword"},
    "views": {"type": "long"},
    "tags": {"type": "keyword"},
}
WORDS = [f"{a}{b}" for a in "春夏秋冬东西南北山水" for b in "风雨云雪花草树木石路灯火"]


def article(rng: random.Random, words: int = 60) -> list[str]:
    return [rng.choice(WORDS) for _ in range(words)]


def corpus(count: int, seed: int = 7) -> dict[str, dict[str, Any]]:
    """Articles, of which every fourth copies an earlier one and every fifth differs from one in a word."""
    rng = random.Random(seed)
    made: list[list[str]] = []
    documents: dict[str, dict[str, Any]] = {}
    for n in range(count):
        words = article(rng)
        if made and n % 4 == 3:
            words = list(rng.choice(made))
        elif made and n % 5 == 4:
            words = [*rng.choice(made), "又及"]
        made.append(words)
        documents[f"doc-{n:05}"] = {
            "views": n,
            "title": f"标题{words[0]}",
            "content": {"length": 1.50, "body": "，".join(words)},
            "lang": "zh" if n % 3 else "en",
            "tags": ["b", "a", None],
            "extra": {"not": {"mapped": [1, {"x": "y"}]}},
        }
    documents["no-text"] = {"views": -1}
    documents["null"] = {"title": None, "content": {"body": None}}
    documents["blank"] = {"title": "  ", "content": {"body": "\u3000"}}
    documents["list"] = {"title": [1, 2], "lang": "zh"}
    return documents


NO_TEXT = {"no-text", "null", "list"}


class Index:
    """An index of somebody else's, with documents in it."""

    def __init__(self, client: Elasticsearch, url: str, name: str) -> None:
        self.client, self.name, self.address = client, name, f"{url}/{name}"

    def fill(self, documents: dict[str, dict[str, Any]], shards: int = 1) -> Index:
        mappings = {"dynamic": "false", "_meta": {"owner": "web"}, "properties": PROPERTIES}
        self.client.indices.create(index=self.name, mappings=mappings, settings={"number_of_shards": shards})
        self.put(documents)
        return self

    def put(self, documents: dict[str, dict[str, Any]]) -> None:
        actions = ({"_index": self.name, "_id": id, "_source": document} for id, document in documents.items())
        bulk(self.client, actions, refresh=True)

    def hits(self) -> list[Any]:
        self.client.indices.refresh(index=self.name)
        found = self.client.search(index=self.name, size=10_000, seq_no_primary_term=True)
        return list(found["hits"]["hits"])

    def sources(self) -> dict[str, Any]:
        return {hit["_id"]: hit["_source"] for hit in self.hits()}

    def versions(self) -> dict[str, int]:
        return {hit["_id"]: hit["_seq_no"] for hit in self.hits()}

    def links(self) -> dict[str, tuple[str, str | None]]:
        found = {id: source["simhash"] for id, source in self.sources().items() if "simhash" in source}
        return {id: (each["group"], each.get("duplicate_of")) for id, each in found.items()}

    def backfill(self, rule: Rule = "fingerprint", **options: Any) -> list[Any]:
        with Documents(self.address) as library:
            library.setup(DuplicateRule(rule, text_field=FIELDS))
            return list(library.backfill(**options))


@pytest.fixture
def new_index(elasticsearch_url: str, make_index: Callable[[], str]) -> Iterator[Callable[[], Index]]:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        yield lambda: Index(client, elasticsearch_url, make_index())


@pytest.fixture
def index(new_index: Callable[[], Index]) -> Index:
    return new_index()


def ingested(documents: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str | None]]:
    """The links that an ingest of the same texts in the same order gives."""
    with Documents("memory://") as library:
        items = [{"_id": id, **document} for id, document in documents.items() if id not in NO_TEXT]
        library.setup(DuplicateRule("fingerprint", text_field=FIELDS))
        list(library.ingest(items, id_field="_id"))
        library.group()
        return {row.id: (row.group, row.duplicate_of) for row in library.export()}


@pytest.mark.slow
def test_every_document_with_a_text_gets_the_links_that_an_ingest_gives(index: Index) -> None:
    documents = corpus(1_000)
    outcomes = index.fill(documents).backfill()
    assert [outcome.id for outcome in outcomes] == list(documents)
    assert {outcome.id for outcome in outcomes if outcome.outcome == "rejected"} == NO_TEXT
    expected = ingested(documents)
    assert len({group for group, _ in expected.values()}) < len(expected) - 200
    with Documents(index.address) as library:
        library.group()
    assert index.links() == expected


def test_nothing_is_changed_but_our_field(index: Index) -> None:
    documents = corpus(300)
    index.fill(documents).backfill()
    mapping = index.client.indices.get_mapping(index=index.name)[index.name]["mappings"]
    assert {name: mapping["properties"][name] for name in PROPERTIES} == PROPERTIES
    assert (mapping["_meta"]["owner"], mapping["dynamic"]) == ("web", "false")
    after = index.sources()
    assert {id for id, source in after.items() if "simhash" not in source} == NO_TEXT
    for id, source in after.items():
        source.pop("simhash", None)
        assert json.dumps(source) == json.dumps(documents[id])  # the order of the fields too


def test_a_second_call_looks_at_nothing_that_has_a_fingerprint(index: Index) -> None:
    index.fill(corpus(200)).backfill()
    before = index.versions()
    assert {outcome.id for outcome in index.backfill()} == NO_TEXT
    assert index.versions() == before


def test_with_a_filter_only_what_matches_gets_a_fingerprint(index: Index) -> None:
    documents = corpus(90)
    index.fill(documents).backfill(filter={"term": {"lang": "en"}})
    assert index.links().keys() == {id for id, document in documents.items() if document.get("lang") == "en"}
    index.backfill()
    assert index.links().keys() == documents.keys() - NO_TEXT


def test_again_looks_at_changed_texts_and_writes_no_others(index: Index) -> None:
    documents = corpus(120)
    index.fill(documents).backfill()
    text = {"title": "新", "content": {"body": "，".join(article(random.Random(1)))}}
    for id in ("doc-00050", "doc-00060"):
        index.client.update(index=index.name, id=id, doc=text)  # a partial update leaves our field as it was
    before = index.versions()
    with Documents(index.address) as library:
        library.group()
        assert before == index.versions()
        outcomes = {outcome.id: outcome.outcome for outcome in library.backfill(again=True)}
    assert {id for id, outcome in outcomes.items() if outcome == "updated"} == {"doc-00050", "doc-00060"}
    assert index.links()["doc-00060"] == ("doc-00050", "doc-00050")
    after = index.versions()
    written = {id for id in after if after[id] != before[id]}
    relinked = {id for id, (group, _) in index.links().items() if id in written}
    assert {"doc-00050", "doc-00060"} <= written == relinked
    assert len(written) < 10
    assert {o.outcome for o in index.backfill(again=True)} == {"unchanged", "rejected"}


def test_what_others_change_meanwhile_is_kept_and_gets_its_fingerprint_in_the_next_backfill(index: Index) -> None:
    documents = corpus(100)
    index.fill(documents)
    body = documents["doc-00020"]["content"]["body"]
    theirs: dict[str, Any] = {"title": "别人", "content": {"body": body}, "lang": "fr"}

    def happens() -> None:
        index.client.index(index=index.name, id="doc-00030", document=theirs)
        index.client.delete(index=index.name, id="doc-00031")

    documents_of_index = Documents(index.address)
    documents_of_index.setup(DuplicateRule("fingerprint", text_field=FIELDS))
    before(documents_of_index.store, "write", happens)
    outcomes = list(documents_of_index.backfill())
    assert [outcome.id for outcome in outcomes if outcome.outcome == "failed"] == ["doc-00030", "doc-00031"]
    assert index.sources()["doc-00030"] == theirs
    index.backfill()
    source = index.sources()["doc-00030"]
    assert source.pop("simhash")["digest"] == fingerprint("\n".join([theirs["title"], body])).digest
    assert source == theirs
    assert "doc-00031" not in index.sources()
    documents_of_index.close()
