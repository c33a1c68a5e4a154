"""The errors that this library raises.

All errors have one base class, ``SimhashError``, so a caller can catch all of them. The class of an error tells *what*
is wrong; its attribute ``retryable`` tells whether the *same request* may work later. Each message is one line: what is
wrong, where, and what to do.
"""

from __future__ import annotations

import reprlib
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class SimhashError(Exception):
    """Base class of the errors of es_simhash."""

    retryable: bool = False
    """True if the same request may work later."""


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 document``, ``2,000 documents``.

    :param noun: in the singular; the plural is formed with an ``s``.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(value: object) -> str:
    """Return a value for a message, short; its type, if it has no form: an integer of very many digits, a deep list."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"a value of the type {type(value).__name__}"


def one_line(error: Exception) -> str:
    """Return the message of another library's error as one line. It may quote damaged bytes.

    Python's advice for an integer of some thousand digits is replaced: a user of the command cannot follow it.
    """
    own = str(error).replace("use sys.set_int_max_str_digits() to increase the limit", "write a string")
    return " ".join(own.split())


# --- errors of the caller ------------------------------------------------------------------------------------------


class InputError(SimhashError, ValueError):
    """An argument, a document or a Scheme is invalid, or the store does not support it. The message says the fix."""


def whole_number(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number as an int.

    :param value: an integer of any type, such as numpy's.
    :raises InputError: if it is no whole number from ``least`` to ``most``. The message has its name and the range.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, and is {shown(value)}")
    return int(value)


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Check that a value is one of some words.

    :raises InputError: if it is none of them, or no string. The message has its name and the words.
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {shown(value)}: use one of {', '.join(choices)}")


class SchemeMismatch(SimhashError):
    """The store has another Scheme, or another configuration of seen items, than this program."""


# --- errors of the store -------------------------------------------------------------------------------------------


class StoreError(SimhashError):
    """The store refused a request, or its reply is invalid or incomplete."""


class StoreChanged(StoreError):
    """Another index or file is at the store's address than before. Nothing goes on by itself under another set-up."""


class NotSetUp(StoreError):
    """The index, the file or the fields that the store needs do not exist: run ``init``."""


class StoreUnavailable(StoreError):
    """The server does not answer, or it is too busy. The same request may work later."""

    retryable = True


class StoreUnreachable(StoreUnavailable):
    """No host of the store answers. If none has ever answered, nothing is retried: the address may be mistyped."""


class AccessDenied(StoreError):
    """The server rejects the credentials, or they do not permit this request."""


class TooLarge(StoreError):
    """A request has more bytes than the server accepts."""


@contextmanager
def saying_what_is_done(report: Callable[[], str]) -> Iterator[None]:
    """Add a report to the error of the store by which the block ends, or to its interruption.

    :param report: returns what was done, what is left, and how to continue; empty if there is nothing to say. It is the
        argument of KeyboardInterrupt.
    """
    try:
        yield
    except StoreError as error:
        if not (text := report()):
            raise
        raise type(error)(f"{error}; {text}") from error
    except KeyboardInterrupt as interruption:
        interruption.args = tuple(filter(None, [report()]))
        raise


def set_up_by(name: str, command: str = "init") -> str:
    """Return how to set up a store, for messages.

    :param command: the command that does it.
    """
    return f"run `es-simhash {command} --store {name}`, or call setup() in code"


# --- errors of seen items --------------------------------------------------------------------------------------------


class FilterFormatError(SimhashError, ValueError):
    """The bytes of a Bloom filter are incomplete, damaged, or of a format that this library does not read."""


class ConflictError(StoreError):
    """Other writers changed the same data until the deadline. The message says what is not stored."""

    retryable = True
