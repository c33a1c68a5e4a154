"""Hamming distances of fingerprints, in bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def near_pairs(
    left: NDArray[np.uint64], right: NDArray[np.uint64], max_distance: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Compare each fingerprint of 64 bits with each, and return the pairs within ``max_distance`` bits.

    :param left: shape (n,).
    :param right: shape (m,). The comparison takes 9 bytes for each of n × m pairs.
    :returns: indices in ``left`` and indices in ``right``, arrays of one length.
    """
    return np.nonzero(np.bitwise_count(left[:, None] ^ right) <= max_distance)  # type: ignore[return-value]


def hamming_distance(left: int | None, right: int | None) -> int | None:
    """Return the Hamming distance of two fingerprints in bits; None if one is None."""
    return None if left is None or right is None else (left ^ right).bit_count()
