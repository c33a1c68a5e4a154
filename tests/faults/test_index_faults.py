"""Faults of a whole index: they are said once, with what to do, and they end the run; nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli import es_simhash, line
from tests.faults import contents, news, unharmed

if TYPE_CHECKING:
    from pathlib import Path

    from elasticsearch import Elasticsearch

pytestmark = [pytest.mark.elasticsearch, pytest.mark.slow, pytest.mark.nightly]

NEWS = news()
FAULTS = {
    "blocks.write": ("FORBIDDEN/8/index write (api)", "remove the block (PUT "),
    "closed": ("index_closed_exception: closed", "open it"),
    "blocks.read_only_allow_delete": ("TOO_MANY_REQUESTS/12/disk usage exceeded", "make room on that disk"),
}
"""What the server says, and what we add. The last one is what it sets when a disk is full, and removes again."""


def begin(client: Elasticsearch, index: str, fault: str) -> None:
    if fault == "closed":
        client.indices.close(index=index)
    else:
        client.indices.put_settings(index=index, settings={f"index.{fault}": True})


def end(client: Elasticsearch, index: str, fault: str) -> None:
    if fault == "closed":
        client.indices.open(index=index, wait_for_active_shards=1)
    else:
        client.indices.put_settings(index=index, settings={f"index.{fault}": None})


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_says_the_fault_once_and_is_repeated_after_it(
    client: Elasticsearch, direct: str, index_name: str, tmp_path: Path, fault: str
) -> None:
    (tmp_path / "news.jsonl").write_bytes(b"".join(line(each["id"], each["text"]) for each in NEWS))
    command = ["news.jsonl", "--dead-letter", "dead", "--store", direct, "--workers", "0"]
    begin(client, index_name, fault)
    done = es_simhash("ingest", *command, "--deadline", "0", cwd=tmp_path)
    end(client, index_name, fault)
    assert done.code == 1
    assert all(part in done.err.splitlines()[-1] for part in FAULTS[fault])
    assert len(done.err.splitlines()) <= 6, "it is not said for each document"
    assert contents(direct) == {}
    assert es_simhash("ingest", *command, cwd=tmp_path).code == 0
    assert contents(direct) == unharmed(NEWS)[1]
