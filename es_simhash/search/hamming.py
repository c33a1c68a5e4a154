"""The Hamming filter: which fingerprints are within max_distance of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import columns, to_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_ROWS = 16
"""Rows of a table of distances at once: so many stay in the processor's cache; measured four times as fast as all."""


def pairs_within(
    left: NDArray[np.uint64], right: NDArray[np.uint64], max_distance: int
) -> Iterator[tuple[int, int, int]]:
    """Every pair within ``max_distance``, as (place in ``left``, place in ``right``, distance)."""
    for start in range(0, len(left), _ROWS):
        table = distances(left[start : start + _ROWS], right).ravel()
        for at in np.flatnonzero(table <= max_distance).tolist():
            i, j = divmod(at, len(right))
            yield start + i, j, int(table[at])


def distances(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Hamming distances of every left fingerprint from every right one: n and m of them give shape (n, m)."""
    first, *more = zip(columns(left), columns(right), strict=True)
    apart: NDArray[np.uint8] = np.bitwise_count(first[0][:, None] ^ first[1][None, :])
    for ours, theirs in more:
        apart += np.bitwise_count(ours[:, None] ^ theirs[None, :])
    return apart


def rows_within(
    ours: Sequence[int | None], theirs: Sequence[int | None], max_distance: int, bits: int
) -> list[list[tuple[int, int]]]:
    """Return for each of our fingerprints those of theirs within ``max_distance``.

    :param ours: unsigned, of ``bits`` bits; None has no neighbours.
    :returns: for each of ours a list of pairs (index in ``theirs``, distance in bits).
    """
    found: list[list[tuple[int, int]]] = [[] for _ in ours]
    our_index = [index for index, value in enumerate(ours) if value is not None]
    their_index = [index for index, value in enumerate(theirs) if value is not None]
    if our_index and their_index:
        left = to_array((value for value in ours if value is not None), bits)
        right = to_array((value for value in theirs if value is not None), bits)
        for i, j, distance in pairs_within(left, right, max_distance):
            found[our_index[i]].append((their_index[j], distance))
    return found
