"""Ctrl-C and SIGTERM: the first signal ends the input of a command, the second one stops the command at once.

A command that reads documents finishes the batch that it has begun, prints the counts and exits. A command that reads
none, and one that waits for its input, stops at the first signal.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from es_simhash.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from typing_extensions import Self

    T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """Raised by a signal that stops the program, at any point of it. Its argument is what was done before.

    :param number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number
        """As in shells: 130 for Ctrl-C, 143 for SIGTERM."""


def stop(number: int, frame: FrameType | None) -> None:
    """Handle a signal: raise :class:`Stopped`."""
    raise Stopped(number)


class _EndOfInput(BaseException):
    """Raised by the first signal while the program waits for input."""


class Interruptible:
    """Context manager in which the first signal ends the iterator :meth:`until_interrupted`."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """Number of the first signal; None if there was none."""
        self._waiting = False

    def until_interrupted(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items until a signal arrives."""
        while True:
            try:
                # Set this before the check below: a signal that arrives between the two lines also ends the input.
                self._waiting = True
                if self.signal is not None:
                    return
                item = next(items, None)
            except _EndOfInput:
                return
            finally:
                self._waiting = False
            if item is None:
                return
            yield item

    def exit_if_interrupted(self) -> None:
        """Say that there was a signal, and exit with its code, if there was one."""
        if self.signal is not None:
            echo("es-simhash: interrupted", err=True)
            sys.exit(Stopped(self.signal).exit_code)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise Stopped(number)
        self.signal = number
        # os.write instead of print: the signal may interrupt a print, and a print inside a print raises.
        with suppress(OSError):  # standard error may be full or closed
            os.write(2, b"es-simhash: finishing the batch that is already read; a second signal stops at once\n")
        if self._waiting:
            raise _EndOfInput

    def __enter__(self) -> Self:
        self._former_handlers = [(number, signal.signal(number, self._handle)) for number in _SIGNALS]
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._former_handlers:
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def stop_at_signals() -> None:
    """Let SIGINT and SIGTERM raise :class:`Stopped`, from now on."""
    for number in _SIGNALS:
        signal.signal(number, stop)
