"""How does a command end? Its errors are one line on standard error, and it has an exit code.

Click exits with 2 if the command line is wrong. A signal, Ctrl-C or SIGTERM, stops every command at once. That is
harmless at any point, as a kill is: what was acknowledged is stored, and the same command does the rest.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from es_simhash.cli.output import echo, printable, show_log_lines
from es_simhash.errors import SimhashError

if TYPE_CHECKING:
    from types import FrameType

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
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        code = command.main(prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt) as error:
        cause = error.__cause__ or error  # click raises Abort from KeyboardInterrupt
        reports = cause.args if isinstance(cause, Stopped) else ()
        echo(f"{name}: interrupted; {''.join(reports) or 'run the same command again'}", err=True)
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


class Stopped(KeyboardInterrupt):
    """Raised by a signal, at any point of the program. Its argument is what was done before.

    :param number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number
        """As in shells: 130 for Ctrl-C, 143 for SIGTERM."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
