"""Columns in a terminal: how wide a text is there, and two texts side by side."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click
from wcwidth import iter_graphemes, wcswidth

from es_simhash.cli.output import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from es_simhash.tools.review.differences import Part

NARROWEST = 60
"""Columns of a terminal in which two texts stand side by side. In a narrower one they stand one below the other."""
_GAP = " | "
# Words of a script that is written with spaces, white space, or other characters. The selectors and joiners of emoji
# belong to any of them.
_WORD = r"!-~\u00a1-\u1fff\u200d\u20e3\ufe0e\ufe0f"
_UNITS = re.compile(rf"(?P<word>[{_WORD}]+)|(?P<space>\s+)|[^{_WORD}\s][^!-~\u00a1-\u1fff\s]*")


def width_of(text: str) -> int:
    """Return how many columns a text takes, as :func:`~es_simhash.cli.output.echo` prints it.

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


def side_by_side(parts: Sequence[Part], columns: int, colours: bool) -> Iterator[str]:
    """Yield the lines that show two texts beside each other. Words that only one of them has are marked.

    :param columns: of the terminal.
    :param colours: mark words by colour and underlining, else by square brackets.
    """
    sides = [
        [(part.a if side == 0 else part.b, not part.same) for part in parts if (part.a if side == 0 else part.b)]
        for side in (0, 1)
    ]
    if columns < NARROWEST:
        for name, colour, side in (("A", "red", sides[0]), ("B", "green", sides[1])):
            yield f"{name}:"
            yield from (line for line, _ in _wrapped(side, columns, colour if colours else None))
        return
    width = (columns - len(_GAP)) // 2
    left = list(_wrapped(sides[0], width, "red" if colours else None))
    right = list(_wrapped(sides[1], width, "green" if colours else None))
    for index in range(max(len(left), len(right))):
        line, used = left[index] if index < len(left) else ("", 0)
        other = right[index][0] if index < len(right) else ""
        yield f"{line}{' ' * (width - used)}{_GAP}{other}".rstrip()


def _wrapped(texts: Iterable[tuple[str, bool]], width: int, colour: str | None) -> Iterator[tuple[str, int]]:
    """Yield lines of at most ``width`` columns, each with its width. White space is one space.

    :param texts: pairs (text, it is marked).
    :param colour: of marked texts; None for square brackets.
    """
    line, used = "", 0
    for text, marked in texts:
        if marked and colour is None:
            text = f"[{text}]"
        for unit in _units(text, width):
            size = width_of(unit)
            if used + size > width:
                yield line, used
                line, used = "", 0
            if unit == " " and not used:
                continue
            line += click.style(unit, fg=colour, bold=True, underline=True) if marked and colour else unit
            used += size
    if used:
        yield line, used


def _units(text: str, width: int) -> Iterator[str]:
    """Yield what is not broken at the end of a line: words, and single characters of other scripts."""
    for found in _UNITS.finditer(text):
        if found["space"]:
            yield " "
        elif found["word"]:
            unit = printable(found[0])
            while width_of(unit) > width:
                yield unit[: width // 2]
                unit = unit[width // 2 :]
            yield unit
        else:
            yield from map(printable, iter_graphemes(found[0]))
