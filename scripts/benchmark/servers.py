"""The server that is measured: Elasticsearch or OpenSearch, through its official client."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

INDEX = "es-simhash-benchmark"
"""The names of all indices begin with it."""
TIMEOUT = 3_600
"""Seconds. A force merge takes long."""
OPENSEARCH = "opensearch+"
SETTINGS = {"index": {"refresh_interval": "-1"}}
"""Usual for a bulk load."""


@dataclass(frozen=True)
class Server:
    """A server.

    :param store: the address of a store on it, without the index.
    """

    store: str

    @property
    def is_opensearch(self) -> bool:
        return self.store.startswith(OPENSEARCH)

    @property
    def product(self) -> str:
        return "OpenSearch" if self.is_opensearch else "Elasticsearch"

    @cached_property
    def client(self) -> Any:
        if self.is_opensearch:
            from opensearchpy import OpenSearch

            return OpenSearch(self.store.removeprefix(OPENSEARCH), timeout=TIMEOUT, pool_maxsize=10)
        from elasticsearch import Elasticsearch

        return Elasticsearch(self.store, request_timeout=TIMEOUT)

    @property
    def helpers(self) -> Any:
        """The module with ``parallel_bulk`` and ``scan`` of the client."""
        if self.is_opensearch:
            from opensearchpy import helpers

            return helpers
        from elasticsearch import helpers as of_elasticsearch

        return of_elasticsearch

    def description(self) -> str:
        """Return its version, and its nodes with their heaps."""
        version, nodes = self.client.info()["version"], self.nodes("jvm")
        heaps = ", ".join(f"{node['jvm']['mem']['heap_max_in_bytes'] / 2**30:.1f} GB" for node in nodes)
        numbers = f"{version['number']}, Lucene {version['lucene_version']}"
        return f"{self.product} {numbers}, {len(nodes)} node(s), heap {heaps}"

    def nodes(self, metric: str) -> list[dict[str, Any]]:
        """Return statistics of each node."""
        return list(self.client.nodes.stats(metric=metric)["nodes"].values())

    def seconds(self) -> float:
        """Return the processor time of all nodes. Others who use them are included."""
        return sum(node["process"]["cpu"]["total_in_millis"] for node in self.nodes("process")) / 1000

    @contextmanager
    def index(self, name: str) -> Iterator[str]:
        """Yield the name of an index that does not exist. It is deleted at the end."""
        index = f"{INDEX}-{name}"
        self.client.indices.delete(index=index, ignore_unavailable=True)
        try:
            yield index
        finally:
            self.client.indices.delete(index=index, ignore_unavailable=True)

    def for_bulk_load(self, index: str) -> None:
        """Give an index the settings of a bulk load."""
        self.client.indices.put_settings(index=index, **{"body" if self.is_opensearch else "settings": SETTINGS})

    def bytes_of(self, index: str) -> int:
        """Return what an index takes on the disk, as one segment."""
        self.client.indices.forcemerge(index=index, max_num_segments=1)
        self.client.indices.refresh(index=index)
        total: int = self.client.indices.stats(index=index)["_all"]["primaries"]["store"]["size_in_bytes"]
        return total

    def save(self, index: str, file: Path) -> None:
        """Write the documents of an index as lines of a bulk request."""
        with file.open("w", encoding="utf-8") as output:
            for hit in self.helpers.scan(self.client, index=index, size=1_000):
                output.write(f"{_action(hit['_id'])}\n{json.dumps(hit['_source'], ensure_ascii=False)}\n")

    def parallel_bulk(self, index: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Write pairs of lines by the client's ``parallel_bulk``, and refresh the index."""
        options: dict[str, Any] = {"thread_count": 4, "chunk_size": 500, "index": index}
        for ok, item in self.helpers.parallel_bulk(self.client, pairs, expand_action_callback=tuple, **options):
            assert ok, item
        self.client.indices.refresh(index=index)


def bulk_lines(file: Path, documents: Iterable[dict[str, Any]]) -> None:
    """Write documents as lines of a bulk request."""
    with file.open("w", encoding="utf-8") as output:
        for document in documents:
            output.write(f"{_action(document['id'])}\n{json.dumps(document, ensure_ascii=False)}\n")


def _action(id: str) -> str:
    return f'{{"index":{{"_id":"{id}"}}}}'
