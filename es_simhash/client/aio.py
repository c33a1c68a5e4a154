"""AsyncDocuments and AsyncSeenItems: the sync classes, run in a pool of threads, for programs with an event loop.

A method is awaited. A thread runs the sync method, with the context variables of the caller. If the awaiting task is
cancelled, it ends at once, and the thread sends no further request. A write whose request is under way may still be
done.

A call whose turn comes only after a half of its deadline is refused: under overload, the calls that are begun can be
answered. So a call ends within one and a half of its deadline.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from es_simhash.client.documents import Documents
from es_simhash.client.page import DEPTH, Filling
from es_simhash.client.seen import SeenItems
from es_simhash.errors import StoreUnavailable, whole_number
from es_simhash.retries import DEADLINE, Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from typing_extensions import Self

    from es_simhash.bloom import Item
    from es_simhash.client.page import Page
    from es_simhash.store.address import Address

P = ParamSpec("P")
T = TypeVar("T")
Client = TypeVar("Client", Documents, SeenItems)

THREADS = 32
"""Calls of one object that run at the same time, if the caller does not say."""


class _InThreads(Generic[Client]):
    """Runs the methods of a sync object in threads.

    :param threads: the most calls that run at the same time. Further calls wait.
    """

    def __init__(self, client: Client, threads: int) -> None:
        threads = whole_number("threads", threads, 1, 10_000)
        self._client: Client = client
        self.name = client.name
        """The store's address, without credentials."""
        self._patience = (client.deadline or DEADLINE) / 2  # seconds for which a call may wait for a thread
        self._pool = ThreadPoolExecutor(threads, "es-simhash")

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    async def close(self) -> None:
        """Wait for the calls that run, and close the file, or the client unless it is yours."""
        await asyncio.to_thread(self._pool.shutdown)
        await asyncio.to_thread(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _run(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a method in a thread, and return its result.

        :raises StoreUnavailable: if it waited too long for a thread.
        """
        call, asked = Call(), time.monotonic()

        def begin() -> T:
            if time.monotonic() - asked > self._patience:
                raise StoreUnavailable(
                    f"too many calls of {self.name} wait: no thread began this one within {self._patience:g} s, a half "
                    "of its deadline: try again later, or use more processes"
                )
            return method(*args, **kwargs)

        try:
            return await asyncio.wrap_future(self._pool.submit(copy_context().run, call.do, begin))
        except asyncio.CancelledError:
            call.cancelled.set()
            raise


def _awaited(
    method: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[_InThreads[Client], P], Coroutine[Any, Any, T]]:
    """Return a method of a sync class, awaited: with the same parameters."""

    @wraps(method)
    async def call(self: _InThreads[Client], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(method, self._client, *args, **kwargs)

    call.__doc__ = f":meth:`es_simhash.{method.__qualname__}`."
    return call


class AsyncDocuments(_InThreads[Documents]):
    """:class:`~es_simhash.Documents` for async services: the methods that a service calls, awaited.

    The parameters and the results are those of Documents. The store has a sync client: for searches by an async client
    of your own there are :func:`es_simhash.near_query` and :func:`es_simhash.group_search`. For another
    method, such as ``ingest``, use a Documents in a thread (``asyncio.to_thread``).

    :param threads: the most calls that run at the same time. Further calls wait.
    :param options: of Documents.
    """

    def __init__(self, store: Address = None, *, threads: int = THREADS, **options: Any) -> None:
        super().__init__(Documents(store, **options), threads)
        self.store = self._client.store
        """The store itself, for what this class has no method for."""

    setup = _awaited(Documents.setup)
    info = _awaited(Documents.info)
    add = _awaited(Documents.add)
    add_many = _awaited(Documents.add_many)
    remove = _awaited(Documents.remove)
    similar = _awaited(Documents.similar)
    similar_many = _awaited(Documents.similar_many)
    similar_to = _awaited(Documents.similar_to)
    near_query = _awaited(Documents.near_query)
    msearch = _awaited(Documents.msearch)
    members = _awaited(Documents.members)
    fetch = _awaited(Documents.fetch)
    pin = _awaited(Documents.pin)
    pin_many = _awaited(Documents.pin_many)
    unpin = _awaited(Documents.unpin)


class AsyncSeenItems(_InThreads[SeenItems]):
    """:class:`~es_simhash.SeenItems` for async services: the methods that a service calls, awaited.

    The parameters and the results are those of SeenItems. For another method, such as ``rotate``, use a SeenItems in a
    thread (``asyncio.to_thread``).

    :param threads: the most calls that run at the same time. Further calls wait.
    :param options: of SeenItems.
    """

    def __init__(self, store: Address = None, *, threads: int = THREADS, **options: Any) -> None:
        super().__init__(SeenItems(store, **options), threads)

    setup = _awaited(SeenItems.setup)
    add = _awaited(SeenItems.add)
    add_many = _awaited(SeenItems.add_many)
    unseen = _awaited(SeenItems.unseen)
    unseen_many = _awaited(SeenItems.unseen_many)
    forget = _awaited(SeenItems.forget)
    to_bytes = _awaited(SeenItems.to_bytes)
    remove = _awaited(SeenItems.remove)

    async def page(
        self,
        user: str | int | None,
        fetch: Callable[[int, int], Awaitable[Any]],
        size: int,
        *,
        item: Callable[[Any], Item] | None = None,
        group: Callable[[Any], Item | None] | None = None,
        offset: int = 0,
        depth: int = DEPTH,
    ) -> Page[Any]:
        """:meth:`es_simhash.SeenItems.page`. ``fetch`` is an async function, which the event loop runs."""
        filling = Filling(self._client, user, size, item, group, offset, depth)
        page = None
        while page is None:
            page = await self._run(filling.take, await fetch(filling.offset, filling.wanted))
        return page
