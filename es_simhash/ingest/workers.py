"""Read texts in worker processes, while this process decides, and writes what was decided."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from es_simhash.decide.outcome import Document, Outcome
    from es_simhash.ingest.reader import Reader
    from es_simhash.lines import Line

    Items = Sequence[Document | Outcome]

_log = logging.getLogger("es_simhash")

_NOT_PICKLED = (pickle.PicklingError, TypeError, AttributeError, RecursionError)
"""What pickle raises for a value that cannot be sent to another process."""


class Workers:
    """Reads batches of lines in worker processes. They do not run the caller's script again.

    :param count: the number of processes. With 0 this process reads each batch, when its result is asked for. So it
        does with the first one: a short input is done before the processes would be ready.
    """

    def __init__(self, reader: Reader, count: int) -> None:
        self._reader = reader
        self._count = count
        self._first = True
        self._pool: Any = None

    def submit(self, lines: Sequence[Line]) -> Callable[[], Items]:
        """Start to read a batch, and return a function that returns the result when it is there."""
        future: Future[Items] | None = None
        try:
            if self._count and not self._first:
                future = self._started().submit(_read, lines)
        except (BrokenProcessPool, OSError) as error:
            self._give_up(error)
        self._first = False

        def result() -> Items:
            try:
                if future is not None:
                    return future.result()
            except BrokenProcessPool as error:
                self._give_up(error)
            except _NOT_PICKLED:  # a dict has a value that cannot be sent
                pass
            return self._reader.read_all(lines)

        return result

    def _started(self) -> Any:
        """Return the processes."""
        if self._pool is None:
            from loky import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(self._count, initializer=_begin, initargs=(self._reader, os.getpid()))
        return self._pool

    def _give_up(self, error: Exception) -> None:
        """Let this process read all batches from now on."""
        if self._count:
            _log.warning(
                "the worker processes ended (%s): this process now does the fingerprinting", type(error).__name__
            )
            self._count = 0

    def close(self) -> None:
        """End the processes at once. Batches that they have not answered are not read."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)


_reader: Any = None
"""In a worker process: what reads its batches."""


def _begin(reader: Any, parent: int) -> None:
    global _reader
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; the parent ends them
    _reader = reader
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """End this process when its parent is gone: a parent that was killed ends nobody."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _read(lines: Any) -> Any:
    return _reader.read_all(lines)
