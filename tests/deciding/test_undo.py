"""What a removal saved comes back exactly: the index before and after are the same."""

from __future__ import annotations

import json
import random
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule, Fingerprinter, Scheme
from es_simhash.deciding.duplicates import remove_duplicates
from es_simhash.deciding.undo import Saved, restore
from es_simhash.errors import InputError, SchemeMismatch
from es_simhash.exact_json import dumps, loads
from tests.cli import HARVEST, STORM, STORM_FARTHER, STORM_NEAR, es_simhash
from tests.limited import resolved

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = '{"a": 1.0, "b": 1e3, "c": 12345678901234567890, "d": 0.10, "e": [-0.0, 1E-7, {"f": 3}], "g": "\\ud83d中"}'
TEXTS = (STORM, STORM_NEAR, STORM, STORM_FARTHER, HARVEST, f"{HARVEST}。", "短", "短")


def test_numbers_stay_as_they_are_written() -> None:
    assert dumps(loads(NUMBERS)) == NUMBERS.replace(": ", ":").replace(", ", ",")
    assert loads("0.10") == 0.1
    assert loads(dumps(loads("1e999"))) == float("inf")


def raw_sources(url: str, index: str, routing: str | None) -> dict[str, str]:
    """Return each document as the server writes it, with its routing."""
    with urllib.request.urlopen(f"{url}/{index}/_search?size=100") as answer:
        text = answer.read().decode()
    found = {hit["_id"]: f"{hit.get('_routing')} {dumps(hit['_source'])}" for hit in loads(text)["hits"]["hits"]}
    assert all(each.startswith(str(routing)) for each in found.values())
    return found


@pytest.mark.elasticsearch
@pytest.mark.parametrize("routing", [None, "acme"])
def test_a_strict_index_is_the_same_before_and_after(
    elasticsearch_url: str, index_name: str, tmp_path: Path, routing: str | None
) -> None:
    fields = {
        "body": {"type": "text"},
        "price": {"type": "double"},
        "count": {"type": "double"},
        "more": {"type": "object", "enabled": False},
    }
    store = f"{elasticsearch_url}/{index_name}" + (f"?routing={routing}" if routing else "")
    with Elasticsearch(elasticsearch_url) as client:
        client.indices.create(
            index=index_name, mappings={"dynamic": "strict", "properties": fields}, settings={"number_of_replicas": 0}
        )
        for number, body in enumerate(TEXTS):
            price = ("1.0", "1e3", "0.10")[number % 3]
            text = f'{{"body": {json.dumps(body)}, "price": {price}, "count": 12345678901234567890, "more": {NUMBERS}}}'
            client.perform_request(
                "PUT",
                f"/{index_name}/_doc/https%3A%2F%2Fa.cn%2F{number}" + (f"?routing={routing}" if routing else ""),
                headers={"content-type": "application/json", "accept": "application/json"},
                body=text,
            )
        client.indices.refresh(index=index_name)
        rule = ("--rule", "fingerprint", "--text-field", "body")
        assert es_simhash("backfill", *rule, "--max-distance", "7", "--store", store, cwd=tmp_path).code == 0
        assert es_simhash("group", *rule, "--max-distance", "7", "--store", store, cwd=tmp_path).code == 0
        client.indices.refresh(index=index_name)
        before = raw_sources(elasticsearch_url, index_name, routing)
        remove = ("remove", "--duplicates", *rule, "--yes", "--save", "removed.jsonl", "--store", store)
        done = es_simhash(*remove, "--max-distance", "7", cwd=tmp_path)
        assert "removed 5 documents" in done.out, done
        client.indices.refresh(index=index_name)
        assert len(raw_sources(elasticsearch_url, index_name, routing)) == len(TEXTS) - 5
        done = es_simhash("restore", "removed.jsonl", "--store", store, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("restored 5 documents, and the links of ")
        client.indices.refresh(index=index_name)
        assert raw_sources(elasticsearch_url, index_name, routing) == before


def test_the_links_of_what_stayed_come_back(tmp_path: Path) -> None:
    """In a chain the end is far from the head. It stays, and the removal gives it another original."""
    with Documents("sqlite:///:memory:") as documents:
        documents.setup(keys=True)
        chance = random.Random(7)
        texts, text = [], [f"词{number}" for number in range(120)]
        for _ in range(60):
            text[chance.randrange(120)] = f"新{chance.randrange(10**6)}"
            texts.append({"id": f"{len(texts)}", "text": "，".join(text)})
        documents.add_many(texts, rule=DuplicateRule("fingerprint", max_distance=6))
        documents.group(rule=DuplicateRule("fingerprint", max_distance=6))
        before = {row.id: row for row in documents.export()}
        ids = tuple(before)
        whole = documents.store.fetch_whole(ids)
        path = str(tmp_path / "removed")
        found = list(documents.duplicates(rule=DuplicateRule("fingerprint", max_distance=6)))
        rule = resolved(documents, rule="fingerprint", max_distance=6)
        with closing(Saved(documents.store, path, batch=2)) as saved:
            removed = remove_duplicates(documents.store, found, rule, saved=saved, batch=3)
        assert removed == len(found) > 3
        left = {row.id: row for row in documents.export()}
        changed = [id for id, row in left.items() if row != before[id]]
        report = restore(documents.store, path, deadline=0, batch=2)
        assert (report.restored, report.kept, report.refused) == (removed, (), {})
        assert report.relinked >= len(changed) > 0
        assert documents.store.fetch_whole(ids) == whole


def test_only_a_file_of_a_removal_is_restored(tmp_path: Path) -> None:
    path = tmp_path / "removed"
    with Documents("sqlite:///:memory:") as documents:
        documents.setup()
        documents.add_many([{"id": "a", "text": STORM}, {"id": "b", "text": STORM}])
        documents.remove_duplicates(list(documents.duplicates()), save=str(path))
        with pytest.raises(InputError, match=r"exists: name a new file \(save\)"):
            documents.remove_duplicates([], save=str(path))
        for text, says in (("", "no JSON object"), ('{"id": "a"}\n', "no file that a removal wrote")):
            (tmp_path / "other").write_text(text)
            with pytest.raises(InputError, match=says):
                documents.restore(str(tmp_path / "other"))
        with pytest.raises(InputError, match="cannot read"):
            documents.restore(str(tmp_path / "none"))
        path.write_bytes(path.read_bytes() + b'{"id": "c", "docu')  # interrupted before it was removed
        assert documents.restore(str(path)).restored == 1
    with Documents("sqlite:///:memory:", fingerprinter=Fingerprinter(Scheme(bits=128))) as documents:
        documents.setup()
        with pytest.raises(SchemeMismatch, match="restore it into a store with the former Scheme"):
            documents.restore(str(path))
