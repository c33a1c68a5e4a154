"""Ctrl-C and SIGTERM end every command, and it says what it has done.

A command that reads input ends the input, and finishes what it has read (:class:`Interruptible`); a second signal stops
it at once. Every other command stops at once (:func:`stopped_by_sigterm`).

Who sends SIGTERM kills the program some 10 s later. So after SIGTERM the program stops by itself before that: first it
ends the run and prints the counts. Then it ends, even if a request of another thread has no answer yet.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from es_simhash.console.output import echo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import TypeVar

    from typing_extensions import Self

    T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
FINISH = 7.0
"""Seconds after SIGTERM in which what was read is finished."""
CLOSE = 2.0
"""Seconds after that in which the counts are printed and the store is closed."""
_HAS_TIMER = hasattr(signal, "setitimer")  # not on Windows


class _EndOfInput(BaseException):
    """Raised by the first signal while the program waits for input."""


class Stopped(KeyboardInterrupt):
    """Raised by a signal that stops the program at once, at any point of it. Its argument is what was done before.

    :param number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = _exit_code(number)


class Interruptible:
    """Context manager in which Ctrl-C and SIGTERM end the iterator :meth:`until_interrupted`."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """Number of the first signal; None if there was none."""
        self._waiting = False
        self._stopped = False
        self._former_handlers: dict[int, Any] = {}

    def exit_if_interrupted(self, then: str = "") -> None:
        """Say that there was a signal, and exit with its code, if there was one.

        :param then: what follows from it.
        """
        if self.signal is not None:
            echo(f"es-simhash: interrupted{then}", err=True)
            sys.exit(_exit_code(self.signal))

    def until_interrupted(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items until a signal arrives."""
        while True:
            try:
                try:
                    # Set this before the check below: a signal that arrives between the two lines also ends the input.
                    self._waiting = True
                    if self.signal is not None:
                        return
                    item = next(items, None)
                finally:
                    self._waiting = False
            except _EndOfInput:
                return
            if item is None:
                return
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            self._stopped = True
            raise Stopped(number)
        self.signal = number
        if number == signal.SIGTERM and _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, FINISH, CLOSE)
        # os.write instead of print: the signal may interrupt a print, and a print inside a print raises.
        with suppress(OSError):  # standard error may be full or closed
            os.write(2, b"es-simhash: finishing the documents that are already read; a second signal stops at once\n")
        if self._waiting:
            raise _EndOfInput

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Stop the run, the first time; and the second time the process."""
        assert self.signal is not None
        if self._stopped:
            os._exit(_exit_code(self.signal))
        self._stopped = True
        with suppress(OSError):
            os.write(2, f"es-simhash: not all that was read is finished after {FINISH:g} s\n".encode())
        raise Stopped(self.signal)

    def __enter__(self) -> Self:
        self._former_handlers = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        if _HAS_TIMER:
            self._former_handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._end)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.signal == signal.SIGTERM and _HAS_TIMER:
            if self._stopped:
                return  # the program ends now, and that takes no longer, either
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._former_handlers.items():
            signal.signal(number, handler)


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM raise :class:`Stopped`, as Ctrl-C raises KeyboardInterrupt. Some seconds later the process ends."""
    former = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _stop(number: int, frame: FrameType | None) -> None:
    if _HAS_TIMER:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(_exit_code(number)))
        signal.setitimer(signal.ITIMER_REAL, FINISH + CLOSE)
    raise Stopped(number)


def _exit_code(number: int) -> int:
    """Return 128 plus the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + number
