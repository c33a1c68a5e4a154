"""From an address to a store: ``sqlite:///path``, or ``http(s)://[user:password@]host:port[,host:port…]/index``.

``opensearch+http(s)://…`` is an index of an OpenSearch, and ``http(s)://…`` one of an Elasticsearch.

Several hosts are nodes of one cluster. The client sends each request to one of them, and to another one if that host
does not answer in time. All have the same scheme, credentials, path and options.

Other credentials, and certificates, are options with the names that the official client uses (``api_key``,
``basic_auth``, ``ca_certs``, ``verify_certs``, ``request_timeout``, …). ``ELASTICSEARCH_URL`` replaces a missing
address. ``ELASTIC_API_KEY`` replaces missing credentials of an Elasticsearch. The OpenSearch client gets ``basic_auth``
and ``request_timeout`` under its names; it has others, such as ``http_auth``.
"""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.retries import Retrying
from es_simhash.stores.clients import ELASTICSEARCH, OPENSEARCH, product_of
from es_simhash.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch
    from opensearchpy import OpenSearch

    from es_simhash.contract import Store
    from es_simhash.retries import Patience
    from es_simhash.stores.clients import Product
    from es_simhash.stores.elasticsearch.index import Dialect

DEFAULT_ADDRESS = "sqlite:///es-simhash.db"
DEFAULT_INDEX = "es-simhash"
"""The index, if the address names none, as ELASTICSEARCH_URL usually does."""
USERS_INDEX = "es-simhash-users"
"""The same for seen items. They have another index, because an ingest replaces whole documents.

An ingested document with the id of a user would remove the user's seen items.
"""

_CREDENTIALS = frozenset({"api_key", "basic_auth", "bearer_auth", "http_auth"})
_FORMS = "use sqlite:///path/to.db or [opensearch+]http(s)://[user:password@]host:port[,host:port…]/index"
_ENCODE = "in a user, password or index write % / ? # @ as %25 %2F %3F %23 %40"


def open_store(
    address: str | Elasticsearch | OpenSearch | Store | None,
    index: str | None = None,
    *,
    patience: Patience | None = None,
    default_index: str = DEFAULT_INDEX,
    **options: Any,
) -> Store:
    """Return the store at an address, or on a client of the caller. A store is returned as it is.

    No request is sent yet.

    :param address: None for :func:`default_address`.
    :param index: name of the index. Use it if ``address`` is a client, or a URL without an index.
    :param patience: for how long requests are retried; the store's own rule if it is left out. A store of the
        caller's own class keeps its own rule.
    :param default_index: the index, if neither ``address`` nor ``index`` names one.
    :param options: options of :class:`elasticsearch.Elasticsearch`, or of :class:`opensearchpy.OpenSearch`.
    :raises InputError: if the address or an option is invalid.
    """
    if isinstance(address, str | None):
        if address == "":
            raise InputError(f"the store's address is empty: {_FORMS}, or leave it out")
        store: Any = _store_at(address or default_address(), index, default_index, options)
    elif hasattr(address, "candidates"):
        store = address
    else:
        store = _store_on(address, index, options)
    if patience is not None and isinstance(store, Retrying):
        store.patience = patience
    return store  # type: ignore[no-any-return]


def _store_at(address: str, index: str | None, default_index: str, options: dict[str, Any]) -> Store:
    """Return the store at an address: a file, or an index of a server, with a client of its own."""
    if (path := _sqlite_path(address, index, options)) is not None:
        return SqliteStore(path)
    server = _parse_url(address, index, default_index, options)
    module, client_class = server.product.load(), server.product.client_class()
    for host in server.hosts:
        module.check_host(host)
    try:
        client = client_class(server.hosts, **module.client_options(server.options))
    except (TypeError, ValueError, OSError, ImportError, *module.INVALID) as error:
        # An invalid file of certificates, or an option that the client does not know.
        raise InputError(
            f"the client for {server.name} can't be made: {error}: check the options of the client"
        ) from error
    return _index_store(client, server.index, server.name, module.DIALECT, owned=True)


def _store_on(client: Any, index: str | None, options: dict[str, Any]) -> Store:
    """Return the store on a client of the caller."""
    if (product := product_of(client)) is None:
        raise InputError(
            f"no store is known for {client!r}: {_FORMS}, or pass a client, which is not async: the async classes of "
            "es_simhash use a sync client too"
        )
    if options:
        raise InputError(f"{', '.join(options)} given with a client: set these options on your client")
    module = product.load()
    host = module.client_hosts(client)[0]
    module.check_host(host)
    index = _checked_index(index)
    return _index_store(client, index, f"{product.prefix}{host}", module.DIALECT, owned=False)


def _index_store(client: Any, index: str, server: str, dialect: Dialect, *, owned: bool) -> Store:
    from es_simhash.stores.elasticsearch.index import Index  # a file does not need these modules
    from es_simhash.stores.elasticsearch.store import IndexStore

    return IndexStore(Index(index, f"{server}/{index}", dialect, client), owned=owned)


def default_address() -> str:
    """Return ``ELASTICSEARCH_URL`` if that is set, else the address of an SQLite file in the working directory."""
    return os.environ.get("ELASTICSEARCH_URL") or DEFAULT_ADDRESS


def sqlite_file(address: str | None) -> str | None:
    """Return the path of the file that an address names; None if it names something else.

    :param address: None for :func:`default_address`.
    """
    address = address or default_address()
    path = address.removeprefix("sqlite:///")
    return path if path not in (address, ":memory:") else None


def _sqlite_path(address: str, index: str | None, options: dict[str, Any]) -> str | None:
    """Return the path of the file; None if the address is not ``sqlite:…``."""
    if not address.startswith("sqlite:"):
        return None
    path = address.removeprefix("sqlite:///")
    if path == address or not path:
        raise InputError(
            f"{_without_secrets(address)!r} names no file: use sqlite:///path/to.db (sqlite:////path from the root)"
        )
    if names := ", ".join([*(["index"] if index is not None else []), *options]):
        raise InputError(
            f"{names} given with {_without_secrets(address)!r}: use these with Elasticsearch or OpenSearch only"
        )
    return path


@dataclass(frozen=True)
class _Server:
    """What a URL and the options name.

    :param product: which it is.
    :param hosts: URL of each host of the server, without credentials.
    :param name: all hosts as one URL, for messages.
    :param options: options of the client.
    """

    product: Product
    hosts: list[str]
    name: str
    index: str
    options: dict[str, Any]


def _parse_url(address: str, index: str | None, default_index: str, options: dict[str, Any]) -> _Server:
    check_surrogates(address, "the store's address")
    try:
        url = urlsplit(address)
    except ValueError:  # its message may contain a part of the password
        raise InputError(f"the address {_without_secrets(address)!r} is invalid: {_FORMS}; {_ENCODE}") from None
    product = OPENSEARCH if url.scheme.startswith(OPENSEARCH.prefix) else ELASTICSEARCH
    scheme = url.scheme.removeprefix(product.prefix)
    if scheme not in ("http", "https") or not url.netloc.rpartition("@")[2]:
        raise InputError(f"no store is known for {_without_secrets(address)!r}: {_FORMS}")
    if "@" in url.path or url.query or url.fragment:  # a password with / ? # ends the host there
        raise InputError(f"the store's address has @ ? or # after the host: {_FORMS}; {_ENCODE}")
    if url.netloc.endswith((",http:", ",https:", f",{url.scheme}:")):
        raise InputError(f"the store's address has {url.scheme}:// in each host: write it once; {_FORMS}")
    credentials, _, hosts_and_ports = url.netloc.rpartition("@")
    if "@" in credentials and "," in credentials:
        raise InputError(f"the store's address has credentials in each host: write them once; {_FORMS}; {_ENCODE}")
    hosts = [_checked_host(host, url.scheme) for host in hosts_and_ports.split(",")]
    *prefix, last = [part for part in url.path.split("/") if part] or [""]
    if index is not None and last:
        raise InputError(f"the address names the index {last!r}, and index={index!r} is given too: leave one out")
    index = _checked_index(index or unquote(last) or default_index)
    path = "".join(f"/{part}" for part in prefix)
    if url.username is not None:
        credentials = f"{unquote(url.username)}:{unquote(url.password or '')}"
        # As base64, because the client accepts a pair in ASCII only.
        options = {"basic_auth": b64encode(credentials.encode()).decode(), **options}
    if product is ELASTICSEARCH and not _has_credentials(options) and (key := os.environ.get("ELASTIC_API_KEY")):
        options = {"api_key": key, **options}
    if (certificates := options.get("ca_certs")) is not None and not Path(certificates).exists():
        raise InputError(f"there is no file {str(certificates)!r}: correct its name (ca_certs)")
    if len(hosts) > 1:  # another host may be faster
        options = {"retry_on_timeout": True, **options}
    return _Server(
        product=product,
        hosts=[f"{scheme}://{host}{path}" for host in hosts],
        name=f"{url.scheme}://{','.join(hosts)}{path}",
        index=index,
        options=options,
    )


def _has_credentials(options: dict[str, Any]) -> bool:
    """Return whether the options of an Elasticsearch client have credentials. The client takes one kind of them."""
    headers = {name.lower() for name in options.get("headers") or ()}
    return not _CREDENTIALS.isdisjoint(options) or "authorization" in headers


def _checked_host(host: str, scheme: str) -> str:
    """Return ``host:port`` of one of the hosts of an address.

    :raises InputError: if it has no name or no port. The message lacks what follows the name: it may be a password.
    """
    name = host.partition(":")[0]
    try:
        url = urlsplit(f"{scheme}://{host}")
        name, port = url.hostname or "", url.port
    except ValueError:
        raise InputError(f"the host {name!r} in the store's address has no valid port: {_FORMS}; {_ENCODE}") from None
    if not name:
        raise InputError(f"a host in the store's address has no name: {_FORMS}; {_ENCODE}")
    name = f"[{name}]" if ":" in name else name
    if port is None:
        raise InputError(f"the address of {name} names no port: write {scheme}://{name}:9200/… (or :443)")
    return f"{name}:{port}"


def _checked_index(index: str | None) -> str:
    if not index:
        raise InputError("a client names no index: pass index='…' too")
    if index.startswith(("_", "-")) or "*" in index or "," in index:
        raise InputError(f"{index!r} may mean several indices: name one index, or an alias")
    return index


def _without_secrets(address: str) -> str:
    """Return an address for messages, without what may be a password."""
    before, at, rest = address.rpartition("@")
    scheme, separator, _ = (before if at else address).partition("://")
    kind = scheme + separator if scheme.replace("+", "").isalpha() and separator else ""
    if at:
        return f"{kind}…@{rest}"
    # Without an @, a password may stand behind the colon, if the host was forgotten. After a scheme it may be a port.
    _, colon, behind = address.removeprefix(kind).partition(":")
    is_port = kind and behind.partition("/")[0].isdecimal()
    return address if is_port or not colon else f"{kind}…"
