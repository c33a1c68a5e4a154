"""The server that records requests, and a client of a real one, for the tests of this folder."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from elasticsearch import Elasticsearch

from tests.stores.elasticsearch.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with recorder.server as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield recorder
        server.shutdown()


@pytest.fixture
def client(elasticsearch_url: str, index_name: str) -> Iterator[Elasticsearch]:
    """Yield a client. Afterwards the index is deleted, with those that it rolled over to and their template."""
    with Elasticsearch(elasticsearch_url) as client:
        yield client
        client.options(ignore_status=404).indices.delete_index_template(name=f"es-simhash-{index_name}")
        for name in client.indices.get(index=f"{index_name}*"):
            client.indices.delete(index=name)
