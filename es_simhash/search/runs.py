"""Runs of positions: each is a start and a count, such as where the members of a group stand in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def run_positions(starts: NDArray[np.integer] | int, counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the positions of n runs, one run after the other: start, start + 1, …, start + count - 1.

    :param starts: shape (n,), or one start for all runs.
    :param counts: shape (n,).
    :returns: shape (sum of the counts,).
    """
    ends = np.cumsum(counts)
    first = np.repeat(starts - (ends - counts), counts)
    positions: NDArray[np.int64] = np.arange(len(first)) + first
    return positions
