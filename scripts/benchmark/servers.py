"""The servers that are measured: Elasticsearch and OpenSearch, each through its official client."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

INDEX = "es-simhash-benchmark"
"""The names of all indices begin with it."""
TIMEOUT = 3_600
"""Seconds. A force merge takes long."""
OPENSEARCH = "opensearch+"


class TooSmall(Exception):
    """The server is too small for the size that was asked for."""


@dataclass
class Server:
    """A server.

    :param store: the address of a store on it, without the index.
    :param alone: it is the only one that is measured.
    """

    store: str
    alone: bool = True

    @property
    def is_opensearch(self) -> bool:
        return self.store.startswith(OPENSEARCH)

    @cached_property
    def client(self) -> Any:
        if self.is_opensearch:
            from opensearchpy import OpenSearch

            return OpenSearch(self.store.removeprefix(OPENSEARCH), timeout=TIMEOUT, pool_maxsize=10)
        from elasticsearch import Elasticsearch

        return Elasticsearch(self.store, request_timeout=TIMEOUT)

    @property
    def kind(self) -> str:
        return "OpenSearch" if self.is_opensearch else "Elasticsearch"

    @cached_property
    def product(self) -> str:
        return f"{self.kind} {self.client.info()['version']['number']}"

    def named(self, what: str) -> str:
        """Return the name of a contender. It says on which server, if there are several."""
        return what if self.alone else f"{self.product}, {what}"

    def description(self) -> str:
        """Return its version, and its nodes with their heaps."""
        nodes = self.nodes("jvm")
        heaps = ", ".join(f"{node['jvm']['mem']['heap_max_in_bytes'] / 2**30:.1f} GB" for node in nodes)
        lucene = self.client.info()["version"]["lucene_version"]
        return f"{self.product}, Lucene {lucene}, {len(nodes)} node(s), heap {heaps}"

    def nodes(self, *metrics: str) -> list[dict[str, Any]]:
        """Return statistics of each node."""
        return list(self.client.nodes.stats(metric=",".join(metrics))["nodes"].values())

    def seconds(self) -> float:
        """Return the processor time of all nodes."""
        return sum(node["process"]["cpu"]["total_in_millis"] for node in self.nodes("process")) / 1000

    # --- indices ---------------------------------------------------------------------------------------------------

    @contextmanager
    def index(self, name: str) -> Iterator[str]:
        """Yield the name of an index that does not exist. It is deleted at the end."""
        index = f"{INDEX}-{name}"
        self.client.indices.delete(index=index, ignore_unavailable=True)
        try:
            yield index
        finally:
            self.client.indices.delete(index=index, ignore_unavailable=True)

    def create(self, index: str, **body: Any) -> None:
        """Create an index, with or without ``mappings``."""
        options = {"body": body} if self.is_opensearch else body
        self.client.indices.create(index=index, **options)

    def change(self, index: str, settings: dict[str, Any]) -> None:
        """Change settings of an index."""
        self.client.indices.put_settings(index=index, **{"body" if self.is_opensearch else "settings": settings})

    def merge(self, index: str) -> None:
        """Merge an index to one Lucene segment."""
        self.client.indices.forcemerge(index=index, max_num_segments=1)
        self.client.indices.refresh(index=index)

    def put(self, index: str, id: str, document: dict[str, Any]) -> None:
        """Write a document."""
        self.client.index(index=index, id=id, **{"body" if self.is_opensearch else "document": document})

    # --- requests --------------------------------------------------------------------------------------------------

    def searches(self, index: str, searches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the response to each search of a multi-search."""
        lines = [line for search in searches for line in ({"index": index}, search)]
        responses = self.client.msearch(**{"body" if self.is_opensearch else "searches": lines})["responses"]
        for each in responses:
            if "error" in each:
                raise RuntimeError(each["error"])
        return list(responses)

    def parallel_bulk(self, index: str, operations: Iterable[Any], threads: int, chunk: int) -> None:
        """Write pairs of lines by the client's ``parallel_bulk``."""
        if self.is_opensearch:
            from opensearchpy.helpers import parallel_bulk
        else:
            from elasticsearch.helpers import parallel_bulk
        options = {"thread_count": threads, "chunk_size": chunk, "index": index}
        for ok, item in parallel_bulk(self.client, operations, expand_action_callback=lambda each: each, **options):
            assert ok, item

    def room(self, documents: int, bytes_each: int, heap: int = 0) -> None:
        """Check that the server has room, before anything is loaded.

        :param bytes_each: on the disk for a document, with what merges need meanwhile.
        :param heap: bytes of heap that the smallest data node must have.
        :raises TooSmall: the message says what is missing.
        """
        free, smallest_heap = self._room()
        if free < documents * bytes_each:
            raise TooSmall(
                f"{documents:,} documents need {documents * bytes_each / 1e9:,.1f} GB on the server's disk, and "
                f"{free / 1e9:,.1f} GB are free: make room, or choose a smaller --size or --count"
            )
        if smallest_heap < heap:
            raise TooSmall(
                f"{documents:,} documents need a heap of {heap / 2**30:.1f} GB, and a node has "
                f"{smallest_heap / 2**30:.1f} GB: start it with more (ES_JAVA_OPTS=-Xmx), or choose a smaller --count"
            )

    def _room(self) -> tuple[int, int]:
        """Return the free bytes of the data nodes before their disks are too full to write, and the smallest heap.

        The servers stop writing to a disk that is 95 % full.
        """
        nodes = self.nodes("fs", "jvm")
        data = [node for node in nodes if any(role.startswith("data") for role in node.get("roles", ["data"]))]
        totals = [node["fs"]["total"] for node in data]
        free = sum(max(0, each["available_in_bytes"] - each["total_in_bytes"] // 20) for each in totals)
        return free, min(node["jvm"]["mem"]["heap_max_in_bytes"] for node in data)


def servers_of(stores: Sequence[str]) -> list[Server]:
    """Return the servers at these addresses."""
    return [Server(store.rstrip("/"), alone=len(stores) == 1) for store in stores]
