"""SeenItems and AsyncSeenItems: the classes that a program uses to never show an item twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.client.arguments import checked_deadline
from es_simhash.client.drivers import AsyncClient, SyncClient, async_method, sync_method
from es_simhash.client.search_hits import hit_group, hit_id, hits_of
from es_simhash.client.seen_verbs import SeenVerbs as Verbs
from es_simhash.drive import Patience
from es_simhash.stores.address import USERS_INDEX, open_async_store, open_store
from es_simhash.verbs.page import UnseenPage
from es_simhash.verbs.seen import SEEN_DEADLINE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from opensearchpy import AsyncOpenSearch, OpenSearch

    from es_simhash.bloom import Item
    from es_simhash.client.search_hits import Hit
    from es_simhash.contract import AsyncStore, Store
    from es_simhash.verbs.page import Page

H = TypeVar("H")

ROUNDS = 5
"""Pages that ``unseen_page`` fetches at most."""


def _itself(hit: Any) -> Any:
    return hit


class SeenItems(SyncClient):
    """What each user has seen. "Not seen" is certain; "seen" is wrong at a rate that you choose.

    >>> seen = SeenItems("sqlite:///users.db", capacity=1_000, error_rate=0.01)
    >>> seen.add("ann", ["news-1", "news-2"])
    2
    >>> seen.unseen("ann", ["news-2", "news-3"])
    ['news-3']

    An item is a string, an integer or UTF-8 bytes. The integer 1 and the string "1" are the same item. A user's id is a
    string or an integer, and becomes the id of a document. In Elasticsearch only the object ``seen`` of that document
    is touched. No acknowledged add is lost, with any number of writers.

    :param store: as for :class:`~es_simhash.Documents`. The index is that of the users: ``es-simhash-users`` if the
        address names none. Do not use an index that documents are ingested into: an ingest replaces whole documents.
    :param capacity: items that a user's filter is made for first. It grows beyond, at the same error rate.
    :param error_rate: the share of unseen items that may be reported as seen.
    :param generations: filters that are kept for a user. With more than one, ``rotate`` drops old items.
    :param period: seconds after which an add starts a new generation; 0: only ``rotate`` starts one. The store keeps
        these four numbers. Leave one out to use the store's own.
    :param deadline: seconds for which a change is retried after version conflicts, and for which each
        request is retried while the store is busy or away, as for Documents.
    :raises InputError: if the address or a number cannot be used. Nothing is sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | OpenSearch | Store | None = None,
        *,
        index: str | None = None,
        capacity: int | None = None,
        error_rate: float | None = None,
        generations: int | None = None,
        period: int | None = None,
        deadline: float = SEEN_DEADLINE,
        **client_options: Any,
    ) -> None:
        config = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": period}
        patience = Patience(checked_deadline(deadline))
        opened = open_store(store, index, default_index=USERS_INDEX, **client_options)
        super().__init__(opened, Verbs(config, opened.name, deadline, embedded=opened.embedded), patience)

    setup = sync_method(Verbs.setup)
    add = sync_method(Verbs.add)
    add_many = sync_method(Verbs.add_many)
    rebuild_many = sync_method(Verbs.rebuild_many)
    unseen = sync_method(Verbs.unseen)
    unseen_many = sync_method(Verbs.unseen_many)
    might_have_seen = sync_method(Verbs.might_have_seen)
    forget = sync_method(Verbs.forget)
    forget_many = sync_method(Verbs.forget_many)
    rotate = sync_method(Verbs.rotate)
    stats = sync_method(Verbs.stats)
    clear = sync_method(Verbs.clear)
    remove = sync_method(Verbs.remove)

    def unseen_page(
        self,
        user: str | int | None,
        fetch: Callable[[int, int], Sequence[H]],
        size: int,
        *,
        item: Callable[[H], Item] = _itself,
        group: Callable[[H], Item | None] | None = None,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[H]:
        """Return a page of hits that a user has not seen, from a function that returns pages of hits.

        It fetches more hits than the size, again and again until the page is full, the source has no more hits, or
        ``rounds`` pages were fetched.

        :param user: None for one who has seen nothing.
        :param fetch: is called with an offset and a size, and returns the hits from there on; fewer at the end.
        :param item: returns the item of a hit: ``lambda hit: hit["_id"]``.
        :param group: returns the group of a hit, None if it has none. The page has one hit of each group, and none of a
            group that the user has seen: ``items`` of the page has the items and the groups to add.
        :param offset: where to start. The page says where the next one starts.
        """
        page = UnseenPage(size, offset, rounds, item, group)
        while (request := page.next_request()) is not None:
            page.fetched(fetch(*request))
            asked = page.asked
            page.add([False] * len(asked) if user is None else self.might_have_seen(user, asked))
        return page.page()

    def search_page(
        self,
        user: str | int | None,
        search: Callable[[int, int], Any],
        size: int,
        *,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[Hit]:
        """Return a page of your own search in Elasticsearch: without copies, and without what the user has seen.

        It is :meth:`unseen_page` of ids and of the groups of documents. ::

            def search(offset: int, size: int) -> Any:
                group = [{"field": "simhash.group"}]
                return client.search(index="news", query=query, from_=offset, size=size, docvalue_fields=group)

            page = seen.search_page("ann", search, 10)
            seen.add("ann", page.items)

        :param search: is called with an offset and a size, and returns the answer of Elasticsearch, or its list of
            hits. The hits must come with the field ``simhash.group``, or with their ``_source``.
        """

        def fetch(offset: int, size: int) -> list[Hit]:
            return hits_of(search(offset, size))

        return self.unseen_page(user, fetch, size, item=hit_id, group=hit_group, offset=offset, rounds=rounds)


class AsyncSeenItems(AsyncClient):
    """:class:`SeenItems` for async programs: the same methods, awaited.

    :param store: as for SeenItems, or an :class:`elasticsearch.AsyncElasticsearch` or an
        :class:`opensearchpy.AsyncOpenSearch` of your own.
    """

    _compute_in_thread = False  # a page of items takes less time than a change of threads

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncOpenSearch | AsyncStore | None = None,
        *,
        index: str | None = None,
        capacity: int | None = None,
        error_rate: float | None = None,
        generations: int | None = None,
        period: int | None = None,
        deadline: float = SEEN_DEADLINE,
        **client_options: Any,
    ) -> None:
        config = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": period}
        patience = Patience(checked_deadline(deadline))
        opened = open_async_store(store, index, default_index=USERS_INDEX, **client_options)
        super().__init__(opened, Verbs(config, opened.name, deadline, embedded=opened.embedded), patience)

    setup = async_method(Verbs.setup)
    add = async_method(Verbs.add)
    add_many = async_method(Verbs.add_many)
    rebuild_many = async_method(Verbs.rebuild_many)
    unseen = async_method(Verbs.unseen)
    unseen_many = async_method(Verbs.unseen_many)
    might_have_seen = async_method(Verbs.might_have_seen)
    forget = async_method(Verbs.forget)
    forget_many = async_method(Verbs.forget_many)
    rotate = async_method(Verbs.rotate)
    stats = async_method(Verbs.stats)
    clear = async_method(Verbs.clear)
    remove = async_method(Verbs.remove)

    async def unseen_page(
        self,
        user: str | int | None,
        fetch: Callable[[int, int], Awaitable[Sequence[H]]],
        size: int,
        *,
        item: Callable[[H], Item] = _itself,
        group: Callable[[H], Item | None] | None = None,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[H]:
        """:meth:`SeenItems.unseen_page`. ``fetch`` is awaited."""
        page = UnseenPage(size, offset, rounds, item, group)
        while (request := page.next_request()) is not None:
            page.fetched(await fetch(*request))
            asked = page.asked
            page.add([False] * len(asked) if user is None else await self.might_have_seen(user, asked))
        return page.page()

    async def search_page(
        self,
        user: str | int | None,
        search: Callable[[int, int], Awaitable[Any]],
        size: int,
        *,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[Hit]:
        """:meth:`SeenItems.search_page`. ``search`` is awaited."""

        async def fetch(offset: int, size: int) -> list[Hit]:
            return hits_of(await search(offset, size))

        return await self.unseen_page(user, fetch, size, item=hit_id, group=hit_group, offset=offset, rounds=rounds)
