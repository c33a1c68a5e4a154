"""Forms of a fingerprint: one unsigned integer, 16-bit segments, signed longs, an array of 64-bit words.

A fingerprint of 64 bits has four segments and one long. A fingerprint of 128 bits has eight segments and two longs.
Segment 0 and the first long hold the highest bits. So the hex digits of the segments, joined in order, are the hex
digits of the fingerprint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

SEGMENT_BITS = 16
"""Number of bits in a segment."""

_SEGMENT_MASK = (1 << SEGMENT_BITS) - 1
_SIGN_BIT = 1 << 63
_WORD_MASK = (1 << 64) - 1


def segment_count(bits: int) -> int:
    """Return the number of 16-bit segments in a fingerprint of ``bits`` bits."""
    return bits // SEGMENT_BITS


def split(value: int, bits: int) -> tuple[int, ...]:
    """Return the 16-bit segments of a fingerprint, highest first."""
    return tuple(value >> shift & _SEGMENT_MASK for shift in range(bits - SEGMENT_BITS, -1, -SEGMENT_BITS))


def hex_segments(value: int, bits: int) -> tuple[str, ...]:
    """Return the segments in the form that is indexed: four lower-case hex digits each, highest segment first."""
    digits = f"{value:0{bits // 4}x}"
    return tuple([digits[start : start + 4] for start in range(0, bits // 4, 4)])


def segment_columns(fingerprints: Sequence[int], bits: int) -> NDArray[np.uint16]:
    """Return the segments of n fingerprints, one row for each segment.

    :returns: shape (4, n) for 64 bits, (8, n) for 128 bits.
    """
    rows = [split(value, bits) for value in fingerprints]
    return np.array(rows, dtype=np.uint16).reshape(-1, segment_count(bits)).T


def to_signed(value: int) -> int:
    """Return 64 bits as a signed integer, the form of Elasticsearch's ``long`` and SQLite's ``INTEGER``."""
    return (value ^ _SIGN_BIT) - _SIGN_BIT


def from_signed(value: int) -> int:
    """Return the 64 bits of a signed long as an unsigned integer."""
    return value & _WORD_MASK


def to_longs(value: int, bits: int) -> tuple[int, ...]:
    """Return a fingerprint as signed longs of 64 bits, highest first."""
    return tuple([to_signed(value >> shift & _WORD_MASK) for shift in range(bits - 64, -1, -64)])


def to_array(values: Iterable[int], bits: int) -> NDArray[np.uint64]:
    """Return n fingerprints as an array of 64-bit words.

    :returns: shape (n,) for 64 bits; shape (n, 2) for 128 bits, the higher word first.
    """
    if bits == 64:
        return np.fromiter(values, dtype=np.uint64)
    data = b"".join(value.to_bytes(bits // 8, "big") for value in values)
    return np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, bits // 64)
