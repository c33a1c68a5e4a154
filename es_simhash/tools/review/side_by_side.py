"""Two texts side by side in a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
from wcwidth import iter_graphemes

from es_simhash.console.output import printable
from es_simhash.console.terminal import width_of

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
