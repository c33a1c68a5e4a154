"""The official OpenSearch client: how it is made, how it sends a request, and what its exceptions mean.

A point in time has other paths than in Elasticsearch. OpenSearch before 3.3 has no ``_shard_doc``, so hits are sorted
by ``_id`` there.
"""

from __future__ import annotations

from inspect import signature
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from opensearchpy import OpenSearch, Transport, Urllib3HttpConnection
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
from es_simhash.store.elastic.answers import limit_answers
from es_simhash.store.elastic.connection import Connection, PointInTime
from es_simhash.store.elastic.errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from urllib3 import Timeout


class _Host(Urllib3HttpConnection):
    """A host whose answers are limited."""

    def _create_urllib3_pool(self) -> None:
        super()._create_urllib3_pool()
        limit_answers(self.pool, compressed=bool(self.http_compress))


class OpenSearchConnection(Connection):
    """An index of OpenSearch."""

    point_in_time = PointInTime("_search/point_in_time", {"allow_partial_pit_creation": "false"}, "pit_id", "_id", None)
    untrusted, late, unreachable = SSLError, ConnectionTimeout, ClientConnectionError

    @staticmethod
    def new_client(hosts: Sequence[str], options: Mapping[str, Any]) -> OpenSearch:
        """Return a client that repeats nothing itself, and that leaves out a host for a while that does not answer.

        :raises InputError: for an option that the client does not have. It would ignore the option.
        """
        known: dict[str, Any] = {"pool_maxsize": 10, "retry_on_timeout": True, "max_retries": 0}
        known |= {"connection_class": _Host, **options}
        auth = known.pop("basic_auth", None)
        if isinstance(auth, str):  # of the address. As a header, because the client accepts a pair in Latin-1 only
            known["headers"] = {**known.get("headers", {}), "authorization": f"Basic {auth}"}
        elif auth is not None:
            known["http_auth"] = auth
        classes = [Transport, *Urllib3HttpConnection.__mro__, *known["connection_class"].__mro__]
        names = {name for kind in classes for name in signature(kind.__init__).parameters}
        if unknown := sorted(known.keys() - names - {"transport_class", "trust_env"}):
            raise InputError(
                f"the OpenSearch client has no option {unknown[0]!r}: check its name; for credentials use a user and a "
                "password in the address, or http_auth=signer"
            )
        return OpenSearch(list(hosts), **known)

    @staticmethod
    def host_of(client: OpenSearch) -> str:
        """Return the address of the first host of a client, without credentials."""
        connection = client.transport.connection_pool.connections[0]
        return f"{connection.host}{connection.url_prefix}"

    def has_equal_scores(self) -> bool:
        """Return whether the server needs ``use_similarity``, as OpenSearch 3 does.

        :raises StoreError: if the server is another product. The client does not check which one answers.
        """
        version: dict[str, Any] = self.send("GET", "", index=False, read=itemgetter("version"))
        if version.get("distribution") != "opensearch":
            raise StoreError(
                f"the server at {self.name} is not an OpenSearch: check the address; Elasticsearch has http:// alone"
            )
        return int(version["number"].partition(".")[0]) >= 3

    def _perform(self, method: str, path: str, parameters: Mapping[str, str], body: Any, timeout: Timeout) -> Any:
        transport = self.client.transport
        headers = None
        if isinstance(body, list):
            body = "".join(f"{transport.serializer.dumps(line)}\n" for line in body)
            headers = {"content-type": "application/x-ndjson"}
        timed = {**parameters, "request_timeout": timeout}
        try:
            return transport.perform_request(method, path, timed, body, headers=headers)
        except (OpenSearchException, ImproperlyConfigured) as error:
            cause = error.error if isinstance(error, ClientConnectionError) else error
            raise self._error(error, str(cause).splitlines()[0]) from error

    def _refusal(self, error: Any) -> SimhashError | None:
        if isinstance(error, SerializationError):
            return StoreError(f"the server at {self.name} is not an OpenSearch: check the address")
        if isinstance(error, TransportError) and isinstance(error.status_code, int):
            return error_of(error.info, error.status_code, self.name, "user and password, or the signer")
        return None
