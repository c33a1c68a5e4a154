"""``es-simhash backfill`` on an index that exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch.helpers import bulk

from tests.cli import HARVEST, STORM, STORM_NEAR, complaint, es_simhash

if TYPE_CHECKING:
    from pathlib import Path

    from elasticsearch import Elasticsearch

pytestmark = pytest.mark.elasticsearch

DOCUMENTS: dict[str, dict[str, Any]] = {
    "a": {"title": STORM[:20], "content": {"body": STORM[20:]}, "views": 1},
    "b": {"title": STORM_NEAR[:20], "content": {"body": STORM_NEAR[20:]}, "views": 2},
    "c": {"title": HARVEST, "lang": "zh"},
    "d": {"views": 3},
}


def test_documents_get_fingerprints_and_the_exit_code_says_whether_some_were_rejected(
    client: Elasticsearch, elasticsearch_url: str, index_name: str, tmp_path: Path
) -> None:
    bulk(client, [{"_id": id, "_index": index_name, **source} for id, source in DOCUMENTS.items()], refresh=True)
    words = f"backfill --workers 0 --store {elasticsearch_url}/{index_name}"
    done = es_simhash(
        f"{words} --text-field title,content.body --json --filter", '{"exists": {"field": "views"}}', cwd=tmp_path
    )
    assert done.code == 3
    *outcomes, counts = done.json
    assert {each["id"]: each["outcome"] for each in outcomes if each["id"] != "d"}.keys() == {"a", "b"}
    assert sum(each["duplicate_of"] is not None for each in outcomes) == 1
    assert (counts["total"], counts["rejected"]) == (3, 1)
    done = es_simhash(words, cwd=tmp_path)  # the store keeps the fields
    assert done.code == 3
    assert "no text in field 'title', 'content.body'" in done.err
    assert es_simhash(words, cwd=tmp_path).code == 1  # only a document that is rejected is left
    again = es_simhash(f"{words} --again --quiet --json", cwd=tmp_path)
    assert (again.code, [counts["unchanged"] for counts in again.json]) == (3, [3])
    stored = client.search(index=index_name, query={"exists": {"field": "simhash.digest"}})["hits"]["hits"]
    assert {hit["_id"] for hit in stored} == {"a", "b", "c"}
    assert all(hit["_source"].items() >= DOCUMENTS[hit["_id"]].items() for hit in stored)
    shown = es_simhash(
        f"remove --store {elasticsearch_url}/{index_name} --matching",
        '{"exists": {"field": "views"}}',
        cwd=tmp_path,
    )
    assert sorted(shown.out.splitlines()) == ["3 documents would be removed: add --yes to remove them", "a", "b", "d"]


def test_a_wrong_text_field_stops_it_with_one_line_before_anything_is_written(
    client: Elasticsearch, elasticsearch_url: str, index_name: str, tmp_path: Path
) -> None:
    news = ({"_id": str(number), "_index": index_name, "title": f"{STORM} {number}"} for number in range(150))
    bulk(client, news, refresh=True)
    words = f"backfill --workers 0 --store {elasticsearch_url}/{index_name} --text-field"
    assert "can be used. document '" in complaint(es_simhash(f"{words} titel", cwd=tmp_path))
    client.indices.refresh(index=index_name)
    assert client.count(index=index_name, query={"exists": {"field": "simhash.digest"}})["count"] == 0
    done = es_simhash(f"{words} title,bdoy", cwd=tmp_path)
    assert (done.code, "none of the first 150 documents has the field 'bdoy'" in done.err) == (0, True)
    bulk(client, ({"_id": f"x{number}", "_index": index_name, "n": 1} for number in range(150)), refresh=True)
    client.index(index=index_name, id="z", document={"title": STORM}, refresh=True)
    again = es_simhash(f"backfill --store {elasticsearch_url}/{index_name} --json", cwd=tmp_path)
    assert (again.code, again.json[-1]["rejected"], again.json[-1]["total"]) == (3, 150, 151)
