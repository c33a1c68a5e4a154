"""A transport for the official clients that records what goes over the wire, and answers without a server.

The clients are real, sync and async, of Elasticsearch and OpenSearch. Only the class of their connections is ours. The
answers are those of an index that keeps documents by their ids, with sequence numbers. Its searches find the hits that
the test names, as if the index were never refreshed.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders
from elastic_transport._node import NodeApiResponse  # it is not exported
from elasticsearch import Elasticsearch
from opensearchpy import Connection, OpenSearch

from es_simhash import fingerprint
from es_simhash.bloom.seen import SeenConfig
from es_simhash.fingerprinting.scheme import DEFAULT
from es_simhash.store.description import to_json
from es_simhash.store.elastic.mapping import _file
from es_simhash.store.types import Description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INDEX = "news"
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
PRODUCTS = {
    "elasticsearch": {"version": {"number": "9.0.0"}, "tagline": "You Know, for Search"},
    "opensearch": {
        "version": {"distribution": "opensearch", "number": "2.19.3"},
        "tagline": "The OpenSearch Project: https://opensearch.org/",
    },
}
"""The response to ``GET /`` of each product."""


@dataclass(frozen=True)
class Sent:
    """A request.

    :param path: with escaped characters, as it was sent.
    :param parameters: of the query string.
    :param body: as bytes; empty if there is none.
    """

    method: str
    path: str
    parameters: dict[str, str]
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
    """Records requests, and answers them as an index that was set up for documents and for seen items.

    :param product: one of PRODUCTS.
    :param answer: returns the body of the response to a request, or a status and a body; None for the usual answer.
    """

    def __init__(self, product: str, answer: Callable[[Sent], Any] | None = None) -> None:
        self.product = product
        self.answer = answer
        self.sent: list[Sent] = []
        self.documents: dict[str, dict[str, Any]] = {}
        """What a get returns, by id."""
        self.writes = 0
        self.hits: list[dict[str, Any]] = []
        """What searches find by a digest or by an id."""
        properties = {part: _file(part)["properties"][part] for part in ("simhash", "seen")}
        description = Description(scheme=DEFAULT, keys=True, seen=SeenConfig(), instance="one")
        self.mapping: dict[str, Any] = {"properties": properties, "_meta": {"es_simhash": to_json(description)}}
        self._lock = threading.Lock()

    def put(self, id: str, source: dict[str, Any], routing: str | None = None) -> None:
        """Store a document. It gets the next sequence number."""
        self.writes += 1
        version = {"_seq_no": self.writes - 1, "_primary_term": 3}
        named = {} if routing is None else {"_routing": routing}
        self.documents[id] = {"_index": INDEX, "_id": id, "found": True, **version, **named, "_source": source}

    def client(self) -> Any:
        """Return an official client whose requests come here."""
        host = "http://here:9200"
        if self.product == "elasticsearch":
            return Elasticsearch(host, node_class=_elasticsearch_node(self), max_retries=0)
        return OpenSearch(host, connection_class=_opensearch_connection(self), max_retries=0)

    def receive(self, method: str, target: str, body: bytes | str | None) -> Sent:
        """Record a request."""
        url = urlsplit(target)
        data = body.encode() if isinstance(body, str) else body or b""
        sent = Sent(method, url.path, dict(parse_qsl(url.query, keep_blank_values=True)), data)
        with self._lock:
            self.sent.append(sent)
        return sent

    async def before(self, sent: Sent) -> None:
        """Wait before the response to a request of an async client."""
        await asyncio.sleep(0)

    def respond(self, sent: Sent) -> tuple[int, bytes]:
        """Return the status and the body of the response to a request."""
        answered = None if self.answer is None else self.answer(sent)  # without the lock: a test may wait there
        if answered is None:
            with self._lock:
                answered = self._usual(sent)
        status, response = answered if isinstance(answered, tuple) else (200, answered)
        return status, json.dumps(response).encode()

    def _usual(self, sent: Sent) -> Any:
        action = sent.path.rpartition("/")[2]
        if sent.path == "/":
            return PRODUCTS[self.product]
        if "/_doc/" in sent.path:
            id = unquote(action)
            return self.documents.get(id) or (404, {"_index": INDEX, "_id": id, "found": False})
        match action:
            case "health":
                return [{"epoch": str(int(time.time()))}]
            case "_mapping":
                if sent.method == "GET":
                    return {INDEX: {"mappings": self.mapping}}
                self.mapping = _merged(self.mapping, {"properties": sent.json.get("properties", {})})
                self.mapping["_meta"] = sent.json.get("_meta", self.mapping["_meta"])
                return {"acknowledged": True}
            case "_bulk":
                items = self._bulk(sent)
                return {"errors": any("error" in result for item in items for result in item.values()), "items": items}
            case "_mget":
                return {"docs": [self.documents.get(id, {"_id": id, "found": False}) for id in sent.json["ids"]]}
            case "_msearch":
                return {"responses": [self.search(body) | {"status": 200} for body in sent.json[1::2]]}
            case "_search":
                return self.search(sent.json)
            case "_count":
                return {"count": len(self.documents), "_shards": SHARDS}
            case "_pit" | "point_in_time":
                return {"id": "pit", "pit_id": "pit", "_shards": SHARDS}
            case "index.uuid":
                return {INDEX: {"settings": {"index": {"uuid": "kR3n"}}}}
        return {INDEX: {"settings": {}}} if "/_settings" in sent.path else {"_shards": SHARDS}

    def search(self, search: dict[str, Any]) -> dict[str, Any]:
        """Return the body of the response to a search."""
        query = search.get("query", {})
        without = {id for each in clauses(query, "must_not") for id in _named(each, "_id")}
        ids, digests = set(_named(query, "_id")) - without, set(_named(query, "simhash.digest"))
        return found(
            *(
                hit
                for hit in self.hits
                if hit["_id"] in ids or (digests & {*hit["fields"]["simhash.digest"]} and hit["_id"] not in without)
            )
        )

    def _bulk(self, sent: Sent) -> list[dict[str, Any]]:
        items = []
        rest = iter(sent.json)
        routing = sent.parameters.get("routing")
        for line in rest:
            ((kind, target),) = line.items()
            source: Any = None if kind == "delete" else next(rest)
            id = target["_id"]
            stored = self.documents.get(id)
            expected = target.get("if_seq_no"), target.get("if_primary_term")
            version = (stored["_seq_no"], stored["_primary_term"]) if stored else None
            if (kind == "create" and stored) or (expected != (None, None) and expected != version):
                error = {"type": "version_conflict_engine_exception", "reason": "version conflict"}
                items.append({kind: {"_index": INDEX, "_id": id, "status": 409, "error": error}})
                continue
            if kind == "update":
                self.put(id, _merged(stored["_source"] if stored else {}, source["doc"]), routing)
            elif kind != "delete":
                self.put(id, source, routing)
            else:
                self.documents.pop(id, None)
            result = "created" if stored is None else {"delete": "deleted"}.get(kind, "updated")
            if kind == "delete" and stored is None:
                result = "not_found"
            status = 404 if result == "not_found" else 200
            now = {"_seq_no": self.writes - 1, "_primary_term": 3}
            items.append({kind: {"_index": INDEX, "_id": id, "status": status, "result": result, **now}})
        return items


def clauses(query: Any, kind: str) -> Iterator[Any]:
    """Yield all clauses of a kind in a query, such as ``terms``."""
    if isinstance(query, dict):
        for name, value in query.items():
            if name == kind:
                yield value
            yield from clauses(value, kind)
    elif isinstance(query, list):
        for each in query:
            yield from clauses(each, kind)


def _named(query: Any, field: str) -> Iterator[str]:
    """Yield the values of a field in the ``terms`` of a query."""
    for terms in clauses(query, "terms"):
        yield from terms.get(field, ())


def found(*hits: dict[str, Any]) -> dict[str, Any]:
    """Return the body of the response to a search."""
    total = {"value": len(hits), "relation": "eq"}
    return {"timed_out": False, "_shards": SHARDS, "pit_id": "pit", "hits": {"total": total, "hits": list(hits)}}


def simhash_of(id: str, text: str, *, original: str | None = None, written: int = 1) -> dict[str, Any]:
    """Return the object ``simhash`` of a document, without its segments.

    :param original: the document that it is linked to.
    """
    made = fingerprint(text)
    assert made.value is not None
    long = made.value - (made.value >> 63 << 64)
    values = {"digest": made.digest, "fp": long, "group": original or id, "written": written}
    return values if original is None else {**values, "duplicate_of": original}


def hit(id: str, text: str, seq_no: int = 7, original: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a hit with the doc values of a document.

    :param more: what else the hit has, such as ``_routing``.
    """
    fields = {f"simhash.{name}": [value] for name, value in simhash_of(id, text, original=original).items()}
    return {"_index": INDEX, "_id": id, "_seq_no": seq_no, "_primary_term": 3, "fields": fields, "sort": [0], **more}


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
