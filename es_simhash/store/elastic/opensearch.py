"""The official OpenSearch client: how it is made, how it sends a request, and what its exceptions mean.

A point in time has other paths than in Elasticsearch. OpenSearch before 3.3 has no ``_shard_doc``, so hits are sorted
by ``_id`` there. The client does not check which product answers, so the store asks once.
"""

from __future__ import annotations

import json
import re
from inspect import signature
from typing import TYPE_CHECKING, Any

from opensearchpy import JSONSerializer, OpenSearch, Transport, Urllib3HttpConnection
from opensearchpy.exceptions import ConnectionError as ClientConnectionError
from opensearchpy.exceptions import (
    ConnectionTimeout,
    ImproperlyConfigured,
    OpenSearchException,
    SerializationError,
    SSLError,
    TransportError,
)

from es_simhash.errors import InputError, SimhashError, StoreError
from es_simhash.exact_json import loads
from es_simhash.store.elastic.connection import Connection, Product
from es_simhash.store.elastic.elasticsearch import late, unreachable, untrusted
from es_simhash.store.elastic.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from urllib3 import Timeout

_OLDEST = (2, 4)
"""The first version with points in time."""
_EQUAL_SCORES = (3, 0)
"""The first version that scores each term of a keyword field with 1."""
_NDJSON = {"content-type": "application/x-ndjson"}


class _ExactNumbers(JSONSerializer):
    """Reads numbers so that they can be written as they were."""

    def loads(self, s: str) -> Any:
        try:
            return loads(s)
        except (ValueError, TypeError) as error:
            raise SerializationError(s, error) from error


class _Connection(Urllib3HttpConnection):
    """Checks that no Elasticsearch answers: its searches have other paths."""

    def perform_request(self, *arguments: Any, **options: Any) -> Any:
        """Send a request, and return the status, the headers and the body of the response.

        :raises StoreError: if the server is an Elasticsearch.
        """
        status, headers, body = super().perform_request(*arguments, **options)
        if "x-elastic-product" in headers:
            raise StoreError(f"the server at {self.host} is an Elasticsearch: leave opensearch+ out of the address")
        return status, headers, body


def new_client(hosts: Sequence[str], options: Mapping[str, Any]) -> OpenSearch:
    """Return a client that repeats nothing itself.

    :raises InputError: for an option that the client does not have. It would ignore the option.
    """
    if "api_key" in options:
        raise InputError("OpenSearch takes no API key: use a user and a password in the address, or http_auth=signer")
    known: dict[str, Any] = {"pool_maxsize": 10, "serializer": _ExactNumbers(), "connection_class": _Connection}
    known |= {"max_retries": 0, **options}
    auth = known.pop("basic_auth", None)
    if isinstance(auth, str):  # of the address. As a header, because the client accepts a pair in Latin-1 only
        known["headers"] = {**known.get("headers", {}), "authorization": f"Basic {auth}"}
    elif auth is not None:
        known["http_auth"] = auth
    classes = [Transport, *Urllib3HttpConnection.__mro__, *known["connection_class"].__mro__]
    names = {name for kind in classes for name in signature(kind.__init__).parameters}
    if unknown := sorted(known.keys() - names - {"transport_class", "trust_env"}):
        raise InputError(f"the OpenSearch client has no option {unknown[0]!r}: check its name")
    return OpenSearch(list(hosts), **known)


def host_of(client: OpenSearch) -> str:
    """Return the address of the first host of a client, without credentials."""
    host = client.transport.hosts[0]
    scheme = "https" if host.get("use_ssl") or host.get("scheme") == "https" else "http"
    prefix = str(host.get("url_prefix") or "").strip("/")
    address = f"{scheme}://{host.get('host', 'localhost')}:{host.get('port') or 9200}"
    return f"{address}/{prefix}" if prefix else address


def _perform(
    client: OpenSearch, method: str, path: str, parameters: Mapping[str, str], body: Any, timeout: Timeout
) -> Any:
    headers = None
    if isinstance(body, list):
        dumps = client.transport.serializer.dumps
        body, headers = "".join(f"{dumps(line)}\n" for line in body), _NDJSON
    timed = {**parameters, "request_timeout": timeout}
    return client.transport.perform_request(method, path, timed, body, headers=headers)


def _translate(error: Exception, name: str) -> SimhashError:
    if isinstance(error, SSLError):
        return untrusted(name, _cause(error))
    if isinstance(error, ConnectionTimeout):
        return late(name)
    if isinstance(error, ClientConnectionError):
        return unreachable(name, _cause(error))
    if isinstance(error, SerializationError):
        return StoreError(f"the server at {name} is not an OpenSearch: check the address")
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return error_of(_body_of(error), error.status_code, name, "user and password, or the signer")
    return StoreError(f"{name}: {str(error).splitlines()[0]}")


def _body_of(error: TransportError) -> Any:
    """Return the body of the response; None if it is no JSON."""
    if isinstance(error.info, dict):
        return error.info
    try:
        return json.loads(error.error)
    except (TypeError, ValueError):
        return None


def _cause(error: TransportError) -> str:
    return str(error.error).splitlines()[0]


def _has_equal_scores(connection: Connection) -> bool:
    """Return whether the server needs ``use_similarity``; and check that it is an OpenSearch with points in time."""
    body = connection.send("GET", "", index=False)
    found = body.get("version", {}) if isinstance(body, dict) else {}
    numbers = re.match(r"(\d+)\.(\d+)", str(found.get("number", "")))
    if found.get("distribution") != "opensearch" or numbers is None:
        raise StoreError(f"the server at {connection.name} is not an OpenSearch: check the address")
    version = int(numbers[1]), int(numbers[2])
    if version < _OLDEST:
        raise StoreError(f"{connection.name} is OpenSearch {found['number']}: use OpenSearch 2.4 or later")
    return version >= _EQUAL_SCORES


PRODUCT = Product(
    point_in_time="_search/point_in_time",
    point_parameters={"allow_partial_pit_creation": "false"},
    point_key="pit_id",
    tie_breaker="_id",
    perform=_perform,
    translate=_translate,
    failures=(OpenSearchException, ImproperlyConfigured),
    has_equal_scores=_has_equal_scores,
)
