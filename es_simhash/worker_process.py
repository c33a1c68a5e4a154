"""A process that reads batches of lines, and the program that it runs.

The process is started as a program of its own. A process of :mod:`multiprocessing` would run the caller's main module
again: a script without ``if __name__ == "__main__"`` would do everything once more in each process.

Parent and process exchange pickled values through pipes. Before each value stands its length.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from typing import Any, BinaryIO

_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from es_simhash.worker_process import _serve; _serve()"
_LENGTH = struct.Struct("<Q")
_UNREAD = b""
"""The answer for a batch that the process could not read. The parent reads it itself."""

NOT_PICKLED = (pickle.PicklingError, TypeError, AttributeError, RecursionError)
"""What pickle raises for a value that cannot be sent to another process."""


class WorkerDied(Exception):
    """The process ended before it answered, or cannot start."""

    def __init__(self, how: str = "died (killed, or out of memory)") -> None:
        super().__init__(how)


class WorkerProcess:
    """A process that answers one batch at a time. It ends with its parent, and signals do not end it.

    Start it from a thread in which :func:`block_signals` was called.

    :param reader: the pickled BatchReader.
    :raises WorkerDied: if the system cannot start it.
    """

    def __init__(self, reader: bytes) -> None:
        command = [os.fsdecode(get_executable()), "-c", _PROGRAM, *map(str, sys.path)]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:  # for example, a container has as many processes as it may have
            raise WorkerDied(f"cannot start ({error})") from error
        self._reader: bytes | None = reader

    def read_all(self, lines: bytes) -> Any:
        """Return what the reader makes of pickled lines; None if the process cannot read them.

        :raises WorkerDied: if the process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if self._reader is not None:
                _send(self._process.stdin, self._reader)
                self._reader = None
            _send(self._process.stdin, lines)
            answer = _receive(self._process.stdout)
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed
            raise WorkerDied from error
        if answer is None:
            raise WorkerDied
        return None if answer == _UNREAD else pickle.loads(answer)

    def kill(self) -> None:
        """End the process at once. A batch that it reads is lost."""
        self._process.kill()

    def close(self) -> None:
        """Wait for the end of the process, and close its pipes. Kill it first."""
        with suppress(OSError), self._process:
            pass


def block_signals() -> None:
    """Block Ctrl-C and SIGTERM in this thread, and in the processes that it starts.

    Ctrl-C goes to all processes of a terminal. The main process decides when to stop.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})


def _send(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> bytes | None:
    """Return the next value; None at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    data: bytes = stream.read(length)
    return data if len(data) == length else None


# --- in the process ------------------------------------------------------------------------------------------------


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a module prints must not get between the answers
    received: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive_all, args=(received,), daemon=True).start()
    reader = pickle.loads(received.get())
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # the objects of a batch have no circles
    while True:
        lines = received.get()
        try:
            answer = pickle.dumps(reader.read_all(pickle.loads(lines)))
        except Exception:
            answer = _UNREAD  # the parent meets the same error, and raises it
        try:
            _send(answers, answer)
        except OSError:
            os._exit(1)  # the parent has ended; so nothing is said


def _receive_all(received: SimpleQueue[bytes]) -> None:
    """Receive from the parent. At the end of the stream the parent has ended, so this process ends too."""
    while (data := _receive(sys.stdin.buffer)) is not None:
        received.put(data)
    os._exit(1)
