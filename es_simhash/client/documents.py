"""Documents and AsyncDocuments: the classes that a program uses to find near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from es_simhash.client.arguments import checked_deadline
from es_simhash.client.drivers import (
    AsyncClient,
    RetryingStore,
    SyncClient,
    async_iterator,
    async_method,
    sync_iterator,
    sync_method,
)
from es_simhash.client.opening import Opening
from es_simhash.client.review_verbs import ReviewVerbs as Verbs
from es_simhash.drive import DEADLINE, Patience
from es_simhash.stores.address import open_async_store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch, OpenSearch

    from es_simhash.contract import AsyncStore, Store
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.fingerprinting.scheme import Scheme


class Documents(SyncClient):
    """Documents and their fingerprints in a store.

    >>> with Documents("sqlite:///news.db") as documents:
    ...     for outcome in documents.ingest([{"id": 1, "text": "…"}]):
    ...         print(outcome.id, outcome.outcome, outcome.duplicate_of)

    :param store: ``sqlite:///path/to.db``, ``http(s)://[user:password@]host:port[,host:port…]/index``, the
        same with ``opensearch+`` before ``http``, an :class:`elasticsearch.Elasticsearch` or an
        :class:`opensearchpy.OpenSearch` of your own, or None for ``ELASTICSEARCH_URL`` or else an SQLite file.
    :param index: the index, if ``store`` is a client.
    :param routing: read and write only the documents with this routing value (docs/how-to/tenants.md).
    :param scheme: for a store that is set up now; by default ``Scheme()``. A store that was set up keeps its Scheme:
        leave ``scheme`` out to use it. Another one raises.
    :param segmenter: ``jieba`` or ``rjieba``. They give the same words. The default is the faster one installed.
    :param fingerprinter: a Fingerprinter with tables of your own, in place of ``scheme`` and ``segmenter``; or a
        function that makes one for the store's Scheme (None if the store is not set up).
    :param deadline: seconds for which each request is retried while the store is busy or away; 0 to raise at once. If
        no host answers the very first request, it is not retried, because the address may be mistyped.
    :param client_options: for the official client: ``api_key``, ``ca_certs``, ``request_timeout``,
        ``sniff_on_node_failure``, …; for the OpenSearch client also ``http_auth``, …
    :raises InputError: if the address cannot be used; for a ``fingerprinter`` together with a ``scheme``. Nothing is
        sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | OpenSearch | Store | None = None,
        *,
        index: str | None = None,
        routing: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
        deadline: float = DEADLINE,
        **client_options: Any,
    ) -> None:
        patience = Patience(checked_deadline(deadline))
        opened = open_store(store, index, routing=routing, **client_options)
        opening = Opening(opened.name, scheme, segmenter, fingerprinter)
        super().__init__(
            opened, Verbs(opening, patience.deadline, embedded=opened.embedded, async_input=False), patience
        )

    @property
    def store(self) -> Store:
        """The store. Its requests are retried, as those of the methods of this class are."""
        return RetryingStore(self)

    setup = sync_method(Verbs.setup)
    fingerprinter = sync_method(Verbs.fingerprinter)
    add = sync_method(Verbs.add)
    add_many = sync_method(Verbs.add_many)
    ingest = sync_iterator(Verbs.ingest, writes=True)
    backfill = sync_iterator(Verbs.backfill, writes=True)
    missing = sync_method(Verbs.missing)
    remove = sync_method(Verbs.remove)
    remove_matching = sync_method(Verbs.remove_matching)
    group = sync_method(Verbs.group)
    write_links = sync_method(Verbs.write_links)
    similar = sync_method(Verbs.similar)
    similar_many = sync_method(Verbs.similar_many)
    similar_to = sync_method(Verbs.similar_to)
    near_query = sync_method(Verbs.near_query)
    fetch = sync_method(Verbs.fetch)
    export = sync_iterator(Verbs.export)
    export_texts = sync_iterator(Verbs.export_texts)
    sources = sync_method(Verbs.sources)
    are_duplicates = sync_method(Verbs.are_duplicates)
    duplicates = sync_iterator(Verbs.duplicates)
    remove_duplicates = sync_method(Verbs.remove_duplicates)
    keys = sync_method(Verbs.keys)
    keys_complete = sync_method(Verbs.keys_complete)


class AsyncDocuments(AsyncClient):
    """:class:`Documents` for async programs: the same methods, awaited, or iterated by ``async for``.

    :param store: as for Documents, or an :class:`elasticsearch.AsyncElasticsearch` or an
        :class:`opensearchpy.AsyncOpenSearch` of your own.
    """

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncOpenSearch | AsyncStore | None = None,
        *,
        index: str | None = None,
        routing: str | None = None,
        scheme: Scheme | None = None,
        segmenter: str | None = None,
        fingerprinter: Fingerprinter | Callable[[Scheme | None], Fingerprinter] | None = None,
        deadline: float = DEADLINE,
        **client_options: Any,
    ) -> None:
        patience = Patience(checked_deadline(deadline))
        opened = open_async_store(store, index, routing=routing, **client_options)
        opening = Opening(opened.name, scheme, segmenter, fingerprinter)
        super().__init__(
            opened, Verbs(opening, patience.deadline, embedded=opened.embedded, async_input=True), patience
        )

    setup = async_method(Verbs.setup)
    fingerprinter = async_method(Verbs.fingerprinter)
    add = async_method(Verbs.add)
    add_many = async_method(Verbs.add_many)
    ingest = async_iterator(Verbs.ingest, writes=True)
    backfill = async_iterator(Verbs.backfill, writes=True)
    missing = async_method(Verbs.missing)
    remove = async_method(Verbs.remove)
    remove_matching = async_method(Verbs.remove_matching)
    group = async_method(Verbs.group)
    write_links = async_method(Verbs.write_links)
    similar = async_method(Verbs.similar)
    similar_many = async_method(Verbs.similar_many)
    similar_to = async_method(Verbs.similar_to)
    near_query = async_method(Verbs.near_query)
    fetch = async_method(Verbs.fetch)
    export = async_iterator(Verbs.export)
    export_texts = async_iterator(Verbs.export_texts)
    sources = async_method(Verbs.sources)
    are_duplicates = async_method(Verbs.are_duplicates)
    duplicates = async_iterator(Verbs.duplicates)
    remove_duplicates = async_method(Verbs.remove_duplicates)
    keys = async_method(Verbs.keys)
    keys_complete = async_method(Verbs.keys_complete)
