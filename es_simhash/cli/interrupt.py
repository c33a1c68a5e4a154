"""Ctrl-C and SIGTERM end the input: what was read is finished and reported. A second one ends the program at once."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import TypeVar

    from typing_extensions import Self

    T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Ended(BaseException):
    """Raised where the program waits for input."""


class Stopped(KeyboardInterrupt):
    """Raised wherever the program is, by a second signal.

    :param number: of that signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = _exit_code(number)


class Interruptible:
    """Context in which these signals end :meth:`until_interrupted`."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The signal that came, if one did."""
        self._waiting = False
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """Of the signal that came."""
        return _exit_code(self.signal or 0)

    def until_interrupted(self, items: Iterator[T]) -> Iterator[T]:
        """The items, until a signal comes."""
        while True:
            try:
                # First, and then a look: a signal that comes in between ends it too.
                self._waiting = True
                if self.signal is not None:
                    return
                item = next(items, None)
                self._waiting = False
            except _Ended:
                return
            if item is None:
                return
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise Stopped(number)
        self.signal = number
        # Not by print: the program may be just about to print, and that can't be entered twice.
        os.write(2, b"es-simhash: finishing what is in flight; once more to end at once\n")
        if self._waiting:
            raise _Ended

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _exit_code(number: int) -> int:
    """128 and the number of the signal, as shells have it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + number
