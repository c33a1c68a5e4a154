"""Documents that other programs stored in Elasticsearch, with random values in our field."""

from __future__ import annotations

import random
from contextlib import closing, suppress

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule
from es_simhash.errors import InputError
from es_simhash.ingest.reader import SIMHASH_FIELDS
from tests.fuzz.mutations import changed
from tests.fuzz.targets import _SIMHASH, OTHER, TEXT

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow]


def test_random_values_in_our_field_stop_no_verb(elasticsearch_url: str, index_name: str) -> None:
    rng = random.Random("elasticsearch")
    good = [{"id": "good", "text": TEXT}, {"id": "copy", "text": TEXT}]
    with (
        closing(Elasticsearch(elasticsearch_url, request_timeout=60)) as client,
        Documents(f"{elasticsearch_url}/{index_name}", request_timeout=60) as documents,
    ):
        documents.setup(keys=True)
        ours = {row.id: row for row in _ingested(documents, good)}
        template = client.get(index=index_name, id="good")["_source"]["simhash"]
        lines = []
        for number in range(1_000):
            simhash = rng.choice([template, _SIMHASH])
            for _ in range(rng.randint(1, 4)):
                simhash = changed(rng, simhash, sorted(SIMHASH_FIELDS))
            lines += ({"index": {"_id": str(number)}}, {"id": str(number), "text": TEXT, "simhash": simhash})
        results = client.bulk(index=index_name, operations=lines, refresh=True)["items"]
        stored = {item["index"]["_id"] for item in results if item["index"]["status"] < 300}
        assert len(stored) > 100, "the server refuses the others"
        outcomes = {o.id: o for o in documents.ingest([{"id": id, "text": OTHER} for id in sorted(stored)[:50]])}
        assert {o.outcome for o in outcomes.values()} <= {"failed", "updated", "new"}
        assert all(f"'{id}' is stored with" in (o.reason or "") for id, o in outcomes.items() if o.outcome == "failed")
        assert "failed" in {o.outcome for o in outcomes.values()}
        assert {match.id for match in documents.similar(TEXT)} >= {"good", "copy"}
        assert [o.stored for o in documents.ingest([{"id": "new", "text": TEXT}])] == [True]
        for id in sorted(stored):
            with suppress(InputError):
                documents.similar_to(id)
        assert {row.id for row in documents.export()} >= ours.keys()
        documents.group()
        again = {o.id: o for o in documents.backfill(rule=DuplicateRule(text_field="text"), again=True)}
        assert again.keys() >= stored | ours.keys()
        assert not [o for o in again.values() if o.outcome == "failed"]
        assert not [row for row in documents.fetch(sorted(stored)).values() if row.damaged]
        documents.group()
        assert documents.remove_matching({"match_all": {}}) == len(stored) + 3


def _ingested(documents: Documents, given: list[dict[str, str]]) -> list:  # type: ignore[type-arg]
    assert all(outcome.stored for outcome in documents.ingest(given))
    return list(documents.export())
