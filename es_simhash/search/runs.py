"""Runs of positions: each is a start and a count, such as where the members of a group stand in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def in_any_run(first: NDArray[np.int64], last: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the positions that are in at least one of n runs, each once, ascending.

    :param first: of each run, shape (n,).
    :param last: of each run, shape (n,).
    :param count: of all positions; each is smaller.
    """
    marks = np.zeros(count + 1, dtype=np.int64)
    np.add.at(marks, first, 1)
    np.add.at(marks, last + 1, -1)
    return np.flatnonzero(np.cumsum(marks)[:-1])


def pairs_in_runs(
    starts: NDArray[np.int64], counts: NDArray[np.int64], at_once: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs of a row of a table and a position in one of its runs, many at once, as two arrays of equal length.

    :param starts: of the runs of m rows, shape (m, k).
    :param counts: shape (m, k).
    :param at_once: about how many pairs are yielded together: those of some rows, at least of one.
    """
    ends = np.cumsum(counts.sum(axis=1))
    first = 0
    while first < len(counts):
        done = ends[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(ends, done + at_once, side="right")))
        some = counts[first:end]
        yield (
            np.repeat(np.arange(first, end), some.sum(axis=1)),
            run_positions(starts[first:end].ravel(), some.ravel()),
        )
        first = end
