"""From an address to a store: ``sqlite:///path``, or ``http(s)://[user:password@]host:port/index``.

Credentials and certificates follow the official client: what is not in the address is given by its own names
(``api_key``, ``basic_auth``, ``ca_certs``, ``verify_certs``, ``request_timeout``, …). ``ELASTICSEARCH_URL`` stands in
for a missing address, ``ELASTIC_API_KEY`` for missing credentials.
"""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from es_simhash.errors import InputError
from es_simhash.fingerprinting.normalisation import check_surrogates
from es_simhash.stores.sqlite import AsyncSqliteStore, SqliteStore

if TYPE_CHECKING:
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_simhash.contract import AsyncStore, Store

DEFAULT_ADDRESS = "sqlite:///es-simhash.db"
DEFAULT_INDEX = "es-simhash"
"""The index of an address that names none, as ELASTICSEARCH_URL usually does."""
USERS_INDEX = "es-simhash-users"
"""The same for seen items: an ingest replaces whole documents, so one with a user's id would take along what that user
has seen."""

_FORMS = "use sqlite:///path/to.db or http(s)://[user:password@]host:port/index"
_ENCODE = "in a user, password or index write % / ? # @ as %25 %2F %3F %23 %40"


def open_store(
    address: str | Elasticsearch | Store | None,
    index: str | None = None,
    *,
    default_index: str = DEFAULT_INDEX,
    **options: Any,
) -> Store:
    """The store at an address, or on a client of the caller's own, or the store itself.

    Nothing is sent yet.

    :param index: the index, where ``address`` is a client or names none.
    :param default_index: the index where neither names one.
    :param options: passed on to :class:`elasticsearch.Elasticsearch`.
    :raises InputError: if the address is of no known form.
    """
    if isinstance(address, str | None):
        address = _given_or_default(address)
        if (path := _sqlite_path(address, index, options)) is not None:
            return SqliteStore(path)
    elif hasattr(address, "perform"):
        return cast("Store", address)
    # Not at the top: the client takes as long to import as all the rest, and a file needs none of it.
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_simhash.stores.elasticsearch.store import ElasticsearchStore

    if isinstance(address, AsyncElasticsearch):
        raise InputError("this is an AsyncElasticsearch client: use the Async classes, or give an Elasticsearch client")
    if isinstance(address, Elasticsearch):
        _no_options(options)
        return ElasticsearchStore(address, _index(index), _client_name(address, index), owned=False)
    if not isinstance(address, str):
        raise InputError(f"no store is known for {address!r}: {_FORMS}, or give a client")
    host, index, name, options = _elasticsearch(address, index, default_index, options)
    return ElasticsearchStore(_client(Elasticsearch, host, options), index, name, owned=True)


def open_async_store(
    address: str | AsyncElasticsearch | AsyncStore | None,
    index: str | None = None,
    *,
    default_index: str = DEFAULT_INDEX,
    **options: Any,
) -> AsyncStore:
    """:func:`open_store` for async programs."""
    if isinstance(address, str | None):
        address = _given_or_default(address)
        if (path := _sqlite_path(address, index, options)) is not None:
            return AsyncSqliteStore(path)
    elif hasattr(address, "perform"):
        return cast("AsyncStore", address)
    from elasticsearch import AsyncElasticsearch, Elasticsearch

    from es_simhash.stores.elasticsearch.store import AsyncElasticsearchStore

    if isinstance(address, Elasticsearch):
        raise InputError(
            "this is a sync Elasticsearch client: use the sync classes, or give an AsyncElasticsearch client"
        )
    if isinstance(address, AsyncElasticsearch):
        _no_options(options)
        return AsyncElasticsearchStore(address, _index(index), _client_name(address, index), owned=False)
    if not isinstance(address, str):
        raise InputError(f"no store is known for {address!r}: {_FORMS}, or give a client")
    host, index, name, options = _elasticsearch(address, index, default_index, options)
    return AsyncElasticsearchStore(_client(AsyncElasticsearch, host, options), index, name, owned=True)


def default_address() -> str:
    """``ELASTICSEARCH_URL`` if that is set, else an SQLite file in the working directory."""
    return os.environ.get("ELASTICSEARCH_URL") or DEFAULT_ADDRESS


def _given_or_default(address: str | None) -> str:
    if address == "":
        raise InputError(f"the store's address is empty: {_FORMS}, or leave it out")
    return address or default_address()


def _sqlite_path(address: str, index: str | None, options: dict[str, Any]) -> str | None:
    if not address.startswith("sqlite:"):
        return None
    path = address.removeprefix("sqlite:///")
    if path == address or not path:
        raise InputError(
            f"{_without_secrets(address)!r} names no file: use sqlite:///path/to.db (sqlite:////path from the root)"
        )
    if index is not None or options:
        given = ", ".join([*(["index"] if index is not None else []), *options])
        raise InputError(f"{given} given with {_without_secrets(address)!r}: these go with an Elasticsearch only")
    return path


def _elasticsearch(
    address: str, index: str | None, default_index: str, options: dict[str, Any]
) -> tuple[str, str, str, dict[str, Any]]:
    """The client's host, the index, the address to be shown, and the client's options."""
    check_surrogates(address, "the store's address")
    try:
        url = urlsplit(address)
        port = url.port
    except ValueError:  # whose words repeat what may be a part of a password
        raise InputError(f"the address {_without_secrets(address)!r} can't be read: {_FORMS}; {_ENCODE}") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InputError(f"no store is known for {_without_secrets(address)!r}: {_FORMS}")
    if "@" in url.path or url.query or url.fragment:  # a / ? # in a password ends the host there
        raise InputError(f"the store's address has @ ? or # after the host: {_FORMS}; {_ENCODE}")
    host_name = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    if port is None:
        raise InputError(f"the address of {host_name} names no port: write {url.scheme}://{host_name}:9200/… (or :443)")
    *prefix, last = [part for part in url.path.split("/") if part] or [""]
    if index is not None and last:
        raise InputError(f"the address names the index {last!r}, and index={index!r} is given too: leave one out")
    index = _index(index or unquote(last) or default_index)
    host = "/".join([f"{url.scheme}://{host_name}:{port}", *prefix])
    if url.username is not None:
        credentials = f"{unquote(url.username)}:{unquote(url.password or '')}"
        # As base64, because of a pair the client takes ASCII only.
        options = {"basic_auth": b64encode(credentials.encode()).decode(), **options}
    if "basic_auth" not in options and "api_key" not in options and (key := os.environ.get("ELASTIC_API_KEY")):
        options = {"api_key": key, **options}
    return host, index, f"{host}/{index}", _checked(options)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """The client's options, without those that it stumbles over at its first request."""
    if isinstance(key := options.get("api_key"), str):
        key = key.strip()  # out of a file it brings a line break along
        if not (key.isascii() and key.isprintable()):
            raise InputError("the API key has a character that no key has: copy it again (ELASTIC_API_KEY, --api-key)")
        options = {**options, "api_key": key}
    if (certificates := options.get("ca_certs")) is not None and not Path(certificates).exists():
        raise InputError(f"there is no file {str(certificates)!r}: check ca_certs (--ca-certs)")
    return options


def _client(kind: Any, host: str, options: dict[str, Any]) -> Any:
    try:
        return kind(host, **options)
    except (TypeError, ValueError, OSError, ImportError) as error:
        # A file of certificates that isn't there, an option that the client doesn't know, aiohttp not installed.
        raise InputError(f"the client for {host} can't be made: {error}") from error


def _no_options(options: dict[str, Any]) -> None:
    if options:
        raise InputError(f"{', '.join(options)} given with a client: such options belong to the client that you made")


def _index(index: str | None) -> str:
    if not index:
        raise InputError("a client alone names no index: give index='…' with it")
    if index.startswith(("_", "-")) or "*" in index or "," in index:
        raise InputError(f"{index!r} may stand for several indices: name one index, or an alias")
    return index


def _client_name(client: Elasticsearch | AsyncElasticsearch, index: str | None) -> str:
    node = next(iter(client.transport.node_pool.all()))
    return f"{node.base_url}/{index}"


def _without_secrets(address: str) -> str:
    before, at, rest = address.rpartition("@")
    scheme, separator, _ = before.partition("://")
    return f"{scheme + separator if scheme.isalpha() and separator else ''}…@{rest}" if at else address
