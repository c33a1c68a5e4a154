"""A transport for the official clients that records what goes over the wire, and answers without a server.

The clients of Elasticsearch and OpenSearch are real. Only the class of their connections is ours. The answers are those
of an index that keeps documents by their ids, with sequence numbers. Its searches find nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders
from elastic_transport._node import NodeApiResponse  # it is not exported
from elasticsearch import Elasticsearch
from opensearchpy import Connection, OpenSearch

if TYPE_CHECKING:
    from collections.abc import Callable

INDEX = "news"
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
HITS = {"timed_out": False, "_shards": SHARDS, "id": "pit", "pit_id": "pit", "hits": {"hits": []}}
"""The body of the response to a search."""


@dataclass(frozen=True)
class Sent:
    """A request.

    :param path: with escaped characters, as it was sent.
    :param body: as bytes; empty if there is none.
    """

    method: str
    path: str
    body: bytes

    @property
    def json(self) -> Any:
        """The body; a list for lines of JSON. None if there is no body."""
        if self.path.endswith(("/_bulk", "/_msearch")):
            return [json.loads(line) for line in self.body.splitlines()]
        return json.loads(self.body) if self.body else None

    @property
    def action(self) -> str:
        """Method, and the end of the path."""
        return f"{self.method} {self.path.rpartition('/')[2]}"


class Wire:
    """Records requests, and answers them as an index that was set up for documents.

    :param product: of the client: elasticsearch or opensearch.
    """

    def __init__(self, product: str) -> None:
        self.product = product
        self.answer: Callable[[Sent], Any] = lambda sent: None
        """Returns the body of the response to a request, or a status and a body; None for the usual answer."""
        self.sent: list[Sent] = []
        self.documents: dict[str, dict[str, Any]] = {}
        """What a get returns, by id."""
        self.writes = 0

    def put(self, id: str, source: dict[str, Any]) -> None:
        """Store a document. It gets the next sequence number."""
        self.writes += 1
        version = {"_seq_no": self.writes - 1, "_primary_term": 3}
        self.documents[id] = {"_index": INDEX, "_id": id, "found": True, **version, "_source": source}

    def client(self) -> Any:
        """Return an official client whose requests come here."""
        host = "http://here:9200"
        if self.product == "elasticsearch":
            return Elasticsearch(host, node_class=_elasticsearch_node(self), max_retries=0)
        return OpenSearch(host, connection_class=_opensearch_connection(self), max_retries=0)

    def receive(self, method: str, target: str, body: bytes | str | None) -> Sent:
        """Record a request."""
        data = body.encode() if isinstance(body, str) else body or b""
        sent = Sent(method, urlsplit(target).path, data)
        self.sent.append(sent)
        return sent

    def respond(self, sent: Sent) -> tuple[int, bytes]:
        """Return the status and the body of the response to a request."""
        answered = self.answer(sent)
        if answered is None:
            answered = self._usual(sent)
        status, response = answered if isinstance(answered, tuple) else (200, answered)
        return status, json.dumps(response).encode()

    def _usual(self, sent: Sent) -> Any:
        match sent.path.rpartition("/")[2]:
            case "_bulk":
                items = self._bulk(sent)
                return {"errors": any("error" in result for item in items for result in item.values()), "items": items}
            case "_mget":
                return {"docs": [self.documents.get(id, {"_id": id, "found": False}) for id in sent.json["ids"]]}
            case "_msearch":
                return {"responses": [HITS] * (len(sent.json) // 2)}
            case "":
                return {"version": {"distribution": self.product}}
            case "_count":
                return {"count": len(self.documents), "_shards": SHARDS}
        return HITS

    def _bulk(self, sent: Sent) -> list[dict[str, Any]]:
        items = []
        rest = iter(sent.json)
        for line in rest:
            ((kind, target),) = line.items()
            source, id = next(rest), target["_id"]
            stored = self.documents.get(id)
            expected = target.get("if_seq_no"), target.get("if_primary_term")
            version = (stored["_seq_no"], stored["_primary_term"]) if stored else (None, None)
            if expected != version:
                error = {"type": "version_conflict_engine_exception", "reason": "version conflict"}
                items.append({kind: {"_index": INDEX, "_id": id, "status": 409, "error": error}})
                continue
            self.put(id, _merged(stored["_source"], source["doc"]) if stored and kind == "update" else source)
            now = {"_seq_no": self.writes - 1, "_primary_term": 3}
            result = "updated" if stored else "created"
            items.append({kind: {"_index": INDEX, "_id": id, "status": 200, "result": result, **now}})
        return items


def _merged(source: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return a document after a partial update."""
    merged = dict(source)
    for name, value in change.items():
        ours = merged.get(name)
        merged[name] = _merged(ours, value) if isinstance(ours, dict) and isinstance(value, dict) else value
    return merged


def _elasticsearch_node(wire: Wire) -> Any:
    headers = HttpHeaders({"x-elastic-product": "Elasticsearch", "content-type": "application/json"})

    def answered(config: Any, sent: Sent) -> NodeApiResponse:
        status, data = wire.respond(sent)
        return NodeApiResponse(ApiResponseMeta(status, "1.1", headers, 0.0, config), data)

    class Node(BaseNode):
        _CLIENT_META_HTTP_CLIENT = ("rec", "1")

        def perform_request(self, method: str, target: str, body: Any = None, *_: Any, **__: Any) -> NodeApiResponse:
            return answered(self.config, wire.receive(method, target, body))

    return Node


def _opensearch_connection(wire: Wire) -> Any:
    headers = {"content-type": "application/json"}

    def received(method: str, url: str, params: Any, body: Any) -> Sent:
        query = "&".join(f"{name}={value}" for name, value in dict(params or {}).items())
        return wire.receive(method, f"{url}?{query}", body)

    def answered(connection: Connection, sent: Sent, ignore: Any) -> Any:
        status, data = wire.respond(sent)
        if not 200 <= status < 300 and status not in ignore:
            connection._raise_error(status, data.decode(), headers["content-type"])
        return status, headers, data.decode()

    class Recording(Connection):
        def perform_request(  # type: ignore[override]
            self, method: str, url: str, params: Any = None, body: Any = None, *_: Any, ignore: Any = (), **__: Any
        ) -> Any:
            return answered(self, received(method, url, params, body), ignore)

        def close(self) -> None: ...

    return Recording
