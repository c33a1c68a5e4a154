"""The only difference between the sync and the async classes: how flows and streams are performed.

A verb is written once, as a method that checks its arguments and returns a flow or a stream:

- A **flow** is a generator of requests with one result. A sync method performs it at once. An async method returns an
  awaitable.
- A **stream** is a function of a Performer that yields many results in batches, in plain sync code. A sync method
  returns a generator. An async method returns an async generator: a thread runs the stream, and the event loop performs
  its requests.

So both raise for invalid arguments when they are called, before anything is awaited or iterated.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import closing
from functools import wraps
from operator import length_hint
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from es_simhash.client.group_commit import AsyncGroupCommit, GroupCommit, Together
from es_simhash.contract import AtOnce
from es_simhash.drive import arun, run, with_retries
from es_simhash.ingest.performer import Performer, is_interrupted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine
    from typing import TypeAlias

    from typing_extensions import Self

    from es_simhash.contract import AsyncStore, Flow, Request, Store
    from es_simhash.drive import Patience
    from es_simhash.ingest.batches import Source
    from es_simhash.lines import Line

P = ParamSpec("P")
Watched = TypeVar("Watched")
R = TypeVar("R")
T = TypeVar("T")

_log = logging.getLogger("es_simhash.iterators")

Stream: TypeAlias = "Callable[[Performer], Iterator[Sequence[T]]]"
"""A verb with many results: given a Performer it yields them in batches."""


class SyncClient:
    """A class whose verbs are called.

    :param verbs: the verbs, as flows and streams.
    :param patience: for how long a request is retried while the store is busy or away.
    """

    def __init__(self, store: Store, verbs: Any, patience: Patience) -> None:
        self._store = store
        self._verbs = verbs
        self._patience = patience
        self._group_commit = GroupCommit(self._run)
        self._threads: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        """The store's address, without credentials."""
        return self._store.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}{self._verbs.described})"

    def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        return run(with_retries(flow, self._patience), self._answer)

    def _answer(self, request: Request[R]) -> R:
        if isinstance(request, Together):
            return cast("R", self._group_commit.answer(request))
        if isinstance(request, AtOnce):
            return cast("R", self._perform_at_once(*request.requests))
        return self._store.perform(request)

    def _perform_at_once(self, first: Request[Any], *others: Request[Any]) -> tuple[Any, ...]:
        if self._store.embedded or not others:
            return tuple(map(self._store.perform, (first, *others)))
        if self._threads is None:
            self._threads = ThreadPoolExecutor(len(others), "es-simhash-at-once")
        started = [self._threads.submit(self._store.perform, request) for request in others]
        reply = self._store.perform(first)
        return reply, *(each.result() for each in started)

    def _iterate(self, stream: Stream[T], watch: Watch) -> Generator[T, None, None]:
        watch.begun = True
        with (
            Performer(self._store, self._patience) as performer,
            closing(cast("Generator[Sequence[T]]", stream(performer))) as batches,
        ):
            for batch in batches:
                results = iter(batch)
                try:
                    yield from results
                except GeneratorExit as left:
                    watch.left(length_hint(results), left)
                    raise


class AsyncClient:
    """A class whose verbs are awaited; see :class:`SyncClient`."""

    _compute_in_thread = True
    """Between requests a flow may compute for long. A thread does that, so other tasks go on."""

    def __init__(self, store: AsyncStore, verbs: Any, patience: Patience) -> None:
        self._store = store
        self._verbs = verbs
        self._patience = patience
        self._group_commit = AsyncGroupCommit(self._run)

    @property
    def name(self) -> str:
        """The store's address, without credentials."""
        return self._store.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}{self._verbs.described})"

    async def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        await self._group_commit.finish()
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        return await arun(with_retries(flow, self._patience), self._answer, aside=self._compute_in_thread)

    async def _answer(self, request: Request[R]) -> R:
        if isinstance(request, Together):
            return cast("R", await self._group_commit.answer(request))
        if isinstance(request, AtOnce):
            replies = await asyncio.gather(*map(self._store.perform, request.requests))
            return cast("R", tuple(replies))
        return await self._store.perform(request)

    async def _iterate(self, stream: Stream[T], watch: Watch) -> AsyncGenerator[T, None]:
        watch.begun = True
        loop = asyncio.get_running_loop()
        performer = LoopPerformer(self._store, self._patience, loop)
        batches = cast("Generator[Sequence[T]]", stream(performer))
        thread = ThreadPoolExecutor(1, "es-simhash-stream")
        try:
            while (batch := await loop.run_in_executor(thread, next, batches, None)) is not None:
                results = iter(batch)
                try:
                    for item in results:
                        yield item
                except GeneratorExit as left:
                    watch.left(length_hint(results), left)
                    raise
        finally:
            performer.cancel()
            await asyncio.shield(loop.run_in_executor(thread, _finish, batches, performer))
            thread.shutdown()


def _finish(batches: Generator[Any], performer: Performer) -> None:
    with performer:
        batches.close()


class Watch:
    """Warns if the iterator of a verb that writes is never iterated, or left before its end.

    :param verb: its name; None for a verb that only reads.
    """

    def __init__(self, verb: str | None) -> None:
        self._verb = verb
        self.begun = False

    def of(self, iterator: Watched) -> Watched:
        """Return the iterator. It is watched from now on."""
        if self._verb is not None:
            weakref.finalize(iterator, self._gone).atexit = False
        return iterator

    def left(self, results: int, error: GeneratorExit) -> None:
        """Warn that the iterator is left, and results of its last batch were not taken. A signal needs no warning."""
        if self._verb is not None and results and not is_interrupted(error):
            _log.warning(
                "%s() was stopped early: %d outcomes were not reported, and documents that were not read are not "
                "stored: iterate to the end, or use add_many()",
                self._verb,
                results,
            )

    def _gone(self) -> None:
        if not self.begun:
            _log.warning(
                "%s() was called, but never iterated: nothing is stored; iterate to the end, or use add_many()",
                self._verb,
            )


class LoopPerformer(Performer):
    """A Performer for a thread of an async program: the event loop performs the requests."""

    def __init__(self, store: AsyncStore, patience: Patience, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(_LoopStore(store, self), patience)
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Let the event loop run a coroutine, and return its result.

        :raises CancelledError: if the async generator is closed in the meantime.
        """
        with self._lock:
            if self._closed.is_set():
                coroutine.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._waiting.add(future)
        try:
            return future.result()
        finally:
            with self._lock:
                self._waiting.discard(future)

    def take(self, source: Source, count: int | None = None) -> list[Line]:
        """:meth:`Performer.take`. The caller's iterator runs in the event loop."""
        if source.from_caller:
            return self.call(source.atake(count))
        # This iterator performs requests itself: in the event loop it would wait for the event loop.
        return super().take(source, count)

    def cancel(self) -> None:
        """Cancel the requests that the loop performs, so that the thread ends soon."""
        with self._lock:
            self._closed.set()
            for future in self._waiting:
                future.cancel()


class _LoopStore:
    """An AsyncStore as the Store of a thread."""

    def __init__(self, store: AsyncStore, performer: LoopPerformer) -> None:
        self.name = store.name
        self.embedded = store.embedded
        self._store = store
        self._performer = performer

    def perform(self, request: Request[R]) -> R:
        return self._performer.call(self._store.perform(request))

    def close(self) -> None:
        """Do nothing: the client closes its store."""


# --- from a verb to a method -----------------------------------------------------------------------------------


def sync_method(verb: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the sync method of a verb that returns a flow."""

    @wraps(verb)
    def method(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(verb(self._verbs, *args, **kwargs))

    return _documented(method, verb, "{}")


def async_method(verb: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Return the async method of a verb that returns a flow."""

    @wraps(verb)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self._run(verb(self._verbs, *args, **kwargs))

    return _documented(method, verb, "Awaitable[{}]")


def sync_iterator(
    verb: Callable[Concatenate[Any, P], Stream[T]], *, writes: bool = False
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """Return the sync method of a verb that returns a stream.

    :param writes: the verb writes to the store, so the caller is warned who does not iterate to the end.
    """

    @wraps(verb)
    def method(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        watch = Watch(verb.__name__ if writes else None)
        return watch.of(self._iterate(verb(self._verbs, *args, **kwargs), watch))

    return _documented(method, verb, "Generator[{}, None, None]")


def async_iterator(
    verb: Callable[Concatenate[Any, P], Stream[T]], *, writes: bool = False
) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]:
    """Return the async method of a verb that returns a stream.

    :param writes: the verb writes to the store, so the caller is warned who does not iterate to the end.
    """

    @wraps(verb)
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        watch = Watch(verb.__name__ if writes else None)
        return watch.of(self._iterate(verb(self._verbs, *args, **kwargs), watch))

    return _documented(method, verb, "AsyncGenerator[{}, None]")


F = TypeVar("F", bound=Callable[..., Any])


def _documented(method: F, verb: Callable[..., Any], returned: str) -> F:
    """Give a method the signature that it has for its caller."""
    signature = inspect.signature(verb)
    inner = re.sub(r"^(?:Flow|Stream)\[(.*)\]$", r"\1", str(signature.return_annotation))
    method.__signature__ = signature.replace(return_annotation=returned.format(inner))  # type: ignore[attr-defined]
    return method
