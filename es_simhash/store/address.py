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
import sys
from base64 import b64encode
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.retries import DEADLINE
from es_simhash.store.memory_store import MemoryStore
from es_simhash.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    from es_simhash.store.elastic.store import ElasticStore
    from es_simhash.store.protocol import Store

DEFAULT_ADDRESS = "sqlite:///es-simhash.db"
DEFAULT_INDEX = "es-simhash"
"""The index, if the address names none, as ELASTICSEARCH_URL usually does."""
USERS_INDEX = "es-simhash-users"
"""The same for seen items. They have another index, because an ingest replaces whole documents.

An ingested document with the id of a user would remove the user's seen items.
"""
_CREDENTIALS = frozenset({"api_key", "basic_auth", "bearer_auth", "http_auth"})
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
_CLIENTS = {
    "elasticsearch": ("elasticsearch", "Elasticsearch", "pip install 'elasticsearch>=8.19,<10'"),
    "opensearch": ("opensearchpy", "OpenSearch", "pip install 'opensearch-py>=2.8,<4'"),
}
"""For each module of ``store/elastic`` with a client: the package, the class, and how to install it."""


def open_store(
    address: str | Elasticsearch | OpenSearch | Store | None,
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
    if hasattr(address, "write_links"):
        return address  # type: ignore[return-value]
    if not isinstance(address, str | None):
        return _store_on(address, index, deadline, options)
    if address == "":
        raise InputError(f"the store's address is empty: leave it out, or {_FORMS}")
    address = address or default_address()
    if address == "memory://":
        return MemoryStore()
    if (path := _sqlite_path(address, index, options)) is not None:
        return SqliteStore(path, busy=deadline)
    seconds = options.pop("request_timeout", None)
    server = _parse_url(address, index, default_index, options)
    module = _module(server.kind)
    try:
        client = module.new_client(server.hosts, server.options)
    except InputError:
        raise
    except Exception as error:  # an invalid file of certificates, or an option that the client does not know
        raise InputError(f"the client for {server.name} can't be made: {error}: check its options") from error
    store = _elastic_store(client, server.index, server.name, module, deadline, hosts=len(server.hosts), owned=True)
    if seconds is not None:
        store.connection.request_seconds = seconds
    return store


def _store_on(client: Any, index: str | None, deadline: float, options: dict[str, Any]) -> Store:
    """Return the store on a client of the caller."""
    for kind, (package, name, _) in _CLIENTS.items():
        client_class = getattr(sys.modules.get(package), name, None)  # a client exists only if its package was imported
        if client_class is not None and isinstance(client, client_class):
            if options:
                raise InputError(f"{', '.join(options)} given with a client: set these options on your client")
            module = _module(kind)
            prefix = _OPENSEARCH if kind == "opensearch" else ""
            name = f"{prefix}{module.host_of(client)}/{_checked_index(index)}"
            return _elastic_store(client, _checked_index(index), name, module, deadline, owned=False)
    raise InputError(
        f"no store is known for {client!r}: pass a sync client of the class Elasticsearch or OpenSearch, or {_FORMS}"
    )


def _elastic_store(
    client: Any, index: str, name: str, module: Any, deadline: float, *, owned: bool, hosts: int = 1
) -> ElasticStore:
    from es_simhash.store.elastic.connection import Connection  # a file does not need these modules
    from es_simhash.store.elastic.store import ElasticStore

    return ElasticStore(Connection(client, index, name, module.PRODUCT, owned=owned, deadline=deadline, hosts=hosts))


def _module(kind: str) -> Any:
    """Return the module with a client: it takes as long to import as all others, so only who needs it imports it.

    :raises InputError: if the client is not installed.
    """
    _, _, install = _CLIENTS[kind]
    try:
        return import_module(f"es_simhash.store.elastic.{kind}")
    except ImportError as error:
        raise InputError(f"the store needs a client that is not installed ({error}): {install}") from error


def default_address() -> str:
    """Return ``ELASTICSEARCH_URL`` if that is set, else the address of an SQLite file in the working directory."""
    return os.environ.get("ELASTICSEARCH_URL") or DEFAULT_ADDRESS


def sqlite_file(address: str | None) -> str | None:
    """Return the path of the file that an address names; None if it names something else.

    :param address: None for :func:`default_address`.
    """
    address = address or default_address()
    path = address.removeprefix("sqlite:///")
    return path if path != address else None


def _sqlite_path(address: str, index: str | None, options: dict[str, Any]) -> str | None:
    """Return the path of the file; None if the address is not ``sqlite:…``."""
    if not address.startswith("sqlite:"):
        return None
    path = address.removeprefix("sqlite:///")
    if path in (address, "", ":memory:"):
        raise InputError(f"the store's address names no file: use memory:// for a store in memory, or {_FORMS}")
    if names := ", ".join([*(["index"] if index is not None else []), *options]):
        raise InputError(f"{names} given with a file: use these with Elasticsearch or OpenSearch only")
    return path


@dataclass(frozen=True)
class _Server:
    """What a URL and the options name.

    :param kind: ``elasticsearch`` or ``opensearch``.
    :param hosts: URL of each host of the server, without credentials.
    :param name: all hosts and the index as one URL, for messages.
    :param options: options of the client.
    """

    kind: str
    hosts: list[str]
    name: str
    index: str
    options: dict[str, Any]


def _parse_url(address: str, index: str | None, default_index: str, options: dict[str, Any]) -> _Server:
    check_surrogates(address, "the store's address")
    if (url := _URL.fullmatch(address)) is None:
        raise InputError(f"the store's address is invalid: {_FORMS}")
    scheme = url["scheme"].removeprefix(_OPENSEARCH)
    kind = "elasticsearch" if scheme == url["scheme"] else "opensearch"
    *prefix, last = [part for part in url["path"].split("/") if part] or [""]
    if index is not None and last:
        raise InputError(f"the address names the index {last!r}, and index={index!r} is given too: leave one out")
    index = _checked_index(index or unquote(last) or default_index)
    path = "".join(f"/{part}" for part in prefix)
    if url["user"] is not None:
        credentials = f"{unquote(url['user'])}:{unquote(url['password'] or '')}"
        # As base64, because the client accepts a pair in ASCII only.
        options = {"basic_auth": b64encode(credentials.encode()).decode(), **options}
    if kind == "elasticsearch" and not _has_credentials(options) and (key := os.environ.get("ELASTIC_API_KEY")):
        options = {"api_key": key, **options}
    if (certificates := options.get("ca_certs")) is not None and not Path(certificates).exists():
        raise InputError(f"there is no file {str(certificates)!r}: correct its name (ca_certs)")
    hosts = url["hosts"].split(",")
    if len(hosts) > 1:  # one that does not answer is left out for a while
        options = {"retry_on_timeout": True, **options}
    return _Server(
        kind=kind,
        hosts=[f"{scheme}://{host}{path}" for host in hosts],
        name=f"{url['scheme']}://{url['hosts']}{path}/{index}",
        index=index,
        options=options,
    )


def _has_credentials(options: dict[str, Any]) -> bool:
    """Return whether the options of an Elasticsearch client have credentials. The client takes one kind of them."""
    headers = {name.lower() for name in options.get("headers") or ()}
    return not _CREDENTIALS.isdisjoint(options) or "authorization" in headers


def _checked_index(index: str | None) -> str:
    if not index:
        raise InputError("a client names no index: pass index='…' too")
    if index.startswith(("_", "-")) or "*" in index or "," in index:
        raise InputError(f"{index!r} may mean several indices: name one index, or an alias")
    return index
