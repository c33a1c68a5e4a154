"""Read texts in worker processes, while this process decides, and writes what was decided.

The processes start with the second batch: a short input is done before they would be ready.
"""

from __future__ import annotations

import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from es_simhash.retries import running_call
from es_simhash.worker_process import NOT_PICKLED, WorkerDied, WorkerProcess, block_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

_log = logging.getLogger("es_simhash")

I = TypeVar("I", contravariant=True)  # noqa: E741  the input of a reader
O = TypeVar("O", covariant=True)  # noqa: E741  its output
Line = TypeVar("Line")
Item = TypeVar("Item")


class BatchReader(Protocol[I, O]):
    """What reads a batch. It can be pickled."""

    def read_all(self, lines: Sequence[I], /) -> Sequence[O]:
        """Return what becomes of each of the lines."""
        ...


class Workers(Generic[Line, Item]):
    """Reads batches of lines in worker processes.

    A thread for each process sends it a batch and waits for the answer.

    :param count: the number of processes. With 0 this process reads each batch in :meth:`submit`.
    """

    def __init__(self, reader: BatchReader[Line, Item], count: int) -> None:
        self._reader = reader
        self._count = count
        self._submitted = 0
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._processes: list[WorkerProcess] = []
        self._idle: list[WorkerProcess] = []

    def submit(self, lines: Sequence[Line]) -> Callable[[], Sequence[Item]]:
        """Start to read a batch, and return a function that waits for the result."""
        self._submitted += 1
        if self._count == 0 or self._submitted == 1:
            done = self._reader.read_all(lines)
            return lambda: done
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count, "es-simhash-worker", block_signals)
        future = self._threads.submit(self._read_in_process, lines)
        return lambda: self._result(future, lines)

    def _result(self, future: Future[Sequence[Item] | None], lines: Sequence[Line]) -> Sequence[Item]:
        call = running_call()
        try:
            with nullcontext() if call is None else call.when_cancelled(self._kill):
                items = future.result()
        except WorkerDied as died:
            if call is not None:
                call.check()
            if self._count:
                _log.warning("a worker process %s: this process now does the fingerprinting", died)
                self._count = 0
            items = None
        return self._reader.read_all(lines) if items is None else items

    def _read_in_process(self, lines: Sequence[Line]) -> Sequence[Item] | None:
        """Return what a worker process makes of the lines; None if they cannot be sent to it."""
        try:
            data = pickle.dumps(lines)
        except NOT_PICKLED:
            return None  # a dict has a value that cannot be sent
        process = self._take()
        items: Sequence[Item] | None = process.read_all(data)
        with self._lock:
            self._idle.append(process)
        return items

    def _take(self) -> WorkerProcess:
        """Return a process that has nothing to do. There are at most as many processes as threads."""
        with self._lock:
            if self._closed:
                raise WorkerDied
            if self._idle:
                return self._idle.pop()
            process = WorkerProcess(pickle.dumps(self._reader))
            self._processes.append(process)
            return process

    def close(self) -> None:
        """End the processes at once. Batches that they have not answered are not read."""
        self._kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.close()

    def _kill(self) -> None:
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()
