"""Columns in a terminal: how wide a text is there."""

from __future__ import annotations

import os
import sys

from wcwidth import iter_graphemes, wcswidth

from es_simhash.console.output import printable


def width_of(text: str) -> int:
    """Return how many columns a text takes, as :func:`~es_simhash.console.output.echo` prints it.

    A Han character takes two, an emoji too, a combining accent none.
    """
    text = printable(text)
    return len(text) if text.isascii() else wcswidth(text)


def padded(text: str, width: int) -> str:
    """Return the text with spaces behind it, up to a number of columns."""
    return text + " " * max(0, width - width_of(text))


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits into a number of columns."""
    if width_of(text) <= width:
        return text
    kept, used = "", 0
    for character in iter_graphemes(text):
        used += width_of(character)
        if used >= width:
            break
        kept += character
    return kept + "…"


def has_colours() -> bool:
    """Return whether colours can be shown: standard output is a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
