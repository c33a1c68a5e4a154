"""What the classes that a program uses have in common: sync classes, and async classes that run their methods.

A method is written once, in the sync class. The async class runs it, and awaits the result (:mod:`es_simhash.portal`).
A method with many results returns :class:`Results`.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, wait
from functools import partial, wraps
from inspect import signature
from operator import length_hint
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from es_simhash.errors import InputError, is_interrupted
from es_simhash.portal import MOST_AT_ONCE, AsyncCall, Portal

if TYPE_CHECKING:
    from typing_extensions import Self

    from es_simhash.contract import Store

P = ParamSpec("P")
T = TypeVar("T")
Watched = TypeVar("Watched")

_log = logging.getLogger("es_simhash.iterators")

CLOSING = 0.5
"""Seconds for which a cancelled iteration waits until its files and worker processes are closed."""


class SyncClient:
    """A class whose methods are called."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def name(self) -> str:
        """The store's address, without credentials."""
        return self._store.name

    @property
    def store(self) -> Store:
        """The store itself, for what this class has no method for."""
        return self._store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}{self._details()})"

    def _details(self) -> str:
        """Return what the repr says beside the name."""
        return ""

    def close(self) -> None:
        """Close the file, or the client unless it is yours."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncClient:
    """A class whose methods are awaited. They are the methods of an object of the sync class.

    A thread runs a call, unless the call is short. Then the event loop's own thread runs it. A call is short if

    - the store has an async client, so the call never waits for a file;
    - its method is marked as ``short``: it computes little, and waits for no other call;
    - its arguments have few characters or items, and no iterator, which might wait;
    - the method has run before: the first call may load a dictionary.

    If an awaiting task is cancelled, its call sends no further request. A write whose request is under way may still
    be done; so may an ``add`` that is written together with those of other tasks.

    :param threads: the most calls that threads run at the same time.
    """

    def __init__(self, client: SyncClient, threads: int) -> None:
        self._client: Any = client
        self._portal = Portal(threads)
        self._short: set[str] = set()
        """Names of the methods that have run before, of those whose calls may be short."""
        self._iterations: weakref.WeakSet[_Iteration[Any]] = weakref.WeakSet()

    @property
    def name(self) -> str:
        """The store's address, without credentials."""
        name: str = self._client.name
        return name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({repr(self._client).partition('(')[2]}"

    async def close(self) -> None:
        """Wait for the calls that run, and close the file, or the client unless it is yours.

        An iteration that was not taken to the end is ended.
        """
        await self._portal.finish()
        for iteration in tuple(self._iterations):
            await iteration.end()
        await self._portal.run(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


class Results(Iterator[T], Generic[T]):
    """The results of a method with many of them. The work is done while they are taken.

    :param batches: yields them in batches.
    :param verb: name of a method that writes, so the caller is warned who does not iterate to the end.
    """

    def __init__(self, batches: Generator[Sequence[T], None, None], verb: str | None = None) -> None:
        self.batches = batches
        self.verb = verb
        self._watch = _Watch(verb)
        self._items = self._watch.of(_items(batches, self._watch))

    def __iter__(self) -> Generator[T, None, None]:
        return self._items

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """End the work. What was not taken is lost."""
        self._items.close()

    def abandon(self) -> None:
        """Note that the batches are taken in another way."""
        self._watch.begun = True


def _items(batches: Generator[Sequence[T], None, None], watch: _Watch) -> Generator[T, None, None]:
    watch.begun = True
    try:
        for batch in batches:
            results = iter(batch)
            try:
                yield from results
            except GeneratorExit as left:
                watch.left(length_hint(results), left)
                raise
    finally:
        batches.close()


class _Watch:
    """Warns if the results of a method that writes are never taken, or not to the end.

    :param verb: its name; None for a method that only reads.
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


# --- from a sync method to an async one ------------------------------------------------------------------------


def async_method(
    method: Callable[Concatenate[Any, P], T], *, short: bool = False
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the async form of a method: its result is awaited.

    :param short: the event loop's own thread may run it (:class:`AsyncClient`).
    """

    @wraps(method)
    async def awaited(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = partial(method, self._client, *args, **kwargs)
        if method.__name__ in self._short and all(map(_is_small, (*args, *kwargs.values()))):
            return await self._portal.run_short(work)
        result = await self._portal.run(work)
        if short and self._client.store.is_async:
            self._short.add(method.__name__)
        return result

    _returns(awaited, f"Awaitable[{signature(method).return_annotation}]")
    return awaited


def _is_small(argument: object) -> bool:
    """Return whether an argument of a short call has few characters or items."""
    return len(argument) <= MOST_AT_ONCE if isinstance(argument, Sized) else not isinstance(argument, Iterable)


def async_iterator(
    method: Callable[Concatenate[Any, P], Results[T]],
) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]:
    """Return the async form of a method with many results: a thread gets them batch by batch."""

    @wraps(method)
    def iterated(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        call = AsyncCall(self._portal)
        results = call.do(partial(method, self._client, *args, **kwargs))
        results.abandon()
        watch = _Watch(results.verb)
        iteration = _Iteration(results.batches, call, self._portal)
        return watch.of(_async_items(iteration, watch, self._iterations))

    item = signature(method).return_annotation.removeprefix("Results[").removesuffix("]")
    _returns(iterated, f"AsyncGenerator[{item}, None]")
    return iterated


def _returns(function: Any, annotation: str) -> None:
    """Let the signature of a function say what it returns, in place of what the function that it wraps returns."""
    function.__signature__ = signature(function).replace(return_annotation=annotation)


async def _async_items(
    iteration: _Iteration[T], watch: _Watch, iterations: weakref.WeakSet[_Iteration[Any]]
) -> AsyncGenerator[T, None]:
    watch.begun = True
    iterations.add(iteration)
    try:
        while (batch := await iteration.take()) is not None:
            results = iter(batch)
            try:
                for item in results:
                    yield item
            except GeneratorExit as left:
                watch.left(length_hint(results), left)
                raise
    finally:
        iterations.discard(iteration)
        await iteration.end()


class _Iteration(Generic[T]):
    """The batches of a method with many results, which threads take.

    :param call: that the threads run.
    """

    def __init__(self, batches: Generator[Sequence[T], None, None], call: AsyncCall, portal: Portal) -> None:
        self._batches = batches
        self._call = call
        self._portal = portal
        self._taking: Future[Sequence[T] | None] | None = None

    async def take(self) -> Sequence[T] | None:
        """Return the next batch; None at the end.

        :raises InputError: if the object was closed.
        """
        if self._call.cancelled:
            raise InputError("the object was closed before the iteration ended: close it afterwards")
        self._call.use_running_loop()
        self._taking = self._portal.start(partial(next, self._batches, None), self._call)
        return await self._portal.result(self._taking, self._call)

    async def end(self) -> None:
        """End the work. If the task that took a batch was cancelled, do not wait for a store that does not answer."""
        seconds = CLOSING if self._call.cancelled else None
        self._call.cancel()
        await self._portal.run_to_end(self._close, seconds)

    def _close(self) -> None:
        if self._taking is not None and not self._taking.cancelled():
            wait([self._taking])
        self._batches.close()
