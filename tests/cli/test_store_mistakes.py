"""A mistake about the store gives one line with the next step that is right for it, and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.cli import STORM, complaint, es_simhash, line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from elasticsearch import Elasticsearch

SEEN = b'{"user": "ann", "items": ["n1"]}\n'
SIMILAR = ["similar", STORM]
BACKFILL = ["backfill", "--text-field", "text"]

# --- SQLite ------------------------------------------------------------------------------------------------

# The file that is named, what is done to it, and what the line says. {store} is the address.
IN_SQLITE: dict[str, tuple[str, list[str], str]] = {
    "a mistyped name": ("new.db", SIMILAR, "(there is no such file): run `es-simhash init --store {store}`"),
    "a mistyped name in backfill": ("new.db", BACKFILL, "there is no such file"),
    "a mistyped name in remove": ("new.db", ["remove", "a"], "{store} is not set up (there is no such file)"),
    "a mistyped name in group": ("new.db", ["group"], "{store} is not set up (there is no such file)"),
    "a file of users": ("users.db", SIMILAR, "{store} holds only seen items: use another store"),
}


def test_a_mistake_in_sqlite_gives_one_line_with_the_right_next_step(tmp_path: Path) -> None:
    assert es_simhash("seen", "add", "--store", "sqlite:///users.db", cwd=tmp_path, stdin=SEEN).code == 0
    before = {path.name for path in tmp_path.iterdir()}
    for mistake, (file, arguments, says) in IN_SQLITE.items():
        store = f"sqlite:///{file}"
        said = complaint(es_simhash(*arguments, "--store", store, cwd=tmp_path))
        assert says.format(store=store) in said, mistake
        assert {path.name for path in tmp_path.iterdir()} == before, mistake


# --- Elasticsearch -----------------------------------------------------------------------------------------


def nothing(client: Elasticsearch, index: str) -> None:
    """Leave the index as it is."""


def empty(client: Elasticsearch, index: str) -> None:
    client.indices.create(index=index)


def with_documents(client: Elasticsearch, index: str) -> None:
    client.index(index=index, id="1", document={"text": STORM}, refresh=True)


def closed(client: Elasticsearch, index: str) -> None:
    client.indices.close(index=index)


def opened_with_a_write_block(client: Elasticsearch, index: str) -> None:
    client.indices.open(index=index, wait_for_active_shards=1)
    blocks(write=True)(client, index)


def blocks(**kinds: bool | None) -> Callable[[Elasticsearch, str], Any]:
    settings = {f"index.blocks.{kind}": value for kind, value in kinds.items()}
    return lambda client, index: client.indices.put_settings(index=index, settings=settings)


NOT_SET_UP = "to give its documents fingerprints, run `es-simhash backfill --text-field FIELD`"
# One index goes through these states, one after the other: what happens to it, the command, and what the line says.
IN_ELASTICSEARCH: list[tuple[str, Callable[[Elasticsearch, str], Any], list[str], str]] = [
    ("no index", nothing, ["ingest"], "{store} is not set up (there is no"),
    ("no index of users", nothing, ["seen", "add"], "run `es-simhash seen init --store {store}`"),
    ("empty", empty, SIMILAR, "run `es-simhash init --store {store}`"),
    ("no users", nothing, ["seen", "add"], "run `es-simhash seen init --store {store}`"),
    ("not set up", with_documents, ["ingest"], NOT_SET_UP),
    ("not set up, search", nothing, SIMILAR, NOT_SET_UP),
    ("not set up, with a field", nothing, ["ingest", "--text-field", "text"], NOT_SET_UP),
    ("not set up, backfill without a field", nothing, ["backfill"], NOT_SET_UP),
    ("mistyped", nothing, [*BACKFILL, "--store", "{store}x"], "{store}x: there is no such index: correct the name"),
    ("mistyped, search", nothing, [*SIMILAR, "--store", "{store}x"], "{store}x is not set up (there is no such index)"),
    ("closed", closed, SIMILAR, "run `es-simhash init --store {store}`"),
    ("closed, backfill", nothing, BACKFILL, "open it (POST {index}/_open)"),
    ("write block", opened_with_a_write_block, BACKFILL, "remove the block (PUT {index}/_settings"),
    ("read block", blocks(write=None, read=True), SIMILAR, "remove the block (PUT {index}/_settings"),
    ("metadata block", blocks(read=None, metadata=True), ["init"], "remove the block (PUT {index}/_settings"),
    ("read-only", blocks(metadata=None, read_only=True), BACKFILL, "remove the block (PUT {index}/_settings"),
]


@pytest.mark.elasticsearch
@pytest.mark.slow
def test_a_mistake_in_elasticsearch_gives_one_line_with_the_right_next_step(
    tmp_path: Path, elasticsearch_url: str, index_name: str, client: Elasticsearch
) -> None:
    store = f"{elasticsearch_url}/{index_name}"
    for mistake, happens, command, says in IN_ELASTICSEARCH:
        happens(client, index_name)
        arguments = [each.format(store=store) if "{store}" in each else each for each in command]
        if "--store" not in arguments:
            arguments += ["--store", store]
        stdin = SEEN if command[0] == "seen" else line("n1")
        done = es_simhash(*arguments, "--deadline", "0.5", cwd=tmp_path, stdin=stdin)
        last = done.err.splitlines()[-1]  # a backfill that began names the document before it
        assert (done.code, last.startswith("es-simhash: ")) == (1, True), mistake
        assert says.format(store=store, index=index_name) in last, mistake
    blocks(read_only=None)(client, index_name)
