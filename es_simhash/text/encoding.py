"""Forms of a fingerprint, an unsigned integer: 16-bit segments, and a signed long; and the distance of two.

A fingerprint of 64 bits has four segments, one of 128 bits has eight. Segment 0 holds the highest bits. So the hex
digits of the segments, joined in order, are the hex digits of the fingerprint.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEGMENT_BITS = 16
"""Number of bits in a segment."""

_SEGMENT_MASK = (1 << SEGMENT_BITS) - 1
_SIGN_BIT = 1 << 63
_WORD_MASK = (1 << 64) - 1


def split(value: int, bits: int) -> tuple[int, ...]:
    """Return the 16-bit segments of a fingerprint, highest first."""
    return tuple(value >> shift & _SEGMENT_MASK for shift in range(bits - SEGMENT_BITS, -1, -SEGMENT_BITS))


def hex_segments(value: int, bits: int) -> tuple[str, ...]:
    """Return the segments in the form that is indexed: four lower-case hex digits each, highest segment first."""
    return tuple(f"{segment:04x}" for segment in split(value, bits))


def to_signed(value: int) -> int:
    """Return 64 bits as a signed integer, the form of Elasticsearch's ``long`` and SQLite's ``INTEGER``."""
    return (value ^ _SIGN_BIT) - _SIGN_BIT


def from_signed(value: int) -> int:
    """Return the 64 bits of a signed long as an unsigned integer."""
    return value & _WORD_MASK


def hamming_distance(left: int | None, right: int | None) -> int | None:
    """Return the Hamming distance of two fingerprints in bits; None if one is None."""
    return None if left is None or right is None else (left ^ right).bit_count()


@cache
def sphere(radius: int) -> NDArray[np.uint16]:
    """Return the 16-bit masks with exactly ``radius`` bits set, shape (n,)."""
    every = np.arange(1 << 16, dtype=np.uint32)
    masks: NDArray[np.uint16] = every[np.bitwise_count(every) == radius].astype(np.uint16)
    return masks


@cache
def ball(radius: int) -> NDArray[np.uint16]:
    """Return the 16-bit masks with at most ``radius`` bits set, shape (n,): 1, 17, 137, 697 for radius 0 to 3."""
    return np.concatenate([sphere(r) for r in range(radius + 1)])
