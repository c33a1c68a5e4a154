"""What the commands print: lines, JSON lines, names of files, a progress bar.

Ids, texts and the reasons of a server may hold control characters, which a terminal obeys. So everything that a command
prints goes through :func:`echo` or :func:`print_json`, which escape them.
"""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from es_simhash.errors import count_of as count_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# Control characters (C0, DEL, C1), line and paragraph separators, and the characters that change the direction of the
# text around them (Unicode, UAX #9; "Trojan Source", CVE-2021-42574).
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return a text for one line of a terminal: control characters are escaped, such as ``\\x1b`` or ``\\u202e``."""
    return _CONTROLS.sub(_escaped, text)


def _escaped(control: re.Match[str]) -> str:
    code = ord(control[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def echo(text: str, *, err: bool = False) -> None:
    """Print one line. Control characters are escaped.

    :param err: print on standard error.
    """
    click.echo(printable(text), err=err)


def print_json(value: Any) -> None:
    """Print one line of JSON on standard output, always in UTF-8. Control characters have their JSON escapes."""
    line = json.dumps(value, ensure_ascii=False)  # it escapes C0; the others occur in strings only
    click.echo(_CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", line).encode())


def not_compared(pairs: int) -> str:
    """Return the line about pairs of documents that a grouping left out."""
    verb = "was" if pairs == 1 else "were"
    return f"about {count_of(pairs, 'pair')} {verb} not compared: very many documents share keys or are near"


def decimals(similarity: float) -> str:
    """Return a similarity with three decimals, rounded down: only 1 is printed as ``1.000``.

    >>> decimals(0.96385), decimals(0.9999), decimals(0.29)
    ('0.963', '0.999', '0.290')
    """
    return f"{int(1000 * similarity + 1e-6) / 1000:.3f}"


def nearness(similarity: float | None, distance: int | None) -> str:
    """Return how near two documents are: the similarity where texts decide, else the distance in bits."""
    if similarity is not None:
        return f", similarity {decimals(similarity)}"
    return "" if distance is None else f", {count_of(distance, 'bit')}"


def display(path: str) -> str:
    """Return the name of a file for messages: ``stdin`` for ``-``."""
    return "stdin" if path == "-" else click.format_filename(path)


def progress_bar(
    items: Iterable[Any] | None = None, *, total: int | None = None, unit: str = " documents", quiet: bool = False
) -> tqdm[Any]:
    """Return a progress bar on standard error. It shows nothing if that is no terminal.

    :param items: iterate over the bar, and it counts them. Without items, its ``update`` moves it.
    :param total: in units; None if it is not known.
    :param quiet: show nothing.
    """
    hidden = True if quiet else None  # None asks whether it is a terminal
    return tqdm(items, total=total, unit=unit, unit_scale=True, leave=False, disable=hidden)


# --- log lines ---------------------------------------------------------------------------------------------


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def show_log_lines() -> None:
    """Escape control characters in the warnings that Python prints on standard error.

    Warnings of iterators that a program leaves are for programs: a command that stops says why itself.
    """
    logging.getLogger("es_simhash.iterators").disabled = True
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_LineFormatter())


def show_details() -> None:
    """Also print what the library and the clients of the servers log for information."""
    handler = logging.StreamHandler()
    handler.setFormatter(_LineFormatter())
    for name in ("es_simhash", "elastic_transport.transport", "opensearch"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        logger.propagate = False
