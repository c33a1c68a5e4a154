"""How does a command end? Its errors are one line on standard error, and it has an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

import click

from es_simhash.console.exits import INTERRUPTED, STOPPED_BY_ERROR
from es_simhash.console.interrupt import Stopped, stopped_by_sigterm
from es_simhash.console.option_names import with_options
from es_simhash.console.output import echo, printable, show_log_lines
from es_simhash.errors import SimhashError


def main(command: click.Command, name: str) -> None:
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
    try:
        with stopped_by_sigterm():
            code = command.main(prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt) as error:
        signal = error.__cause__ or error
        done = "".join(f"; {with_options(each)}" for each in signal.args if isinstance(signal, KeyboardInterrupt))
        echo(f"{name}: interrupted{done}", err=True)
        return signal.exit_code if isinstance(signal, Stopped) else INTERRUPTED
    except click.ClickException as error:
        if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # whose message is the help
            vars(error)["message"] = printable(with_options(error.message))  # it may quote an argument
        error.show()
        return error.exit_code
    except SimhashError as error:
        echo(f"{name}: {with_options(str(error))}", err=True)
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
