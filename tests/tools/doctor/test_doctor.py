"""Doctor finds each broken set-up, says what to do, counts what the store holds, and makes nothing."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, Scheme
from es_simhash.tools.doctor import doctor
from tests.cli import HARVEST, STORM, STORM_NEAR, es_simhash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEWS = [{"id": "a", "text": STORM}, {"id": "b", "text": STORM_NEAR}, {"id": "c", "text": HARVEST}]


def mapping(client: Elasticsearch, index: str, **more: Any) -> dict[str, Any]:
    """The mapping that a set-up makes, and more. No index is left."""
    Documents(client, index=index).setup()
    made = client.indices.get_mapping(index=index)[index]["mappings"]
    client.indices.delete(index=index)
    return {**made, **more}


def with_mapping(**more: Any) -> Callable[[Elasticsearch, str], None]:
    def made(client: Elasticsearch, index: str) -> None:
        client.indices.create(index=index, mappings=mapping(client, index, **more))

    return made


def mistyped(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=f"{index}s")


def without_fields(client: Elasticsearch, index: str) -> None:
    client.index(index=index, id="1", document={"text": STORM}, refresh=True)


def block(kind: str) -> Callable[[Elasticsearch, str], None]:
    def blocked(client: Elasticsearch, index: str) -> None:
        client.indices.create(index=index, mappings=mapping(client, index))
        client.indices.put_settings(index=index, settings={f"index.blocks.{kind}": True})

    return blocked


def other_type(client: Elasticsearch, index: str) -> None:
    ours = mapping(client, index)
    ours["properties"]["simhash"]["properties"]["fp"] = {"type": "keyword"}
    client.indices.create(index=index, mappings=ours)


def alias_of_two(client: Elasticsearch, index: str) -> None:
    ours = mapping(client, index)
    for name in ("a", "b"):
        client.indices.create(index=f"{index}-{name}", mappings=ours)
        client.indices.put_alias(index=f"{index}-{name}", name=index)


def not_ours(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index, mappings=mapping(client, index))
    for number in range(3):
        client.index(index=index, id=str(number), document={"text": STORM}, refresh=True)


def without_shards(client: Elasticsearch, index: str) -> None:
    settings = {"index.routing.allocation.require._name": "no such node"}
    mappings = mapping(client, index)
    client.indices.create(index=index, mappings=mappings, settings=settings, wait_for_active_shards="0")


# What is broken: how it is made, the line that finds it, and what the line says.
BROKEN: dict[str, tuple[Callable[[Elasticsearch, str], None], str, str, str]] = {
    "mistyped name": (mistyped, "set-up", "problem", "there is no such index"),
    "not set up": (without_fields, "set-up", "problem", "has no fields of es_simhash"),
    "no _source": (with_mapping(_source={"enabled": False}), "_source", "problem", "keep whole documents"),
    "partial _source": (with_mapping(_source={"excludes": ["a"]}), "_source", "problem", "keep whole documents"),
    "required routing": (with_mapping(_routing={"required": True}), "routing", "problem", "requires routing"),
    "write block": (block("write"), "blocks", "problem", 'PUT {index}/_settings {{"index.blocks.write": null}}'),
    "full disk": (block("read_only_allow_delete"), "blocks", "problem", "make room on that disk"),
    "a field of another type": (other_type, "set-up", "problem", "maps `simhash.fp` as"),
    "an alias of two indices": (alias_of_two, "index", "problem", "name one of them"),
    "strict mapping": (with_mapping(dynamic="strict"), "mapping", "advice", "is refused"),
    "no shard is started": (without_shards, "bytes", "problem", "allocation/explain says why"),
    "documents of other programs": (not_ours, "fingerprints", "advice", "3 documents have none: run `es-simhash backf"),
}


@pytest.mark.elasticsearch
def test_doctor_finds_each_broken_index_and_says_what_to_do(elasticsearch_url: str, index_name: str) -> None:
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        for number, (kind, (make, name, status, says)) in enumerate(BROKEN.items()):
            index = f"{index_name}-{number}"
            try:
                make(client, index)
                diagnosis = doctor(Documents(client, index=index, deadline=1))
                lines = [check for check in diagnosis.checks if check.name == name]
                assert [check.status for check in lines] == [status], (kind, diagnosis)
                assert says.format(index=index) in lines[0].text, (kind, diagnosis)
                assert all("\n" not in check.text for check in diagnosis.checks)
                assert diagnosis.ok == (status == "advice"), (kind, diagnosis)
            finally:
                for each in client.indices.resolve_index(name=f"{index}*", expand_wildcards="all")["indices"]:
                    client.indices.delete(index=each["name"])


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


def ready(path: Path, scheme: Scheme | None = None) -> None:
    with Documents(f"sqlite:///{path}", scheme=scheme) as documents:
        documents.add_many({"id": n, "text": f"{STORM}{n}" * 9} for n in range(200))


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
    "no database": (lambda path: path.write_bytes(b"a text" * 500), "set-up", "problem", "not an SQLite database"),
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
