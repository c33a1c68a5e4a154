"""The server that is measured: Elasticsearch or OpenSearch, through its official client."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
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
    """

    store: str

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

    @cached_property
    def product(self) -> str:
        kind = "OpenSearch" if self.is_opensearch else "Elasticsearch"
        return f"{kind} {self.client.info()['version']['number']}"

    def description(self) -> str:
        """Return its version, and its nodes with their heaps."""
        nodes = self.nodes("jvm")
        heaps = ", ".join(f"{node['jvm']['mem']['heap_max_in_bytes'] / 2**30:.1f} GB" for node in nodes)
        lucene = self.client.info()["version"]["lucene_version"]
        return f"{self.product}, Lucene {lucene}, {len(nodes)} node(s), heap {heaps}"

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

    def change(self, index: str, settings: dict[str, Any]) -> None:
        """Change settings of an index."""
        self.client.indices.put_settings(index=index, **{"body" if self.is_opensearch else "settings": settings})

    def searches(self, index: str, searches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the response to each search of a multi-search."""
        lines = [line for search in searches for line in ({"index": index}, search)]
        responses = self.client.msearch(**{"body" if self.is_opensearch else "searches": lines})["responses"]
        for response in responses:
            if "error" in response:
                raise RuntimeError(response["error"])
        return list(responses)

    def parallel_bulk(self, index: str, operations: Iterable[tuple[str, str]]) -> None:
        """Write pairs of lines by the client's ``parallel_bulk``, and refresh the index."""
        if self.is_opensearch:
            from opensearchpy.helpers import parallel_bulk
        else:
            from elasticsearch.helpers import parallel_bulk  # type: ignore[assignment]  # another signature
        options: dict[str, Any] = {"thread_count": 4, "chunk_size": 500, "index": index}
        for ok, item in parallel_bulk(self.client, operations, expand_action_callback=lambda pair: pair, **options):
            assert ok, item
        self.client.indices.refresh(index=index)

    def room(self, documents: int, bytes_each: int) -> None:
        """Check that the server has room, before anything is loaded. It stops writing to a disk that is 95 % full.

        :param bytes_each: on the disk for a document, with what merges need meanwhile.
        :raises TooSmall: the message says what is missing.
        """
        disks = [node["fs"]["total"] for node in self.nodes("fs")]
        free = sum(max(0, disk["available_in_bytes"] - disk["total_in_bytes"] // 20) for disk in disks)
        if free < documents * bytes_each:
            raise TooSmall(
                f"{documents:,} documents need {documents * bytes_each / 1e9:,.1f} GB on the server's disk, and "
                f"{free / 1e9:,.1f} GB are free: make room, or choose a smaller --size or --count"
            )


def with_our_fields(id: object, fingerprint: int, number: int, rng: random.Random, rest: str = "}") -> tuple[str, str]:
    """Return the two lines of a bulk request for a document with our fields, as an ingest writes them without keys.

    :param number: of the document in the order of writing.
    :param rest: of the JSON object, behind our field.
    """
    ours: dict[str, Any] = {"digest": f"{rng.getrandbits(128):032x}", "group": str(id)}
    ours |= {"written": number, "fp": fingerprint - (fingerprint >> 63 << 64)}
    ours |= {f"s{segment}": f"{fingerprint:016x}"[4 * segment : 4 * segment + 4] for segment in range(4)}
    return f'{{"index":{{"_id":"{id}"}}}}', f'{{"simhash":{json.dumps(ours, separators=(",", ":"))}{rest}'
