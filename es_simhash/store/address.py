"""From an address to a store: ``sqlite:///path``, or ``http(s)://[user:password@]host:port[,host:port…]/index``.

``opensearch+http(s)://…`` is an index of an OpenSearch, ``http(s)://…`` one of an Elasticsearch, ``memory://`` a store
in memory.

Several hosts are nodes of one cluster. The client sends each request to one of them, and to another one if that host
does not answer. All have the same scheme, credentials, path and options.

Other credentials, and certificates, are options with the names that the official client uses (``api_key``,
``basic_auth``, ``ca_certs``, ``verify_certs``, …). ``ELASTICSEARCH_URL`` replaces a missing address.
``ELASTIC_API_KEY`` replaces missing credentials of an Elasticsearch.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from es_simhash.errors import InputError, shown
from es_simhash.retries import DEADLINE
from es_simhash.store.elastic.store import ElasticStore
from es_simhash.store.memory_store import MemoryStore
from es_simhash.store.sqlite import SqliteStore
from es_simhash.text.normalisation import check_surrogates

if TYPE_CHECKING:
    from typing import TypeAlias

    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    from es_simhash.store.elastic.connection import Connection
    from es_simhash.store.protocol import Store

    Address: TypeAlias = str | Elasticsearch | OpenSearch | Store | None
    """What a caller names a store by."""

DEFAULT_ADDRESS = "sqlite:///es-simhash.db"
DEFAULT_INDEX = "es-simhash"
"""The index, if the address names none, as ELASTICSEARCH_URL usually does."""
USERS_INDEX = "es-simhash-users"
"""The same for seen items. They have another index, because an ingest replaces whole documents.

An ingested document with the id of a user would remove the user's seen items.
"""
_CREDENTIALS = frozenset({"api_key", "basic_auth", "bearer_auth", "http_auth", "authorization"})
_OPENSEARCH = "opensearch+"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[^][:@/?#,]+):[0-9]+"
_URL = re.compile(
    rf"(?P<scheme>(?:opensearch\+)?https?)://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@/?#]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)(?P<path>(?:/[^@?#]*)?)"
)
_FORMS = (
    "use sqlite:///path/to.db or [opensearch+]http(s)://[user:password@]host:port[,host:port…]/index; in a user, "
    "password or index write % / ? # @ as %25 %2F %3F %23 %40"
)
"""The forms of an address, for messages. They do not show the wrong address: it may hold a password."""


def open_store(
    address: Address,
    index: str | None = None,
    *,
    deadline: float = DEADLINE,
    default_index: str = DEFAULT_INDEX,
    **options: Any,
) -> Store:
    """Return the store at an address, or on a client of the caller. A store is returned as it is.

    No request is sent yet.

    :param address: None for :func:`default_address`.
    :param index: name of the index. Use it if ``address`` is a client, or a URL without an index.
    :param deadline: seconds for which a request is repeated while the server is busy or away; 0 to raise at once.
    :param default_index: the index, if neither ``address`` nor ``index`` names one.
    :param options: options of :class:`elasticsearch.Elasticsearch`, or of :class:`opensearchpy.OpenSearch`.
    :raises InputError: if the address or an option is invalid.
    """
    if hasattr(address, "list_users"):
        return address  # type: ignore[return-value]
    if not isinstance(address, str | None):
        return _on_client(address, index, deadline, options)
    address = default_address() if address is None else address
    path = sqlite_file(address)
    if path is None and address != "memory://":
        return _on_server(address, index, default_index, deadline, options)
    if path in ("", ":memory:"):
        raise InputError(f"the store's address names no file: use memory:// for a store in memory, or {_FORMS}")
    if names := ", ".join([*(["index"] if index is not None else []), *options]):
        raise InputError(f"{names} given with {address}: use these with Elasticsearch or OpenSearch only")
    return MemoryStore() if path is None else SqliteStore(path, busy=deadline)


def default_address() -> str:
    """Return ``ELASTICSEARCH_URL`` if that is set, else the address of an SQLite file in the working directory."""
    return os.environ.get("ELASTICSEARCH_URL") or DEFAULT_ADDRESS


def sqlite_file(address: str | None) -> str | None:
    """Return the path of the file that an address names; None if it names something else.

    :param address: None for :func:`default_address`.
    """
    address = default_address() if address is None else address
    path = address.removeprefix("sqlite:///")
    return path if path != address else None


def _on_client(client: Any, index: str | None, deadline: float, options: dict[str, Any]) -> Store:
    """Return the store on a client of the caller."""
    classes = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(client).__mro__}
    is_opensearch = "opensearchpy.OpenSearch" in classes
    if not is_opensearch and "elasticsearch.Elasticsearch" not in classes:
        raise InputError(
            f"{shown(client)} is no store: pass an address, or a sync client of the class Elasticsearch or OpenSearch "
            "(the async classes run it in threads)"
        )
    if options:
        raise InputError(f"{', '.join(options)} given with a client: set these options on your client")
    index = _checked_index(index)
    kind = _connection_class(is_opensearch)
    name = f"{_OPENSEARCH if is_opensearch else ''}{kind.host_of(client)}/{index}"
    return ElasticStore(kind(client, index, name, owned=False, deadline=deadline))


def _on_server(
    address: str, index: str | None, default_index: str, deadline: float, options: dict[str, Any]
) -> ElasticStore:
    """Return the store that a URL and the options of a client name."""
    check_surrogates(address, "the store's address")
    if (url := _URL.fullmatch(address)) is None:
        raise InputError(f"the store's address is invalid: {_FORMS}")
    *prefix, last = [part for part in url["path"].split("/") if part] or [""]
    if index is not None and last:
        raise InputError(f"the address names the index {last!r}, and index={index!r} is given too: leave one out")
    index = _checked_index(index or unquote(last) or default_index)
    path = "".join(f"/{part}" for part in prefix)
    name = f"{url['scheme']}://{url['hosts']}{path}/{index}"
    scheme = url["scheme"].removeprefix(_OPENSEARCH)
    hosts = [f"{scheme}://{host}{path}" for host in url["hosts"].split(",")]
    seconds, answered = options.pop("request_timeout", None), options.pop("answered", False)
    if (certificates := options.get("ca_certs")) is not None and not Path(certificates).exists():
        raise InputError(f"there is no file {str(certificates)!r}: correct its name (ca_certs)")
    kind = _connection_class(scheme != url["scheme"])
    try:
        client = kind.new_client(hosts, _with_credentials(url, options))
    except InputError:
        raise
    except Exception as error:  # an invalid file of certificates, or an option that the client does not know
        raise InputError(f"the client for {name} can't be made: {error}: check its options") from error
    connected = {"deadline": deadline, "hosts": len(hosts), "answered": answered}
    return ElasticStore(kind(client, index, name, owned=True, request_seconds=seconds, **connected))


def _with_credentials(url: re.Match[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a client with the credentials of the address, or with those of the environment.

    :raises InputError: for credentials in the options beside those of the address.
    """
    headers = {name.lower() for name in options.get("headers") or ()}
    given = sorted(_CREDENTIALS & {*options, *headers})
    if url["user"] is not None:
        if given:
            raise InputError(
                f"the store's address has a user, and {given[0]} is given too: leave one of them out (a key in "
                "ELASTIC_API_KEY is only for addresses without a user)"
            )
        credentials = f"{unquote(url['user'])}:{unquote(url['password'] or '')}"
        # As base64, because the client accepts a pair in ASCII only.
        return {"basic_auth": b64encode(credentials.encode()).decode(), **options}
    key = os.environ.get("ELASTIC_API_KEY")
    if key and not url["scheme"].startswith(_OPENSEARCH) and not given:
        return {"api_key": key, **options}  # the client takes one kind of credentials
    return options


def _connection_class(is_opensearch: bool) -> type[Connection]:
    """Return the class of the connections to a product. Who needs no server does not wait until its client is there.

    :raises InputError: if the client is not installed.
    """
    if not is_opensearch:
        from es_simhash.store.elastic.elasticsearch import ElasticsearchConnection

        return ElasticsearchConnection
    try:
        from es_simhash.store.elastic.opensearch import OpenSearchConnection
    except ImportError as error:
        raise InputError(
            f"the store needs a client that is not installed ({error}): pip install 'opensearch-py>=2.8,<4'"
        ) from error
    return OpenSearchConnection


def _checked_index(index: str | None) -> str:
    if not index:
        raise InputError("a client names no index: pass index='…' too")
    if index.startswith(("_", "-")) or "*" in index or "," in index:
        raise InputError(f"{index!r} may mean several indices: name one index, or an alias")
    return index
