"""How does a command end? Its errors are one line on standard error, and it has an exit code.

Click exits with 2 if the command line is wrong. An interruption has the code 130 or 143 (:mod:`.interrupt`).
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

import click

from es_simhash.cli.interrupt import Stopped, stop_at_signals
from es_simhash.cli.output import echo, printable, show_log_lines
from es_simhash.errors import SimhashError

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
        signal = error.__cause__ or error  # click raises Abort from KeyboardInterrupt
        done = "".join(f"; {report}" for report in signal.args if isinstance(signal, KeyboardInterrupt))
        echo(f"{name}: interrupted{done}", err=True)
        return signal.exit_code if isinstance(signal, Stopped) else INTERRUPTED
    except click.ClickException as error:
        if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # whose message is the help
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
