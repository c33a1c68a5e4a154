"""Fingerprint in worker processes, while this process asks the store and writes to it.

The processes are spawned, because a fork of a program with threads is not safe. They start with the second batch: a
short input is done before they would be ready.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from es_simhash.ingest.reader import Reader
    from es_simhash.lines import Line
    from es_simhash.verbs.outcome import Document, Outcome

_log = logging.getLogger("es_simhash")

_reader: Reader | None = None
"""The Reader of this worker process."""


class Workers:
    """Reads batches of lines in worker processes.

    :param count: the number of processes. With 0 this process reads each batch in :meth:`submit`.
    """

    def __init__(self, reader: Reader, count: int) -> None:
        self._reader = reader
        self._count = count
        self._submitted = 0
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, lines: Sequence[Line]) -> Callable[[], list[Document | Outcome]]:
        """Start to read a batch, and return a function that waits for the result."""
        self._submitted += 1
        if self._count == 0 or self._submitted == 1:
            done = self._reader.read_all(lines)
            return lambda: done
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._count, context, _begin, (self._reader,))
        try:
            with _no_signals():
                future = self._pool.submit(_read, lines)
        except BrokenProcessPool:
            return lambda: self._reader.read_all(lines)
        return lambda: self._result(future, lines)

    def _result(self, future: Future[list[Document | Outcome]], lines: Sequence[Line]) -> list[Document | Outcome]:
        try:
            return future.result()
        except BrokenProcessPool:
            if self._count:
                _log.warning(
                    "a worker process died (killed, or out of memory): this process now does the fingerprinting"
                )
                self._count = 0
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            pass  # a dict has a value that cannot be sent to a worker
        return self._reader.read_all(lines)

    def close(self) -> None:
        """End the processes. Batches that no process has started are not read."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def _no_signals() -> Iterator[None]:
    """Block signals while a process starts, until :func:`_begin`: Ctrl-C goes to all processes of a terminal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(reader: Reader) -> None:
    global _reader
    _reader = reader
    # The main process decides when to stop, and lets its workers finish.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with its parent. Without this, a worker would wait forever after its parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _read(lines: Sequence[Line]) -> list[Document | Outcome]:
    assert _reader is not None
    return _reader.read_all(lines)
