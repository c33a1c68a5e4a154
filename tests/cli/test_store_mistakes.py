"""A mistake about the store gives one line with the next step that is right for it, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from tests.cli import HARVEST, STORM, complaint, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERYTHING = '{"match_all": {}}'
SEEN = b'{"user": "ann", "items": ["n1"]}\n'
SIMILAR = ["similar", STORM]
BACKFILL = ["backfill", "--rule", "fingerprint", "--text-field", "text"]
REMOVE = ["remove", "--matching", EVERYTHING]

# --- SQLite ------------------------------------------------------------------------------------------------

# The file that is named, what is done to it, and what the line says. {store} is the address.
IN_SQLITE: dict[str, tuple[str, list[str], str]] = {
    "a mistyped name": ("new.db", SIMILAR, "{store} is not set up (there is no such file)"),
    "a mistyped name in backfill": ("new.db", BACKFILL, "there is no such file"),
    "a mistyped name in remove": ("new.db", ["remove", "a"], "{store} is not set up (there is no such file)"),
    "a mistyped name in group": ("new.db", ["group"], "{store} is not set up (there is no such file)"),
    "a file of users": ("users.db", SIMILAR, "{store} holds only seen items: use another store"),
    "a folder": ("folder", SIMILAR, "can't be written or opened: check the path and its permissions"),
    "removal of everything": (
        "news.db",
        REMOVE,
        "all 2 documents match: correct the query clause, or confirm that all of them are removed (everything=True;",
    ),
}


def test_a_mistake_in_sqlite_gives_one_line_with_the_right_next_step(tmp_path: Path) -> None:
    news = ["--store", "sqlite:///news.db"]
    assert (
        es_simhash("ingest", "--rule", "fingerprint", *news, cwd=tmp_path, stdin=line("a") + line("b", HARVEST)).code
        == 0
    )
    assert es_simhash("seen", "add", "--store", "sqlite:///users.db", cwd=tmp_path, stdin=SEEN).code == 0
    (tmp_path / "folder").mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    for mistake, (file, arguments, says) in IN_SQLITE.items():
        store = f"sqlite:///{file}"
        said = complaint(es_simhash(*arguments, "--store", store, cwd=tmp_path))
        assert says.format(store=store) in said, mistake
        assert {path.name for path in tmp_path.iterdir()} == before, mistake
    assert es_simhash(*REMOVE, "--yes", *news, cwd=tmp_path).out == "removed 2 documents\n"


# --- Elasticsearch -----------------------------------------------------------------------------------------


def blocked(kind: str) -> Callable[..., None]:
    def block(client: Elasticsearch, index: str, store: str, folder: Path) -> None:
        client.indices.put_settings(index=index, settings={f"index.blocks.{kind}": True})

    return block


def unblocked(kind: str) -> Callable[..., None]:
    def unblock(client: Elasticsearch, index: str, store: str, folder: Path) -> None:
        client.indices.put_settings(index=index, settings={f"index.blocks.{kind}": None})

    return unblock


def nothing(client: Elasticsearch, index: str, store: str, folder: Path) -> None:
    """Leave the index as it is."""


def empty(client: Elasticsearch, index: str, *rest: Any) -> None:
    client.indices.create(index=index)


def with_documents(client: Elasticsearch, index: str, *rest: Any) -> None:
    client.index(index=index, id="1", document={"text": STORM}, refresh=True)


def closed(client: Elasticsearch, index: str, *rest: Any) -> None:
    client.indices.close(index=index)


def opened(client: Elasticsearch, index: str, *rest: Any) -> None:
    client.indices.open(index=index, wait_for_active_shards=1)


NOT_SET_UP = "to give its documents fingerprints, run `es-simhash backfill --text-field FIELD`"
# One index goes through these states, one after the other: what happens to it, the command, and what the line says.
IN_ELASTICSEARCH: list[tuple[str, Callable[..., None], list[str], str]] = [
    ("no index", nothing, ["ingest"], "{store} is not set up (there is no"),
    ("no index of users", nothing, ["seen", "add"], "run `es-simhash seen init --store {store}`"),
    ("empty", empty, SIMILAR, "run `es-simhash init --store {store}`"),
    ("no users", nothing, ["seen", "add"], "run `es-simhash seen init --store {store}`"),
    ("not set up", with_documents, ["ingest"], NOT_SET_UP),
    ("not set up, search", nothing, SIMILAR, NOT_SET_UP),
    ("mistyped", nothing, [*BACKFILL, "--store", "{store}x"], "{store}x: there is no such index: correct the name"),
    ("mistyped, search", nothing, [*SIMILAR, "--store", "{store}x"], "{store}x is not set up (there is no such index)"),
    ("closed", closed, SIMILAR, "run `es-simhash init --store {store}`"),
    ("closed, backfill", nothing, BACKFILL, "open it (POST {index}/_open)"),
    ("write block", blocked("write"), BACKFILL, "remove the block (PUT {index}/_settings"),
    ("read block", blocked("read"), SIMILAR, "remove the block (PUT {index}/_settings"),
    ("metadata block", blocked("metadata"), ["init"], "remove the block (PUT {index}/_settings"),
    ("read-only", blocked("read_only"), BACKFILL, "remove the block (PUT {index}/_settings"),
    (
        "removal of everything",
        nothing,
        REMOVE,
        "all 2 documents match: correct the query clause, or confirm that all of them are removed (everything=True;",
    ),
]
BEFORE: dict[str, list[Callable[..., None]]] = {
    "write block": [opened],
    "read block": [unblocked("write")],
    "metadata block": [unblocked("read")],
    "read-only": [unblocked("metadata")],
}


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_a_mistake_in_elasticsearch_gives_one_line_with_the_right_next_step(
    tmp_path: Path, elasticsearch_url: str, index_name: str
) -> None:
    store = f"{elasticsearch_url}/{index_name}"
    with Elasticsearch(elasticsearch_url, request_timeout=60) as client:
        for mistake, happens, command, says in IN_ELASTICSEARCH:
            if mistake == "removal of everything":
                client.indices.put_settings(index=index_name, settings={"index.blocks.read_only": None})
                assert es_simhash(*BACKFILL, "--store", store, cwd=tmp_path).code == 0
                assert (
                    es_simhash("ingest --rule fingerprint --store", store, cwd=tmp_path, stdin=line("b", HARVEST)).code
                    == 0
                )
            for step in BEFORE.get(mistake, []):
                step(client, index_name, store, tmp_path)
            happens(client, index_name, store, tmp_path)
            arguments = [each.format(store=store) if "{store}" in each else each for each in command]
            if "--store" not in arguments:
                arguments += ["--store", store]
            stdin = SEEN if command[0] == "seen" else line("n1")
            done = es_simhash(*arguments, "--deadline", "0.5", cwd=tmp_path, stdin=stdin)
            last = done.err.splitlines()[-1]  # a backfill that began names the document before it
            assert (done.code, last.startswith("es-simhash: ")) == (1, True), mistake
            assert says.format(store=store, index=index_name) in last, mistake
