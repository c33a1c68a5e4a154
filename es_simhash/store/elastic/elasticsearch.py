"""The official Elasticsearch client: how it is made, how it sends a request, and what its exceptions mean."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import SerializationError, TlsError, Urllib3HttpNode
from elasticsearch import (
    ApiError,
    ConnectionTimeout,
    Elasticsearch,
    TransportError,
    UnsupportedProductError,
)

from es_simhash.errors import InputError, SimhashError, StoreError
from es_simhash.store.elastic.answers import limit_answers
from es_simhash.store.elastic.connection import Connection, PointInTime
from es_simhash.store.elastic.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elastic_transport import NodeConfig
    from urllib3 import Timeout

_CONNECTIONS = 100
"""Connections to a host, at most. A thread that waits for one would wait beyond its deadline."""


class _Node(Urllib3HttpNode):
    """A host whose answers are limited."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        limit_answers(self.pool, compressed=bool(config.http_compress))


class ElasticsearchConnection(Connection):
    """An index of Elasticsearch."""

    point_in_time = PointInTime("_pit", {}, "id", "_shard_doc", -1)
    untrusted, late, unreachable = TlsError, ConnectionTimeout, TransportConnectionError

    @staticmethod
    def new_client(hosts: Sequence[str], options: Mapping[str, Any]) -> Elasticsearch:
        """Return a client that repeats nothing itself.

        :raises InputError: for an invalid API key, which the client would reject only at its first request.
        """
        known = {"max_retries": 0, "connections_per_node": _CONNECTIONS, "node_class": _Node, **options}
        if isinstance(key := known.get("api_key"), str):
            known["api_key"] = key = key.strip()  # a key from a file ends with a line break
            if not (key.isascii() and key.isprintable()):
                raise InputError(
                    "the API key has a character that no key has: copy it again, or check $ELASTIC_API_KEY (api_key)"
                )
        return Elasticsearch(list(hosts), **known)

    @staticmethod
    def host_of(client: Elasticsearch) -> str:
        """Return the address of the first host of a client, without credentials."""
        return next(iter(client.transport.node_pool.all())).base_url

    @cached_property
    def _clients(self) -> dict[Any, Elasticsearch]:
        """The client with each timeout that was used. To make one takes a tenth of a search."""
        return {}

    def _perform(self, method: str, path: str, parameters: Mapping[str, str], body: Any, timeout: Timeout) -> Any:
        if (client := self._clients.get(timeout.read_timeout)) is None:
            client = self._clients[timeout.read_timeout] = self.client.options(request_timeout=timeout)
        kind = "application/x-ndjson" if isinstance(body, list) else "application/json"
        headers = {"accept": "application/json", "content-type": kind}  # the client adds its version
        try:
            return client.perform_request(method, path, params=parameters, headers=headers, body=body).body
        except (ApiError, TransportError, UnsupportedProductError) as error:
            raise self._error(error, str(getattr(error, "message", error)).splitlines()[0]) from error

    def _refusal(self, error: Any) -> SimhashError | None:
        if isinstance(error, ApiError) and not isinstance(error, UnsupportedProductError):
            status = error.meta.status
            if "media_type_header_exception" in str(error.body):
                return StoreError(
                    f"{self.name} is older than the installed client, elasticsearch {version('elasticsearch')}: "
                    "pip install 'elasticsearch>=8.19,<9'"
                )
            if status not in (400, 404, 405, 406) or "x-elastic-product" in error.meta.headers:
                return error_of(error.body, status, self.name, "user and password, or ELASTIC_API_KEY")
        elif not isinstance(error, UnsupportedProductError | SerializationError):
            return None
        return StoreError(
            f"the server at {self.name} is not an Elasticsearch: check the address; OpenSearch has opensearch+http://"
        )
