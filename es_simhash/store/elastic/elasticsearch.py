"""The official Elasticsearch client: how it is made, how it sends a request, and what its exceptions mean."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import SerializationError, TlsError
from elasticsearch import (
    ApiError,
    ConnectionTimeout,
    Elasticsearch,
    JsonSerializer,
    TransportError,
    UnsupportedProductError,
)

from es_simhash.errors import AccessDenied, InputError, SimhashError, StoreError, StoreUnreachable
from es_simhash.exact_json import loads
from es_simhash.store.elastic.connection import Connection, Product
from es_simhash.store.elastic.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from urllib3 import Timeout

_CLIENT = version("elasticsearch")
_CONNECTIONS = 100
"""Connections to a host, at most. A thread that waits for one would wait beyond its deadline."""
_ACCEPT = {"accept": "application/json"}
_HEADERS = {
    type(None): _ACCEPT,
    dict: {**_ACCEPT, "content-type": "application/json"},
    list: {**_ACCEPT, "content-type": "application/x-ndjson"},
}
"""The headers of a request, by the type of its body. The client adds its version to them."""


class _ExactNumbers(JsonSerializer):
    """Reads numbers so that they can be written as they were."""

    json_loads = staticmethod(loads)  # type: ignore[assignment]  # the client calls it with the data alone


def new_client(hosts: Sequence[str], options: Mapping[str, Any]) -> Elasticsearch:
    """Return a client that repeats nothing itself.

    :raises InputError: for an invalid API key, which the client would reject only at its first request.
    """
    known: dict[str, Any] = {"serializers": {"application/json": _ExactNumbers()}, "max_retries": 0}
    known |= {"connections_per_node": _CONNECTIONS, **options}
    if isinstance(key := known.get("api_key"), str):
        known["api_key"] = key = key.strip()  # a key from a file ends with a line break
        if not (key.isascii() and key.isprintable()):
            raise InputError(
                "the API key has a character that no key has: copy it again, or check $ELASTIC_API_KEY (api_key)"
            )
    return Elasticsearch(list(hosts), **known)


def host_of(client: Elasticsearch) -> str:
    """Return the address of the first host of a client, without credentials."""
    return next(iter(client.transport.node_pool.all())).base_url


def _perform(
    client: Elasticsearch, method: str, path: str, parameters: Mapping[str, str], body: Any, timeout: Timeout
) -> Any:
    limited = client.options(request_timeout=timeout)  # type: ignore[arg-type]  # which the client hands to urllib3
    answer = limited.perform_request(method, path, params=parameters, headers=_HEADERS[type(body)], body=body)
    return answer.body


def _translate(error: Exception, name: str) -> SimhashError:
    text = str(getattr(error, "message", error)).splitlines()[0]
    if isinstance(error, TlsError):
        return untrusted(name, text)
    if isinstance(error, ConnectionTimeout):
        return late(name)
    if isinstance(error, TransportConnectionError):
        return unreachable(name, text)
    if isinstance(error, UnsupportedProductError | SerializationError):
        return _no_elasticsearch(name)
    if isinstance(error, ApiError):
        status = error.meta.status
        if "media_type_header_exception" in str(error.body):
            return StoreError(
                f"{name} is older than the installed client, elasticsearch {_CLIENT}: "
                "pip install 'elasticsearch>=8.19,<9'"
            )
        if status in (404, 406) and "x-elastic-product" not in error.meta.headers:
            return _no_elasticsearch(name)
        return error_of(error.body, status, name, "user and password, or ELASTIC_API_KEY")
    return StoreError(f"{name}: {text}")


def _no_elasticsearch(name: str) -> SimhashError:
    return StoreError(
        f"the server at {name} is not an Elasticsearch: check the address; OpenSearch has opensearch+http://"
    )


def untrusted(name: str, why: str) -> SimhashError:
    """Return the error for a TLS connection that failed.

    :param why: what the client says, in one line.
    """
    return AccessDenied(
        f"{name}: the TLS connection failed ({why}): use http:// if the server has no TLS, or name the file of the "
        "authority's certificate (ca_certs)"
    )


def late(name: str) -> SimhashError:
    """Return the error for a response that did not come in time."""
    plain = "use http:// if the server has no TLS; else " if "https://" in name else ""
    return StoreUnreachable(f"{name} did not answer in time: {plain}try again, or wait longer (deadline)")


def unreachable(name: str, why: str) -> SimhashError:
    """Return the error for a connection that failed. The parameters are those of :func:`untrusted`."""
    reason = why.partition("): ")[2] or why  # urllib3 begins with its connection as Python shows it
    return StoreUnreachable(f"{name} can't be reached ({reason}): check that it is running, and check the address")


def _has_equal_scores(connection: Connection) -> bool:
    return False


PRODUCT = Product(
    point_in_time="_pit",
    point_parameters={},
    point_key="id",
    tie_breaker="_shard_doc",
    perform=_perform,
    translate=_translate,
    failures=(ApiError, TransportError, UnsupportedProductError),
    has_equal_scores=_has_equal_scores,
)
