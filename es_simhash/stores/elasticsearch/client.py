"""The official Elasticsearch client: its methods, and its exceptions as errors of :mod:`es_simhash.errors`.

This is the only module of the store that imports the client.
"""

from __future__ import annotations

from importlib.metadata import version
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import SerializationError, TlsError
from elasticsearch import ApiError, ConnectionTimeout, TransportError, UnsupportedProductError

from es_simhash.errors import AccessDenied, SimhashError, StoreError, StoreUnreachable, TooLarge, WrongServer
from es_simhash.stores.elasticsearch.calls import Call, Dialect
from es_simhash.stores.elasticsearch.failures import passes
from es_simhash.stores.elasticsearch.responses import error_from_body, index_fault_of, reason

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

_CLIENT = version("elasticsearch")


def _send(client: Elasticsearch | AsyncElasticsearch, call: Call) -> Any:
    return attrgetter(call.method)(client)(**call.arguments)


def _translate(error: Exception, name: str) -> SimhashError:
    if isinstance(error, TlsError):
        return AccessDenied(
            f"{name}: the TLS connection is not trusted ({_first_line(error)}): name the file of the authority's "
            "certificate with ca_certs (--ca-certs), or use http:// if the server has no TLS"
        )
    if isinstance(error, ConnectionTimeout):
        return StoreUnreachable(f"{name} did not answer in time: try again, or raise request_timeout (--timeout)")
    if isinstance(error, TransportConnectionError):
        return StoreUnreachable(
            f"{name} can't be reached ({_first_line(error)}): check that it is running, and check the address"
        )
    if isinstance(error, UnsupportedProductError | SerializationError):
        return WrongServer(f"the server at {name} is not an Elasticsearch: check the address")
    if isinstance(error, ApiError):
        return _api_error(error, name)
    return StoreError(f"{name}: {_first_line(error)}")


def _api_error(error: ApiError, name: str) -> SimhashError:
    status = error.meta.status
    if status == 401:
        return AccessDenied(f"{name} does not take these credentials: check user and password, or ELASTIC_API_KEY")
    if (fault := index_fault_of(error.body, status, name)) is not None:
        return fault
    if status == 403:
        return AccessDenied(f"{name} does not permit this to your user: {reason(error.body)}")
    if passes(error.body, status):
        return error_from_body(error.body, status, name)
    if status == 413:
        return TooLarge(
            f"{name} takes no request of this size (http.max_content_length): split it, or leave fields out"
        )
    if "media_type_header_exception" in str(error.body):
        return WrongServer(
            f"{name} is older than the installed client, elasticsearch {_CLIENT}: pip install 'elasticsearch>=8.19,<9'"
        )
    if "x-elastic-product" not in error.meta.headers:
        return WrongServer(f"the server at {name} is not an Elasticsearch (HTTP {status}): check the address")
    return error_from_body(error.body, status, name)


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", error)).splitlines()[0]


def _open_point_in_time(index: str, keep_alive: str) -> Call:
    return Call("open_point_in_time", {"index": index, "keep_alive": keep_alive})


def _close_point_in_time(id: str) -> Call:
    return Call("close_point_in_time", {"id": id})


ELASTICSEARCH = Dialect(
    product="an Elasticsearch",
    client=f"elasticsearch {_CLIENT}",
    open_point_in_time=_open_point_in_time,
    point_in_time_key="id",
    close_point_in_time=_close_point_in_time,
    tie_breaker="_shard_doc",
    send=_send,
    body=attrgetter("body"),
    failures=(ApiError, TransportError, UnsupportedProductError),
    translate=_translate,
)
