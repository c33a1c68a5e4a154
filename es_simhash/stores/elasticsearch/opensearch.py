"""The official OpenSearch client, and what differs between OpenSearch and Elasticsearch.

- A point in time has other paths. OpenSearch before 3.3 has no ``_shard_doc``. So hits are sorted by ``_doc``, of which
  each shard has the same values.
- The client does not check which product answers. So the store asks once, with ``GET /``.
- OpenSearch 3 gives the keys of documents scores only if the mapping says so (:mod:`.key_scores`).
- The failures of a node, a shard and a cluster manager have other names (:mod:`.failures` has those of both servers).

This is the only module of the store that imports the client.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from inspect import signature
from typing import TYPE_CHECKING, Any

from opensearchpy import JSONSerializer, Transport, Urllib3HttpConnection
from opensearchpy.exceptions import ConnectionError as ClientConnectionError
from opensearchpy.exceptions import (
    ConnectionTimeout,
    ImproperlyConfigured,
    OpenSearchException,
    SerializationError,
    SSLError,
    TransportError,
)

from es_simhash.errors import AccessDenied, InputError, NotSetUp, SimhashError, StoreError, WrongServer
from es_simhash.exact_json import loads
from es_simhash.stores.elasticsearch.failures import (
    error_from_body,
    first_line,
    timed_out,
    unreachable,
    untrusted,
)
from es_simhash.stores.elasticsearch.index import Dialect, PointsInTime, Request
from es_simhash.stores.elasticsearch.products import is_opensearch, version_of, wrong_server
from es_simhash.stores.elasticsearch.responses import bound_responses

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from es_simhash.stores.elasticsearch.index import Index

_PRODUCT = "an OpenSearch"
INVALID = (ImproperlyConfigured,)
"""What the client raises for invalid options, beside the errors of Python."""
_OLDEST = (2, 4)
"""The first version with points in time."""
_EQUAL_SCORES = (3, 0)
"""The first version that scores each term of a keyword field with 1."""
_COMPATIBLE = (7, 10)
"""The version that OpenSearch 1 and 2 give with ``compatibility.override_main_response_version``. OpenSearch 3 has no
such setting. Source: OpenSearch, issue 18228."""
_SERVERLESS = re.compile(r"\.aoss(-fips)?\.[^/]*(amazonaws\.com|on\.aws)", re.IGNORECASE)
_NDJSON = {"content-type": "application/x-ndjson"}


def _send(client: OpenSearch, request: Request) -> Any:
    body, headers = request.body, None
    if isinstance(body, list):
        dumps = client.transport.serializer.dumps
        body, headers = "".join(f"{dumps(line)}\n" for line in body), _NDJSON
    # A document may be missing. The client logs failures as warnings.
    no_failures = (404,) if "/_doc/" in request.path else ()
    return client.transport.perform_request(
        request.method, request.path, request.parameters, body, ignore=no_failures, headers=headers
    )


class _ExactNumbers(JSONSerializer):
    """Reads numbers so that they can be written as they were."""

    def loads(self, s: str) -> Any:
        try:
            return loads(s)
        except (ValueError, TypeError) as error:
            raise SerializationError(s, error) from error


class _Connection(Urllib3HttpConnection):
    """Sends requests whose responses end."""

    def _create_urllib3_pool(self) -> None:
        super()._create_urllib3_pool()
        bound_responses(self.pool)


def client_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an OpenSearch client for those of :func:`es_simhash.stores.address.open_store`.

    :raises InputError: for an option that the client does not have. It would ignore the option.
    """
    if "api_key" in options:
        raise InputError("OpenSearch takes no API key: use a user and a password in the address, or http_auth=signer")
    options = {
        "pool_maxsize": 10,
        "serializer": _ExactNumbers(),
        **options,
    }  # as many connections as the Elasticsearch client keeps
    if "request_timeout" in options:
        options["timeout"] = options.pop("request_timeout")
    auth = options.pop("basic_auth", None)
    if isinstance(auth, str):  # of the address. As a header, because the client accepts a pair in Latin-1 only
        options["headers"] = {**options.get("headers", {}), "authorization": f"Basic {auth}"}
    elif auth is not None:
        options["http_auth"] = auth
    options = {"connection_class": _Connection, **options}
    classes = [Transport, *Urllib3HttpConnection.__mro__, *options.get("connection_class", object).__mro__]
    known = {name for each in classes for name in signature(each.__init__).parameters}
    if unknown := sorted(options.keys() - known - {"transport_class"}):
        raise InputError(f"the OpenSearch client has no option {unknown[0]!r}: check its name")
    return options


def check_host(host: str) -> None:
    """Check that a host is not that of a serverless collection.

    :raises InputError: if it is.
    """
    if _SERVERLESS.search(host):
        raise InputError(
            f"{host} is a serverless collection, which has no refresh: documents that were just written would not be "
            "found; use a managed domain or a cluster of OpenSearch"
        )


def client_hosts(client: OpenSearch) -> list[str]:
    """Return the address of each host of a client, without credentials."""
    addresses = []
    for host in client.transport.hosts:
        scheme = "https" if host.get("use_ssl") or host.get("scheme") == "https" else "http"
        prefix = str(host.get("url_prefix") or "").strip("/")
        address = f"{scheme}://{host.get('host', 'localhost')}:{host.get('port') or 9200}"
        addresses.append(f"{address}/{prefix}" if prefix else address)
    return addresses


def _body(response: Any) -> Any:
    return response


def _translate(error: Exception, name: str) -> SimhashError:
    if isinstance(error, SSLError):
        return untrusted(name, _cause(error))
    if isinstance(error, ConnectionTimeout):
        return timed_out(name)
    if isinstance(error, ClientConnectionError):
        why = _cause(error)
        return untrusted(name, why) if "certificate" in why.lower() or "SSL" in why else unreachable(name, why)
    if isinstance(error, SerializationError):
        return wrong_server(None, name, _PRODUCT)
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return error_from_body(_body_of(error), error.status_code, name, "user and password, or the signer")
    return StoreError(f"{name}: {first_line(error)}")


def _body_of(error: TransportError) -> Any:
    """Return the body of the response; None if it is no JSON."""
    if isinstance(error.info, dict):
        return error.info
    try:
        return json.loads(error.error)  # AsyncHttpConnection does not parse it
    except (TypeError, ValueError):
        return None


def _cause(error: TransportError) -> str:
    return str(error.error).splitlines()[0]


def _check_server(index: Index) -> None:
    """Check that the server is an OpenSearch with points in time, and that a refresh shows what was written.

    :raises WrongServer: if it is another product, or too old.
    :raises InputError: if the copies of the shards lag behind.
    """
    _check_product(index)
    try:
        body = index.send("GET", "_settings/index.replication.type,index.number_of_replicas", flat_settings="true")
    except (AccessDenied, NotSetUp):
        return
    for name, each in body.items():
        settings = each.get("settings", {})
        if settings.get("index.replication.type") == "SEGMENT" and settings.get("index.number_of_replicas") != "0":
            raise InputError(
                f"the index {name} has segment replication: its replicas show what was written only some time after a "
                "refresh, so duplicates would be missing; use an index without replicas, or with "
                "index.replication.type DOCUMENT"
            )


def _check_product(index: Index) -> None:
    try:
        body = index.send("GET", "/")
    except AccessDenied:
        index.server.equal_scores = None
        return  # it may permit what is needed
    except StoreError as error:
        if error.retryable or isinstance(error, WrongServer):
            raise
        raise WrongServer(
            f"the server at {index.name} does not say what it is ({error}): check the address; a serverless collection "
            "can't be used"
        ) from error
    if not is_opensearch(body):
        raise wrong_server(body, index.name, _PRODUCT)
    version = version_of(body)
    if version and version < _OLDEST:
        found = ".".join(map(str, version))
        raise WrongServer(
            f"{index.name} is OpenSearch {found}, which has no points in time: use OpenSearch 2.4 or later"
        )
    index.server.equal_scores = None if not version else _EQUAL_SCORES <= version != _COMPATIBLE


DIALECT = Dialect(
    product=_PRODUCT,
    client=f"opensearch-py {version('opensearch-py')}",
    points_in_time=PointsInTime(
        "_search/point_in_time", {"allow_partial_pit_creation": "false"}, "pit_id", "_doc", ties=True
    ),
    check_server=_check_server,
    send=_send,
    body=_body,
    failures=(OpenSearchException, ImproperlyConfigured),
    translate=_translate,
)
