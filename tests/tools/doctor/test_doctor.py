"""Doctor finds each broken set-up, says what to do, counts what the store holds, and makes nothing."""

from __future__ import annotations

import copy
import json
import os
import re
import sqlite3
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, DuplicateRule, Scheme
from es_simhash.store.elastic.store import ElasticStore
from es_simhash.tools.doctor import doctor
from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash
from tests.store.documents import entry

if TYPE_CHECKING:
    from pathlib import Path

NEWS = [{"id": "a", "text": STORM}, {"id": "b", "text": STORM_NEAR}, {"id": "c", "text": HARVEST}]


@pytest.fixture(scope="module")
def mapping(elasticsearch_url: str) -> dict[str, Any]:
    """The mapping that a set-up makes."""
    index = f"test-{uuid.uuid4().hex[:16]}"
    with Elasticsearch(elasticsearch_url) as client:
        Documents(client, index=index).setup()
        made: dict[str, Any] = client.indices.get_mapping(index=index)[index]["mappings"]
        client.indices.delete(index=index)
    return made


Make = Callable[[Elasticsearch, str, dict[str, Any]], object]


def mapped(**more: Any) -> Make:
    """An index that is set up, with more in its mapping."""
    return lambda client, index, mapping: client.indices.create(index=index, mappings={**mapping, **more})


def with_setting(name: str, value: Any) -> Make:
    """An index that is set up, and has a setting."""
    return lambda client, index, mapping: client.indices.create(
        index=index, mappings=mapping, settings={name: value}, wait_for_active_shards="0"
    )


def other_type(client: Elasticsearch, index: str, mapping: dict[str, Any]) -> None:
    ours = copy.deepcopy(mapping)
    ours["properties"]["simhash"]["properties"]["fp"] = {"type": "keyword"}
    client.indices.create(index=index, mappings=ours)


def logs_with_source(client: Elasticsearch, index: str, mapping: dict[str, Any]) -> None:
    settings = {"mode": "logsdb", "mapping.source.mode": "stored"}
    client.indices.create(index=index, mappings=mapping, settings=settings)


def alias_of_two(client: Elasticsearch, index: str, mapping: dict[str, Any]) -> None:
    for name in ("a", "b"):
        client.indices.create(index=f"{index}-{name}", mappings=mapping, aliases={index: {}})


def not_ours(client: Elasticsearch, index: str, mapping: dict[str, Any]) -> None:
    client.indices.create(index=index, mappings=mapping)
    for number in range(3):
        client.index(index=index, id=str(number), document={"text": STORM}, refresh=True)


# What is broken: how it is made, the line that finds it, and what the line says.
BROKEN: dict[str, tuple[Make, str, str]] = {
    "mistyped name": (lambda client, index, _: client.indices.create(index=f"{index}s"), "set-up", "no such index"),
    "not set up": (lambda client, index, _: client.indices.create(index=index), "set-up", "no fields of es_simhash"),
    "no _source": (mapped(_source={"enabled": False}), "set-up", "does not keep its whole documents"),
    "partial _source": (mapped(_source={"excludes": ["a"]}), "set-up", "does not keep its whole documents"),
    "synthetic _source": (with_setting("mapping.source.mode", "synthetic"), "set-up", "from its fields (synthetic)"),
    "logs": (with_setting("mode", "logsdb"), "set-up", "from its fields (synthetic)"),
    "logs with a _source": (logs_with_source, "mode", "refuses a document without @timestamp"),
    "required routing": (mapped(_routing={"required": True}), "set-up", "requires routing"),
    "a missing pipeline": (with_setting("default_pipeline", "gone"), "pipeline", "'gone', is not there"),
    "a missing last pipeline": (with_setting("final_pipeline", "gone"), "pipeline", "the final_pipeline of"),
    "a small window": (with_setting("max_result_window", 5_000), "max_result_window", "allows 5,000, searches need"),
    "few terms": (with_setting("max_terms_count", 100), "max_terms_count", "allows 100, searches need up to 12,000"),
    "few values": (with_setting("max_docvalue_fields_search", 5), "max_docvalue_fields_search", "allows 5, searches"),
    "write block": (with_setting("blocks.write", True), "blocks", '_settings {"index.blocks.write": null}'),
    "full disk": (with_setting("blocks.read_only_allow_delete", True), "blocks", "make room on that disk"),
    "a field of another type": (other_type, "set-up", "maps `simhash.fp` as"),
    "an alias of two indices": (alias_of_two, "index", "name one of them"),
    "no shard is started": (with_setting("routing.allocation.require._name", "x"), "bytes", "allocation/explain"),
    "strict mapping": (mapped(dynamic="strict"), "mapping", "is refused"),
    "documents of other programs": (not_ours, "fingerprints", "3 documents have none: run `es-simhash backf"),
}
LEAST = {"max_result_window": 10_000, "max_terms_count": 12_000, "max_docvalue_fields_search": 10}
"""What doctor says that searches need."""
ADVICE = ["strict mapping", "documents of other programs"]
"""What is told and is no problem."""


@pytest.mark.elasticsearch
@pytest.mark.parametrize("kind", BROKEN)
def test_doctor_finds_each_broken_index_and_says_what_to_do(
    kind: str, mapping: dict[str, Any], elasticsearch_url: str, index_name: str
) -> None:
    make, name, says = BROKEN[kind]
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        make(client, index_name, mapping)
        diagnosis = doctor(Documents(client, index=index_name, deadline=1))
        for each in client.indices.resolve_index(name=f"{index_name}*", expand_wildcards="all")["indices"]:
            client.indices.delete(index=each["name"])
    [line] = [check for check in diagnosis.checks if check.name == name]
    assert (line.status, diagnosis.ok) == (("advice", True) if kind in ADVICE else ("problem", False)), diagnosis
    assert says in line.text
    assert all("\n" not in check.text for check in diagnosis.checks)


@pytest.mark.elasticsearch
@pytest.mark.parametrize("setting", LEAST)
def test_a_load_needs_no_more_than_doctor_says(client: Elasticsearch, index_name: str, setting: str) -> None:
    rule = DuplicateRule("fingerprint", max_distance=7)
    many = [{"id": str(number), "text": f"{STORM}{number * 7919}"} for number in range(120)]
    with Documents(client, index=index_name) as documents:
        documents.setup(rule)
        client.indices.put_settings(index=index_name, settings={setting: LEAST[setting]})
        assert len(list(documents.ingest(many))) == 120
        documents.add_many(({**one, "text": f"{one['text']}?"} for one in many), refresh=True)
        documents.similar_many([one["text"] for one in many], rule=rule)
        documents.group()
        assert len(list(documents.export())) == 120
        assert len(list(documents.backfill(again=True))) == 120
        assert documents.remove([one["id"] for one in many])
        assert doctor(documents).ok
        client.indices.put_settings(index=index_name, settings={setting: LEAST[setting] - 1})
        assert not doctor(documents).ok


@pytest.mark.elasticsearch
def test_the_number_of_very_many_groups_is_about(client: Elasticsearch, index_name: str) -> None:
    with Documents(client, index=index_name) as documents:
        documents.setup("fingerprint")
        entries = [
            entry(f"{kind}{number}", duplicate_of=None if kind == "a" else f"a{number}")
            for number in range(1_001)
            for kind in "ab"
        ]
        documents.store.write(entries[:-2])
        documents.store.refresh()
        lines = {check.name: check.text for check in doctor(documents).checks}
        assert lines["groups"].startswith("1,000 with")
        documents.store.write(entries[-2:])
        documents.store.refresh()
        lines = {check.name: check.text for check in doctor(documents).checks}
        assert re.match(r"about (99|1,00)\d with", lines["groups"])


@pytest.mark.elasticsearch
@pytest.mark.opensearch
def test_doctor_counts_what_an_index_and_a_file_hold_and_finds_no_problem(
    elasticsearch_url: str, opensearch_url: str, index_name: str, tmp_path: Path
) -> None:
    servers = [f"{elasticsearch_url}/{index_name}", f"opensearch+{opensearch_url}/{index_name}"]
    for address in (*servers, f"sqlite:///{tmp_path}/news.db"):
        with Documents(address) as documents:
            documents.setup()
            documents.add_many(NEWS, refresh=True)
            diagnosis = doctor(documents)
            assert diagnosis.ok, diagnosis
            lines = {check.name: check.text for check in diagnosis.checks}
            assert lines["documents"] == "3, of which 1 are copies of others"
            assert lines["groups"] == "1 with two or more documents; the largest: a (2)"
            assert lines["rule"] == "copy"
            assert Scheme().version in lines["set-up"]
            assert int(lines["bytes"].split()[0].replace(",", "")) > 1_000
            if address.startswith("opensearch"):
                assert isinstance(documents.store, ElasticStore)
                documents.store.connection.client.indices.delete(index=index_name)


def test_a_server_that_cannot_be_reached_is_a_problem_and_the_command_exits_with_1(tmp_path: Path) -> None:
    done = es_simhash("doctor --json --deadline 0 --store http://127.0.0.1:1/news", cwd=tmp_path)
    assert done.code == 1
    [diagnosis] = done.json
    assert (diagnosis["ok"], {check["status"] for check in diagnosis["checks"]}) == (False, {"problem"})
    assert "check the address" in diagnosis["checks"][0]["text"]


def test_the_command_prints_a_line_for_each_check(tmp_path: Path) -> None:
    (tmp_path / "news.jsonl").write_text("".join(json.dumps(each) + "\n" for each in NEWS))
    assert es_simhash("ingest", "news.jsonl", "--workers", "0", "--store", "sqlite:///n.db", cwd=tmp_path).code == 0
    done = es_simhash("doctor --store sqlite:///n.db", cwd=tmp_path)
    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()] == [
        *("set-up", "rule", "rights", "integrity", "documents", "groups", "bytes")
    ]


def ready(path: Path) -> None:
    with Documents(f"sqlite:///{path}") as documents:
        documents.add_many({"id": n, "text": str(n), "more": STORM * 9} for n in range(200))


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()


def damaged(path: Path) -> None:
    ready(path)
    with path.open("r+b") as file:
        file.seek(4096 * 5)
        file.write(b"\xff" * 4096 * 3)


FILES: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "mistyped name": (lambda path: ready(path.with_name("new.db")), "set-up", "advice", "there is no such file"),
    "a folder": (lambda path: path.mkdir(), "set-up", "problem", "check the path"),
    "no database": (lambda path: path.write_bytes(b"a text" * 500), "set-up", "problem", "file is not a database"),
    "of another program": (other_program, "set-up", "problem", "is the database of another program"),
    "damaged": (damaged, "integrity", "problem", "restore it from a copy"),
}


@pytest.mark.parametrize("kind", FILES)
def test_doctor_finds_each_broken_file_and_says_what_to_do(kind: str, tmp_path: Path) -> None:
    make, name, status, says = FILES[kind]
    path = tmp_path / "news.db"
    make(path)
    before = sorted(tmp_path.iterdir())
    with Documents(f"sqlite:///{path}") as documents:
        diagnosis = doctor(documents)
    lines = [check for check in diagnosis.checks if check.name == name]
    assert [check.status for check in lines] == [status], diagnosis
    assert says in lines[0].text
    assert diagnosis.ok == (status == "advice")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.posix
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_doctor_says_what_the_user_may_not_write(tmp_path: Path) -> None:
    path = tmp_path / "news.db"
    ready(path)
    path.chmod(0o400)
    with Documents(f"sqlite:///{path}") as documents:
        (rights,) = [check for check in doctor(documents).checks if check.name == "rights"]
    assert (rights.status, f"may not write {path}" in rights.text) == ("advice", True)


def test_a_store_in_memory_is_looked_at_without_a_server() -> None:
    with Documents("memory://") as documents:
        assert [check.status for check in doctor(documents).checks] == ["problem"]
        documents.setup()
        assert doctor(documents).ok
