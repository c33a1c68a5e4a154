"""The official Elasticsearch client: its methods, and its exceptions as errors of :mod:`es_simhash.errors`.

This is the only module of the store that imports the client.
"""

from __future__ import annotations

from importlib.metadata import version
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import SerializationError, TlsError, Urllib3HttpNode
from elasticsearch import ApiError, ConnectionTimeout, JsonSerializer, TransportError, UnsupportedProductError

from es_simhash.errors import InputError, SimhashError, StoreError, WrongServer
from es_simhash.exact_json import loads
from es_simhash.stores.elasticsearch.failures import (
    error_from_body,
    first_line,
    timed_out,
    unreachable,
    untrusted,
)
from es_simhash.stores.elasticsearch.index import Dialect, PointsInTime, Request
from es_simhash.stores.elasticsearch.products import wrong_server
from es_simhash.stores.elasticsearch.responses import bound_responses

if TYPE_CHECKING:
    from elastic_transport import NodeConfig
    from elasticsearch import Elasticsearch

    from es_simhash.stores.elasticsearch.index import Index

_CLIENT = version("elasticsearch")
_PRODUCT = "an Elasticsearch"
INVALID: tuple[type[Exception], ...] = ()
"""What the client raises for invalid options, beside the errors of Python."""


_ACCEPT = {"accept": "application/json"}
_HEADERS = {
    type(None): _ACCEPT,
    dict: {**_ACCEPT, "content-type": "application/json"},
    list: {**_ACCEPT, "content-type": "application/x-ndjson"},
}
"""The headers of a request, by the type of its body. The client adds its version to them."""


def _send(client: Elasticsearch, request: Request) -> Any:
    return client.perform_request(
        request.method, request.path, params=request.parameters, headers=_HEADERS[type(request.body)], body=request.body
    )


class _ExactNumbers(JsonSerializer):
    """Reads numbers so that they can be written as they were."""

    json_loads = staticmethod(loads)  # type: ignore[assignment]  # the client calls it with the data alone


class _Node(Urllib3HttpNode):
    """Sends requests whose responses end."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        bound_responses(self.pool)


def client_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a client.

    :raises InputError: for an invalid API key, which the client would reject only at its first request.
    """
    options = {"node_class": _Node, **options}
    if not options.keys() & {"serializer", "serializers"}:
        options = {"serializers": {"application/json": _ExactNumbers()}, **options}
    if not isinstance(key := options.get("api_key"), str):
        return options
    key = key.strip()  # a key from a file ends with a line break
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            "the API key has a character that no key has: copy it again, or check $ELASTIC_API_KEY (api_key)"
        )
    return {**options, "api_key": key}


def check_host(host: str) -> None:
    """Do nothing: any host may be an Elasticsearch."""


def client_hosts(client: Elasticsearch) -> list[str]:
    """Return the address of each host of a client, without credentials."""
    return [node.base_url for node in client.transport.node_pool.all()]


def _translate(error: Exception, name: str) -> SimhashError:
    if isinstance(error, TlsError):
        return untrusted(name, first_line(error))
    if isinstance(error, ConnectionTimeout):
        return timed_out(name)
    if isinstance(error, TransportConnectionError):
        return unreachable(name, first_line(error))
    if isinstance(error, UnsupportedProductError):
        return wrong_server(error.body, name, _PRODUCT)
    if isinstance(error, SerializationError):
        return wrong_server(None, name, _PRODUCT)
    if isinstance(error, ApiError):
        return _api_error(error, name)
    return StoreError(f"{name}: {first_line(error)}")


def _api_error(error: ApiError, name: str) -> SimhashError:
    status, other = error.meta.status, None
    if "x-elastic-product" not in error.meta.headers:
        other = wrong_server(None, name, _PRODUCT, f" (HTTP {status})")
        if status in (404, 406):
            return other
    if "media_type_header_exception" in str(error.body):
        other = WrongServer(
            f"{name} is older than the installed client, elasticsearch {_CLIENT}: pip install 'elasticsearch>=8.19,<9'"
        )
    return error_from_body(error.body, status, name, "user and password, or ELASTIC_API_KEY", other)


def _check_server(index: Index) -> None:
    """Do nothing: the client checks the product in each response."""


DIALECT = Dialect(
    product=_PRODUCT,
    client=f"elasticsearch {_CLIENT}",
    points_in_time=PointsInTime("_pit", {}, "id", "_shard_doc", ties=False),
    check_server=_check_server,
    send=_send,
    body=attrgetter("body"),
    failures=(ApiError, TransportError, UnsupportedProductError),
    translate=_translate,
)
