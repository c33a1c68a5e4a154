"""Ctrl-C and SIGTERM end the input, and the program finishes what it has read. A second signal stops it at once."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import TypeVar

    from typing_extensions import Self

    T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _EndOfInput(BaseException):
    """Raised by the first signal while the program waits for input."""


class Stopped(KeyboardInterrupt):
    """Raised by the second signal, at any point of the program.

    :param number: number of the second signal.
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
        self._former_handlers: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """The exit code for the first signal."""
        return _exit_code(self.signal or 0)

    def until_interrupted(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items until a signal arrives."""
        while True:
            try:
                # Set this before the check below: a signal that arrives between the two lines also ends the input.
                self._waiting = True
                if self.signal is not None:
                    return
                item = next(items, None)
                self._waiting = False
            except _EndOfInput:
                return
            if item is None:
                return
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise Stopped(number)
        self.signal = number
        # os.write instead of print: the signal may interrupt a print, and a print inside a print raises.
        with suppress(OSError):  # standard error may be full or closed
            os.write(2, b"es-simhash: finishing the documents that are already read; a second signal stops at once\n")
        if self._waiting:
            raise _EndOfInput

    def __enter__(self) -> Self:
        self._former_handlers = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._former_handlers.items():
            signal.signal(number, handler)


def _exit_code(number: int) -> int:
    """Return 128 plus the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + number
