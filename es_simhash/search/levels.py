"""Levels, as a log-structured merge-tree has them (O'Neil, Cheng, Gawlick and O'Neil, 1996).

What is new is sorted and becomes a level. Levels of similar size are merged. So there are few levels, and each entry is
sorted a few times only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MERGE = 4
"""A level is merged into the next larger one if that has less than so many times its entries."""


def levels_kept(sizes: Sequence[int], size: int) -> int:
    """Return how many levels stay as they are when entries are added. The other levels are merged with the entries.

    >>> levels_kept([100, 20, 4], 1), levels_kept([100, 20, 3], 1), levels_kept([100, 20, 4], 2)
    (3, 2, 0)

    :param sizes: how many entries each level has, the largest level first.
    :param size: how many entries are added.
    """
    kept = len(sizes)
    while kept and sizes[kept - 1] < _MERGE * size:
        kept -= 1
        size += sizes[kept]
    return kept
