"""The doors to seen items: SeenItems and AsyncSeenItems."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from es_simhash.bloom.seen import SeenConfig, user_id
from es_simhash.drive import arun, run
from es_simhash.errors import InputError
from es_simhash.stores.address import USERS_INDEX, open_async_store, open_store
from es_simhash.verbs import seen as flows
from es_simhash.verbs.page import UnseenPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from elasticsearch import AsyncElasticsearch, Elasticsearch
    from typing_extensions import Self

    from es_simhash.bloom import Item
    from es_simhash.contract import AsyncStore, Store
    from es_simhash.verbs.page import Page
    from es_simhash.verbs.seen import Report, Stats

    ByUser = Mapping[str, Iterable[Item]] | Mapping[int, Iterable[Item]] | Mapping[str | int, Iterable[Item]]

H = TypeVar("H")
T = TypeVar("T")

ROUNDS = 5


def _itself(hit: Any) -> Any:
    return hit


class SeenItems:
    """What each user has seen: "not seen" is certain, "seen" is wrong at a rate that you choose.

    >>> seen = SeenItems("sqlite:///users.db", capacity=1_000, error_rate=0.01)
    >>> seen.add("ann", ["news-1", "news-2"])
    2
    >>> seen.unseen("ann", ["news-2", "news-3"])
    ['news-3']

    An item is a string, an integer or UTF-8 bytes; the integer 1 and the string "1" are the same item. A user's id is
    a string or an integer, and becomes the id of a document. In Elasticsearch only the object ``seen`` of that document
    is touched. No acknowledged add is lost, under any number of writers.

    :param store: as for :class:`Documents`; the index of an address is that of the users, ``es-simhash-users`` if it
        names none. Give none that documents are ingested into: an ingest replaces whole documents.
    :param capacity: items that a user's filter is first made for; it grows beyond, at the same error rate.
    :param error_rate: the share of unseen items that may be taken for seen.
    :param generations: how many filters are kept for a user; with more than one, old items can be let go by ``rotate``.
    :param period: seconds after which an add begins a new generation by itself; 0 for only when ``rotate`` is called.
        The four are kept in the store; what is left out is as the store has it.
    :raises InputError: if the address or a number can't be used. Nothing is sent before the first request.
    """

    def __init__(
        self,
        store: str | Elasticsearch | Store | None = None,
        *,
        index: str | None = None,
        capacity: int | None = None,
        error_rate: float | None = None,
        generations: int | None = None,
        period: int | None = None,
        **client_options: Any,
    ) -> None:
        self._wanted = _config(capacity, error_rate, generations, period)
        self._store = open_store(store, index, default_index=USERS_INDEX, **client_options)
        self._config: SeenConfig | None = None

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    def setup(self) -> str:
        """Make what is missing: the index or the file, or the field in an index that exists. Idempotent.

        :returns: ``created``, ``added`` or ``unchanged``.
        :raises FilterMismatch: if it was set up with another configuration.
        """
        return self._run(flows.set_up(self._wanted, self.name))

    def add(self, user: str | int, items: Iterable[Item]) -> int:
        """Add items to what a user has seen; what is stored already is not written again.

        :returns: how many of them were not seen before.
        :raises ConflictError: if other writers were faster until the deadline: nothing was stored then.
        :raises InputError: for an item of another type; nothing was stored then.
        """
        return _only(self.add_many({user: items}))

    def add_many(self, items: ByUser, *, deadline: float = flows.DEADLINE) -> Report:
        """:meth:`add` for many users, by one read and one write for some hundred of them.

        :param deadline: seconds until which conflicts are tried again.
        :returns: ``results``, a count for each user whose items are stored; ``failed``, the error for each other.
        """
        return self._run(flows.add(self._ready(), _plain(items), _now(), deadline))

    def unseen(self, user: str | int, items: Iterable[Item]) -> list[Item]:
        """The items that a user has certainly not seen, in their order: what to call with a page of candidates."""
        return self.unseen_many({user: items})[user_id(user)]

    def unseen_many(self, items: ByUser) -> dict[str, list[Item]]:
        """:meth:`unseen` for many users, by one read."""
        return self._run(flows.unseen(self._ready(), _plain(items)))

    def might_have_seen(self, user: str | int, items: Iterable[Item]) -> list[bool]:
        """For each item whether the user might have seen it; False is certain."""
        return self._run(flows.might_have_seen(self._ready(), _plain({user: items})))[user_id(user)]

    def unseen_page(
        self,
        user: str | int,
        fetch: Callable[[int, int], Sequence[H]],
        size: int,
        *,
        item: Callable[[H], Item] = _itself,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[H]:
        """Return a page of hits that a user has not seen, from a source of hits.

        It fetches more hits than the page needs, and repeats this until the page is full, the source is exhausted, or
        ``rounds`` requests were made.

        :param fetch: called with an offset and a size, it returns the hits from this offset on: as many as the size, or
            fewer at the end of the source.
        :param size: hits of a full page.
        :param item: returns the item of a hit, such as ``lambda hit: hit["_id"]``.
        :param offset: where to start in the source; the page says where the next page starts.
        :param rounds: how many times ``fetch`` is called at most.
        :raises InputError: if ``size``, ``offset`` or ``rounds`` is out of range.
        """
        config, name = self._ready(), user_id(user)
        unseen = UnseenPage[H](size, offset, rounds)
        while (request := unseen.next_request()) is not None:
            hits = fetch(*request)
            seen = self._run(flows.might_have_seen(config, {name: [item(hit) for hit in hits]}))
            unseen.add(hits, seen[name])
        return unseen.page()

    def forget(self, user: str | int, items: Iterable[Item]) -> int:
        """Take items for not seen, until they are added again.

        They go on an exact list beside the filter, of a thousand at most, since a bit can't be cleared for one item.

        :returns: how many of them might have been seen.
        :raises InputError: if the list is full.
        """
        return _only(self.forget_many({user: items}))

    def forget_many(self, items: ByUser) -> Report:
        """:meth:`forget` for many users."""
        return self._run(flows.forget(self._ready(), _plain(items)))

    def rotate(self, users: Iterable[str | int] | None = None, *, before: int | None = None) -> Report:
        """Begin a generation for these users, or for all; what is in the oldest of a full set is forgotten.

        With n generations an item is remembered for at least n-1 rotations after it was last added.

        :param before: only for users whose newest generation was begun before this time, in seconds since 1970, so that
            an interrupted call can be repeated; by default now.
        :returns: ``results``, 1 for each user who had seen anything; ``failed``, the error for each other.
        """
        some = None if users is None else _users(users)
        return self._run(flows.rotate(self._ready(), some, _now(), before))

    def rebuild_many(self, items: ByUser) -> Report:
        """:meth:`add_many` to fresh filters: what these users had seen before is dropped, forgotten items too."""
        return self._run(flows.add(self._ready(), _plain(items), _now(), afresh=True))

    def stats(self, user: str | int) -> Stats:
        """Figures of a user's filters; for one that isn't there ``exists`` is False."""
        return self._run(flows.stats(self._ready(), user_id(user)))

    def clear(self, user: str | int) -> None:
        """Forget everything that a user has seen."""
        _only(self._run(flows.clear(self._ready(), [user_id(user)])))

    def remove(self, user: str | int) -> bool:
        """Take the seen items out of a user's document, and remove the document if it holds nothing else.

        :returns: whether there were any.
        """
        self._ready()
        return bool(self._run(flows.remove([user_id(user)])))

    def close(self) -> None:
        """Close the file, or the client if it is not yours."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(self, flow: Generator[Any, Any, T]) -> T:
        return run(flow, self._store.perform)

    def _ready(self) -> SeenConfig:
        if self._config is None:
            self._config = self._run(flows.check(self._wanted, self.name, set_up_if_missing=self._store.embedded))
        return self._config


class AsyncSeenItems:
    """:class:`SeenItems` for async programs: the same methods, awaited."""

    def __init__(
        self,
        store: str | AsyncElasticsearch | AsyncStore | None = None,
        *,
        index: str | None = None,
        capacity: int | None = None,
        error_rate: float | None = None,
        generations: int | None = None,
        period: int | None = None,
        **client_options: Any,
    ) -> None:
        self._wanted = _config(capacity, error_rate, generations, period)
        self._store = open_async_store(store, index, default_index=USERS_INDEX, **client_options)
        self._config: SeenConfig | None = None

    @property
    def name(self) -> str:
        """The store's address, without secrets."""
        return self._store.name

    async def setup(self) -> str:
        """:meth:`SeenItems.setup`."""
        return await self._run(flows.set_up(self._wanted, self.name))

    async def add(self, user: str | int, items: Iterable[Item]) -> int:
        """:meth:`SeenItems.add`."""
        return _only(await self.add_many({user: items}))

    async def add_many(self, items: ByUser, *, deadline: float = flows.DEADLINE) -> Report:
        """:meth:`SeenItems.add_many`."""
        return await self._run(flows.add(await self._ready(), _plain(items), _now(), deadline))

    async def unseen(self, user: str | int, items: Iterable[Item]) -> list[Item]:
        """:meth:`SeenItems.unseen`."""
        return (await self.unseen_many({user: items}))[user_id(user)]

    async def unseen_many(self, items: ByUser) -> dict[str, list[Item]]:
        """:meth:`SeenItems.unseen_many`."""
        return await self._run(flows.unseen(await self._ready(), _plain(items)))

    async def might_have_seen(self, user: str | int, items: Iterable[Item]) -> list[bool]:
        """:meth:`SeenItems.might_have_seen`."""
        return (await self._run(flows.might_have_seen(await self._ready(), _plain({user: items}))))[user_id(user)]

    async def unseen_page(
        self,
        user: str | int,
        fetch: Callable[[int, int], Awaitable[Sequence[H]]],
        size: int,
        *,
        item: Callable[[H], Item] = _itself,
        offset: int = 0,
        rounds: int = ROUNDS,
    ) -> Page[H]:
        """:meth:`SeenItems.unseen_page`; ``fetch`` is awaited."""
        config, name = await self._ready(), user_id(user)
        unseen = UnseenPage[H](size, offset, rounds)
        while (request := unseen.next_request()) is not None:
            hits = await fetch(*request)
            seen = await self._run(flows.might_have_seen(config, {name: [item(hit) for hit in hits]}))
            unseen.add(hits, seen[name])
        return unseen.page()

    async def forget(self, user: str | int, items: Iterable[Item]) -> int:
        """:meth:`SeenItems.forget`."""
        return _only(await self.forget_many({user: items}))

    async def forget_many(self, items: ByUser) -> Report:
        """:meth:`SeenItems.forget_many`."""
        return await self._run(flows.forget(await self._ready(), _plain(items)))

    async def rotate(self, users: Iterable[str | int] | None = None, *, before: int | None = None) -> Report:
        """:meth:`SeenItems.rotate`."""
        some = None if users is None else _users(users)
        return await self._run(flows.rotate(await self._ready(), some, _now(), before))

    async def rebuild_many(self, items: ByUser) -> Report:
        """:meth:`SeenItems.rebuild_many`."""
        return await self._run(flows.add(await self._ready(), _plain(items), _now(), afresh=True))

    async def stats(self, user: str | int) -> Stats:
        """:meth:`SeenItems.stats`."""
        return await self._run(flows.stats(await self._ready(), user_id(user)))

    async def clear(self, user: str | int) -> None:
        """:meth:`SeenItems.clear`."""
        _only(await self._run(flows.clear(await self._ready(), [user_id(user)])))

    async def remove(self, user: str | int) -> bool:
        """:meth:`SeenItems.remove`."""
        await self._ready()
        return bool(await self._run(flows.remove([user_id(user)])))

    async def close(self) -> None:
        """:meth:`SeenItems.close`."""
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _run(self, flow: Generator[Any, Any, T]) -> T:
        return await arun(flow, self._store.perform)

    async def _ready(self) -> SeenConfig:
        if self._config is None:
            self._config = await self._run(flows.check(self._wanted, self.name, set_up_if_missing=self._store.embedded))
        return self._config


def _config(
    capacity: int | None, error_rate: float | None, generations: int | None, period: int | None
) -> Mapping[str, Any]:
    """The numbers that are given; None leaves one out.

    :raises InputError: for one out of range.
    """
    given = {"capacity": capacity, "error_rate": error_rate, "generations": generations, "period": period}
    chosen = {name: value for name, value in given.items() if value is not None}
    config = SeenConfig(**chosen)  # type: ignore[arg-type]
    return {name: getattr(config, name) for name in chosen}


def _plain(items: Mapping[Any, Iterable[Item]]) -> dict[str, list[Item]]:
    """User ids as strings, items as lists; what 1 and "1" have seen is put together."""
    plain: defaultdict[str, list[Item]] = defaultdict(list)
    for user, theirs in items.items():
        if isinstance(theirs, str | bytes) or not isinstance(theirs, Iterable):
            raise InputError(f"the items of user {user!r} are one {type(theirs).__name__}: put it in a list")
        plain[user_id(user)].extend(theirs)
    return dict(plain)


def _users(users: Iterable[str | int]) -> list[str]:
    if isinstance(users, str):
        raise InputError(f"the users are one string, {users!r}: put it in a list")
    return list(map(user_id, users))


def _only(report: Report) -> int:
    """The result of a change of one user, or its error."""
    for error in report.failed.values():
        raise error
    return next(iter(report.results.values()))


def _now() -> int:
    return int(time.time())
