"""How does a command end? Its errors are one line on standard error, and it has an exit code.

Click exits with 2 if the command line is wrong. An interruption has the code 130 (Ctrl-C) or 143 (SIGTERM). The first
signal ends the input of a command that reads documents: it finishes the batch that it has begun, prints the counts and
exits. The second one stops it at once. Another command, and one that waits for its input, stops at the first signal.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import click

from es_simhash.cli.output import echo, printable, show_log_lines
from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from typing_extensions import Self

    T = TypeVar("T")

STOPPED_BY_ERROR = 1
"""An error stopped the command, or everything in the input was rejected or failed."""
SOME_NOT_DONE = 3
"""The command reached the end of its input, but some of the input was rejected or failed, or was not found."""
INTERRUPTED = 130


def exit_unless_all_done(not_done: int, total: int) -> None:
    """Exit if some of the input was not done: with 1 if none of it was done, with 3 otherwise.

    :param not_done: how many documents or lines were rejected or failed.
    :param total: how many documents or lines there were.
    """
    if not_done:
        sys.exit(SOME_NOT_DONE if not_done < total else STOPPED_BY_ERROR)


def run(command: click.Command, name: str) -> None:
    """Run a command line. An error of the library is one line on standard error.

    So is an error of standard output, such as a full disk. If the reader of a pipe has ended, nothing is said.

    :param name: of the command, for messages.
    """
    try:
        code = _run(command, name)
    except OSError as error:  # input files have errors of their own, so this is the output
        code = _output_error(error)
    sys.exit(code)


def _run(command: click.Command, name: str) -> int:
    """Run the command, and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the terminal may not have all characters of an id
    show_log_lines()
    stop_at_signals()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error.__cause__ or error  # click raises Abort from KeyboardInterrupt
        done = "".join(f"; {report}" for report in cause.args if isinstance(cause, KeyboardInterrupt))
        echo(f"{name}: interrupted{done}", err=True)
        return cause.exit_code if isinstance(cause, Stopped) else INTERRUPTED
    except click.ClickException as error:
        if not isinstance(error, click.exceptions.NoArgsIsHelpError):  # whose message is the help
            vars(error)["message"] = printable(error.message)  # it may quote an argument
        error.show()
        return error.exit_code
    except SimhashError as error:
        echo(f"{name}: {error}", err=True)
        return STOPPED_BY_ERROR
    return code or 0


def _output_error(error: OSError) -> int:
    if error.errno != errno.EPIPE:
        where = "the output" if error.filename is None else error.filename
        with suppress(OSError):  # standard error may be full, too
            os.write(2, f"es-simhash: cannot write {where}: {error.strerror or error}\n".encode())
    # What is still in a buffer would fail once more when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    return STOPPED_BY_ERROR


# --- Ctrl-C and SIGTERM ----------------------------------------------------------------------------------------------


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
