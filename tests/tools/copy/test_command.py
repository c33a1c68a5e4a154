"""``es-simhash copy``: the new store is what an ingest of the same documents makes, in the order of their writing."""

from __future__ import annotations

import json
import random
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, Scheme
from es_simhash.tools.copy import setup_for_copy, whole_documents
from tests.cli import COMMAND, HARVEST, STORM, STORM_NEAR, complaint, environment, es_simhash, line
from tests.cli.test_resume import in_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD, NEW, REFERENCE = (f"sqlite:///{name}.db" for name in ("old", "new", "reference"))
COPY = (
    "copy",
    "--rule",
    "fingerprint",
    "--from",
    OLD,
    "--to",
    NEW,
    "--bits",
    "128",
    "--keys",
    "--workers",
    "0",
    "--json",
)


def news(count: int) -> list[dict[str, Any]]:
    chance = random.Random(5)
    words = [STORM[start : start + 4] for start in range(0, len(STORM) - 4, 4)]
    texts = ["短"]
    for _ in range(count - 1):
        near = chance.choice(texts) + chance.choice(["", "。", "又及"])
        texts.append(near if chance.random() < 0.5 else "，".join(chance.sample(words, 12)))
    return [{"id": f"n{number}", "text": text, "page": number} for number, text in enumerate(texts)]


def written(folder: Path, name: str) -> list[Any]:
    return in_sqlite(f"sqlite:///{folder}/{name}.db")


@pytest.fixture
def reference(tmp_path: Path) -> list[Any]:
    """An old store, whose order of writing is not the order of its ids; and what an ingest in that order makes."""
    documents = news(300)
    with Documents(f"sqlite:///{tmp_path}/old.db") as old:
        list(
            old.ingest([{"id": "n7", "text": HARVEST}, *documents], rule="fingerprint")
        )  # n7 comes again, and is rejected
        list(old.ingest([documents[7]], rule="fingerprint"))  # another text: it is written last
    again = [document for document in documents if document["id"] != "n7"] + [documents[7]]
    with Documents(f"sqlite:///{tmp_path}/reference.db", scheme=Scheme(bits=128)) as new:
        new.setup(keys=True)
        list(new.ingest(again, rule="fingerprint"))
    return written(tmp_path, "reference")


def test_the_new_store_is_what_an_ingest_of_the_same_documents_makes(tmp_path: Path, reference: list[Any]) -> None:
    before = written(tmp_path, "old")
    done = es_simhash(*COPY, "--resume", "x", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert written(tmp_path, "new") == reference
    assert written(tmp_path, "old") == before
    assert not (tmp_path / "x").exists()
    assert es_simhash(*COPY, cwd=tmp_path).json[-1]["unchanged"] == 300


@pytest.mark.slow
def test_killed_and_resumed_it_makes_the_same_while_the_old_store_changes(tmp_path: Path, reference: list[Any]) -> None:
    command = [*COPY, "--resume", "x", "--batch-size", "20"]
    for after in (100, 1, 50):
        with subprocess.Popen(
            [*COMMAND, *command], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, encoding="utf-8"
        ) as process:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(after)][-1]
            process.kill()
        assert process.returncode < 0
        with Documents(f"sqlite:///{tmp_path}/old.db") as old:
            old.remove(
                ["n3"], rule="fingerprint"
            )  # it is copied already: what comes before the position does not count
    done = es_simhash(*command, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert written(tmp_path, "new") == reference
    assert len(done.json) < 200


def test_a_second_copy_takes_what_was_written_meanwhile(tmp_path: Path, reference: list[Any]) -> None:
    assert es_simhash(*COPY, cwd=tmp_path).code == 0
    with Documents(f"sqlite:///{tmp_path}/old.db") as old:
        old.add_many([{"id": "later", "text": HARVEST}, {"id": "n9", "text": STORM}], rule="fingerprint")
    counts = es_simhash(*COPY, cwd=tmp_path).json[-1]
    assert (counts["new"], counts["updated"], counts["unchanged"]) == (1, 1, 299)


def test_a_document_that_does_not_fit_is_named_and_kept(tmp_path: Path) -> None:
    stdin = line("a", STORM) + line("b", STORM_NEAR)
    assert es_simhash("ingest", "--rule", "fingerprint", "--store", OLD, cwd=tmp_path, stdin=stdin).code == 0
    done = es_simhash(*COPY, "--max-text", str(len(STORM) - 1), "--dead-letter", "x.dead", cwd=tmp_path)
    assert (done.code, done.json[-1]["rejected"]) == (1, 2)
    assert "document 'a': the text has" in done.out
    kept = es_simhash("ingest", "--rule", "fingerprint", "x.dead", "--id-field", "_id", "--store", NEW, cwd=tmp_path)
    assert (kept.code, kept.err) == (0, "")
    assert [row[-1] for row in written(tmp_path, "new")] == [row[-1] for row in written(tmp_path, "old")]


def test_the_new_store_keeps_the_rule_and_the_fields_of_the_old_one(tmp_path: Path) -> None:
    with Documents(f"sqlite:///{tmp_path}/old.db") as old:
        old.setup(rule="contained", confirm=0.7, text_field="body", id_field="url")
        old.add_many([{"url": "a", "body": STORM}, {"url": "b", "body": f"{HARVEST}{STORM}{HARVEST}"}])
        kept = old.store.describe_rule()
    assert es_simhash("copy", "--from", OLD, "--to", NEW, cwd=tmp_path).code == 0
    with Documents(f"sqlite:///{tmp_path}/new.db") as new:
        assert new.store.describe_rule() == kept
        assert (str(new.rule()), new.rule().text_fields, new.id_field()) == (
            "rule='contained', confirm=0.7",
            ("body",),
            "url",
        )
        assert new.add({"url": "c", "body": STORM}).duplicate_of == "a"
    assert written(tmp_path, "new")[:2] == written(tmp_path, "old")


def test_dead_letters_are_ingested_into_a_store_that_has_another_id_field(tmp_path: Path) -> None:
    stdin = b"".join(
        json.dumps({"url": id, "text": text}).encode() + b"\n" for id, text in (("a", STORM), ("b", "x" * 400))
    )
    assert es_simhash("ingest", "--id-field", "url", "--store", OLD, cwd=tmp_path, stdin=stdin).code == 0
    done = es_simhash(
        "copy --from", OLD, "--to", NEW, "--max-text", "300", "--dead-letter", "x.dead", "--json", cwd=tmp_path
    )
    assert (done.code, done.json[-1]["rejected"], done.json[-1]["new"]) == (3, 1, 1)
    kept = es_simhash("ingest", "x.dead", "--id-field", "_id", "--store", NEW, cwd=tmp_path)
    assert (kept.code, kept.err) == (0, "")
    assert [row[-1] for row in written(tmp_path, "new")] == [row[-1] for row in written(tmp_path, "old")]


def test_a_copy_under_another_rule_leaves_the_rule_of_the_old_store(tmp_path: Path) -> None:
    assert es_simhash("ingest", "--store", OLD, cwd=tmp_path, stdin=line("a", STORM)).code == 0
    again = ("copy", "--from", OLD, "--to", NEW)
    assert es_simhash(*again, "--rule", "exact", cwd=tmp_path).code == 0
    for name, rule in (("old", "copy"), ("new", "exact")):
        with Documents(f"sqlite:///{tmp_path}/{name}.db") as documents:
            assert documents.rule().rule == rule
    refused = complaint(es_simhash(*again, cwd=tmp_path))
    assert "has rule='exact', this call has rule='copy'" in refused


def test_a_mistake_gives_one_line_with_the_next_step(tmp_path: Path) -> None:
    for store, bits in ((OLD, "64"), (NEW, "64")):
        options = ("--store", store, "--bits", bits)
        assert es_simhash("ingest", "--rule", "fingerprint", *options, cwd=tmp_path, stdin=line("a", STORM)).code == 0
    before = written(tmp_path, "new")
    for arguments, problem in (
        (("--from", OLD, "--to", NEW, "--bits", "128"), "has the Scheme 1:64:"),
        (("--from", OLD, "--to", NEW, "--keys"), "has 1 document without keys: copy to a new"),
        (("--from", OLD, "--to", OLD), "--from and --to are one file"),
        (("--from", "sqlite:///odl.db", "--to", NEW), "odl.db does not exist (there are: old.db, new.db)"),
        (("--from", OLD, "--to", "sqlite:///x.db", "--switch-alias", "news"), "leave out --switch-alias"),
    ):
        assert problem in complaint(es_simhash("copy", "--rule", "fingerprint", *arguments, cwd=tmp_path))
    assert written(tmp_path, "new") == before
    assert not (tmp_path / "x.db").exists()


@pytest.mark.slow
def test_a_checkpoint_belongs_to_one_old_store(tmp_path: Path, reference: list[Any]) -> None:
    command = [*COMMAND, *COPY, "--resume", "x", "--batch-size", "20"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(50)][-1]
        process.kill()
    other = ["copy", "--rule", "fingerprint", "--from", REFERENCE, *COPY[5:], "--resume", "x"]
    assert "was created with --from sqlite:///old.db" in complaint(es_simhash(*other, cwd=tmp_path))


def test_a_program_copies_in_the_same_way(tmp_path: Path, reference: list[Any]) -> None:
    with (
        Documents(f"sqlite:///{tmp_path}/old.db") as old,
        Documents(f"sqlite:///{tmp_path}/new.db", scheme=Scheme(bits=128)) as new,
    ):
        setup_for_copy(new, old, keys=True)
        assert list(new.ingest(whole_documents(old), id_field="_id", rule="fingerprint"))
    assert written(tmp_path, "new") == reference


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_the_alias_goes_to_the_new_index_once_nothing_is_missing(
    tmp_path: Path, elasticsearch_url: str, make_index: Callable[[], str]
) -> None:
    old, new, alias, other = (make_index() for _ in range(4))
    addresses = ("--from", f"{elasticsearch_url}/{old}", "--to", f"{elasticsearch_url}/{new}")
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:

        def switch(name: str = alias) -> Any:
            return es_simhash(
                "copy --rule fingerprint",
                *addresses,
                "--bits",
                "128",
                "--workers",
                "0",
                "--switch-alias",
                name,
                cwd=tmp_path,
            )

        def holders() -> dict[str, Any]:
            return dict(client.indices.get_alias(name=alias).body)

        assert es_simhash("init", "--store", addresses[1], cwd=tmp_path).code == 0
        done = es_simhash(
            "ingest --rule fingerprint --store", addresses[1], cwd=tmp_path, stdin=line("a", STORM) + line("b", STORM)
        )
        assert done.code == 0
        assert "there is no alias" in complaint(switch())
        assert "is an index, so it cannot be an alias" in complaint(switch(old))
        assert "cannot be the name of an alias" in complaint(switch("a*"))
        properties = {"filter": {"exists": {"field": "text"}}, "is_write_index": True}
        client.indices.put_alias(index=old, name=alias, **properties)
        client.indices.create(index=other, aliases={alias: {}})
        assert f"is one of {other} too" in complaint(switch())
        client.indices.delete(index=other)
        assert not client.indices.exists(index=new)

        client.index(index=old, id="bare", document={"page": 1}, refresh=True)
        done = switch()
        assert (done.code, done.out.splitlines()[0]) == (3, "b  exact duplicate of a")
        assert "was not switched, because the new index lacks 1 document" in done.err
        assert set(holders()) == {old}

        client.delete(index=old, id="bare", refresh=True)
        assert switch().code == 0
        assert holders() == {new: {"aliases": {alias: properties}}}
        assert switch().code == 0  # it is done already
        sources = client.mget(index=new, ids=["a", "b"], source_excludes=["simhash"])["docs"]
        assert [each["_source"] for each in sources] == [{"id": "a", "text": STORM}, {"id": "b", "text": STORM}]
        assert client.get(index=new, id="b")["_source"]["simhash"]["duplicate_of"] == "a"
