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
_SHIFTS = np.arange(64 - SEGMENT_BITS, -1, -SEGMENT_BITS, dtype=np.uint64)
"""A word that is shifted right by one of these has a segment in its low 16 bits."""


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


def from_longs(longs: Iterable[int]) -> int:
    """Return the fingerprint that :func:`to_longs` turned into signed longs."""
    value = 0
    for long in longs:
        value = value << 64 | from_signed(long)
    return value


def to_array(values: Iterable[int], bits: int) -> NDArray[np.uint64]:
    """Return n fingerprints as an array of 64-bit words.

    :returns: shape (n,) for 64 bits; shape (n, 2) for 128 bits, the higher word first.
    """
    if bits == 64:
        return np.fromiter(values, dtype=np.uint64)
    data = b"".join(value.to_bytes(bits // 8, "big") for value in values)
    return np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, bits // 64)


def columns(fingerprints: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Return the word columns of an array that :func:`to_array` made, highest word first, each of shape (n,)."""
    return [fingerprints] if fingerprints.ndim == 1 else list(fingerprints.T)


def segments_of(fingerprints: NDArray[np.uint64], count: int) -> NDArray[np.uint16]:
    """Return the first segments of n fingerprints.

    :param fingerprints: an array that :func:`to_array` made.
    :returns: shape (n, count).
    """
    found = [
        word[:, None] >> _SHIFTS[: count - first]
        for word, first in zip(columns(fingerprints), range(0, count, len(_SHIFTS)), strict=False)
    ]
    return (found[0] if len(found) == 1 else np.concatenate(found, axis=1)).astype(np.uint16)


def segment_of(fingerprints: NDArray[np.uint64], number: int) -> NDArray[np.uint16]:
    """Return one segment of n fingerprints, shape (n,).

    :param fingerprints: an array that :func:`to_array` made.
    """
    word, place = divmod(number, len(_SHIFTS))
    segments: NDArray[np.uint16] = (columns(fingerprints)[word] >> _SHIFTS[place]).astype(np.uint16)
    return segments
