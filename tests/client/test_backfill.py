"""Backfill gives the documents of an index that was there before fingerprints the links that an ingest gives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import bulk

from es_simhash import Documents, DuplicateRule

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

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

    def fill(self, documents: dict[str, dict[str, Any]]) -> Index:
        mappings = {"dynamic": "false", "properties": PROPERTIES}
        self.client.indices.create(index=self.name, mappings=mappings)
        actions = ({"_index": self.name, "_id": id, "_source": document} for id, document in documents.items())
        bulk(self.client, actions, refresh=True)
        return self

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

    def backfill(self, *, again: bool = False) -> list[Any]:
        with Documents(self.address) as library:
            library.setup(DuplicateRule("fingerprint", text_field=FIELDS))
            return list(library.backfill(again=again))


@pytest.fixture
def index(client: Elasticsearch, elasticsearch_url: str, index_name: str) -> Index:
    return Index(client, elasticsearch_url, index_name)


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
