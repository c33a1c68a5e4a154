"""Faults of a whole index: they are said once, with what to do, and they end the run; nothing is lost."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from elasticsearch import Elasticsearch

from es_simhash import Documents, SeenItems
from es_simhash.errors import StoreError, StoreUnavailable
from tests.cli import es_simhash
from tests.faults import RULE, contents, ingest, news, unharmed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow, pytest.mark.nightly]

NEWS = news()
OPTIONS = ["--workers", "0", "--deadline", "0.5"]


class Server:
    """The index behind an address, as its administrator sees it."""

    def __init__(self, url: str, index: str) -> None:
        self.client = Elasticsearch(url)
        self.index = index

    def block(self, kind: str, value: bool | None = True) -> None:
        self.client.indices.put_settings(index=self.index, settings={f"index.blocks.{kind}": value})

    def close_index(self) -> None:
        self.client.indices.close(index=self.index)

    def open_index(self) -> None:
        self.client.indices.open(index=self.index, wait_for_active_shards=1)

    def make_strict(self) -> None:
        self.client.indices.put_mapping(index=self.index, dynamic="strict")

    def make_dynamic(self) -> None:
        self.client.indices.put_mapping(index=self.index, dynamic="true")


@pytest.fixture
def server(elasticsearch_url: str, direct: str, index_name: str) -> Iterator[Server]:
    server = Server(elasticsearch_url, index_name)
    yield server
    server.client.close()


FAULTS: dict[str, tuple[Callable[[Server], None], Callable[[Server], None], str, str]] = {
    "write block": (
        lambda server: server.block("write"),
        lambda server: server.block("write", None),
        "FORBIDDEN/8/index write (api)",
        "remove the block from the settings of the index",
    ),
    "read-only": (
        lambda server: server.block("read_only"),
        lambda server: server.block("read_only", None),
        "FORBIDDEN/5/index read-only (api)",
        "remove the block from the settings of the index",
    ),
    "closed": (Server.close_index, Server.open_index, "index_closed_exception: closed", "open it"),
    "full disk": (
        lambda server: server.block("read_only_allow_delete"),
        lambda server: server.block("read_only_allow_delete", None),
        "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark",
        "make room on that disk",
    ),
    "strict mapping": (
        Server.make_strict,
        Server.make_dynamic,
        "strict_dynamic_mapping_exception: mapping set to strict, dynamic introduction of [id] within [_doc]",
        "change the index or the documents",
    ),
}


def lines(documents: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_index_is_said_and_what_is_not_stored_can_be_ingested_again(
    server: Server, direct: str, tmp_path: Path, fault: str
) -> None:
    begin, end, reason, remedy = FAULTS[fault]
    with Documents(direct) as documents:  # otherwise the first ingest does this, before it reads a document
        documents.setup(rule=RULE, id_field="id")
    (tmp_path / "news.jsonl").write_bytes(lines(NEWS[:25]))
    begin(server)
    command = ["ingest", "news.jsonl", "--dead-letter", "dead", "--store", direct, *OPTIONS]
    done = es_simhash(*command, cwd=tmp_path, env={})
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("es-simhash: ")
    assert reason in last
    assert remedy in last
    assert len(done.err.splitlines()) <= 6, "it is not said for each document"
    dead = tmp_path / "dead"
    letters = [json.loads(line)["document"] for line in dead.read_bytes().splitlines()] if dead.exists() else []
    assert letters == NEWS[: len(letters)]
    end(server)
    assert contents(direct) == {}
    again = es_simhash("ingest", "dead" if letters else "news.jsonl", "--store", direct, *OPTIONS, cwd=tmp_path)
    assert again.code == 0
    assert contents(direct) == unharmed(letters or NEWS[:25])[1]


def test_a_full_disk_that_gets_room_again_changes_nothing(server: Server, direct: str) -> None:
    server.block("read_only_allow_delete")
    timer = threading.Timer(1.5, server.block, ["read_only_allow_delete", None])
    timer.start()
    started = time.monotonic()
    outcomes = ingest(direct, NEWS)
    assert time.monotonic() - started > 1
    timer.join()
    assert (outcomes, contents(direct)) == unharmed(NEWS)


@pytest.mark.parametrize("fault", ["write block", "closed", "full disk"])
def test_every_other_verb_names_the_fault(server: Server, direct: str, fault: str) -> None:
    begin, end, reason, _ = FAULTS[fault]
    kind = StoreUnavailable if fault == "full disk" else StoreError
    ingest(direct, NEWS)
    with Documents(direct, deadline=0.3) as documents, SeenItems(direct, deadline=0.3) as seen:
        seen.setup()
        seen.add("ann", [1])
        server.client.index(index=server.index, id="plain", document={"text": "x"}, refresh=True)
        before = contents(direct)
        calls: list[Callable[[], Any]] = [
            lambda: documents.remove(["0", "1"], rule=RULE),
            lambda: seen.add("ann", [2]),
            lambda: seen.add("bob", [2]),
            lambda: seen.forget("ann", [1]),
            lambda: seen.remove("ann"),
            lambda: list(documents.backfill(rule=RULE)),
        ]
        begin(server)
        for call in calls:
            with pytest.raises(kind) as raised:
                call()
            assert reason in str(raised.value)
        end(server)
        assert contents(direct) == before
        assert seen.unseen("ann", [1, 2]) == [2]
