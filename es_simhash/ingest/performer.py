"""Perform flows on a store from plain sync code, some of them in a thread."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from es_simhash.drive import run, with_retries
from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from es_simhash.contract import Flow, Store
    from es_simhash.drive import Patience
    from es_simhash.ingest.batches import Source
    from es_simhash.lines import Line

T = TypeVar("T")


def is_interrupted(error: BaseException | None) -> bool:
    """Return whether an error came while the program was stopped by Ctrl-C or another signal."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


class Performer:
    """Performs flows on a store, and retries requests that fail for a passing reason.

    An async program has a subclass of its own, whose store is asked by the event loop.

    :param patience: for how long. It is that of the client.
    """

    def __init__(self, store: Store, patience: Patience) -> None:
        self.store = store
        self.patience = patience
        self._closed = threading.Event()
        self._thread: ThreadPoolExecutor | None = None

    def perform(self, flow: Flow[T]) -> T:
        """Perform a flow to its end, and return its result."""
        return run(with_retries(flow, self.patience, self._closed.is_set), self.store.perform, self._closed.wait)

    def start(self, flow: Flow[T], *, overlap: bool) -> Callable[[], T]:
        """Start to perform a flow, and return a function that waits for its result.

        :param overlap: perform it in a thread; else it is performed at once.
        """
        if overlap:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "es-simhash-look-up")
            return self._thread.submit(self.perform, flow).result
        future: Future[T] = Future()
        try:
            future.set_result(self.perform(flow))
        except SimhashError as error:
            future.set_exception(error)
        return future.result

    def take(self, source: Source, count: int | None = None) -> list[Line]:
        """Return the next lines of a source; an empty list at its end.

        :param count: at most so many lines, if it is less than a batch.
        """
        return source.take(count)

    def close(self) -> None:
        """Stop retrying, and wait for the thread."""
        self._closed.set()  # first: the thread may be waiting to retry a request
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
