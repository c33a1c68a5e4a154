"""A fingerprint's forms: one unsigned number, 16-bit segments, signed longs, a row of 64-bit words.

64 bits are four segments and one long, 128 bits eight segments and two longs. Segment 0 and the first long hold the
highest bits, so the hex of a fingerprint is its segments written one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_SIGN = 1 << 63
_WORD = (1 << 64) - 1


def split(value: int, bits: int) -> tuple[int, ...]:
    """The 16-bit segments of a fingerprint, highest first."""
    return tuple(value >> shift & 0xFFFF for shift in range(bits - 16, -1, -16))


def hex_segments(value: int, bits: int) -> tuple[str, ...]:
    """The segments as they are indexed: four lower-case hex digits each."""
    return tuple(f"{segment:04x}" for segment in split(value, bits))


def segment_columns(fingerprints: Sequence[int], bits: int) -> NDArray[np.uint16]:
    """The segments of fingerprints, a row for each segment: n fingerprints of 64 bits give shape (4, n)."""
    return np.array([split(value, bits) for value in fingerprints], dtype=np.uint16).reshape(-1, bits // 16).T


def to_signed(value: int) -> int:
    """64 bits as Elasticsearch's ``long`` and SQLite's ``INTEGER`` hold it."""
    return (value ^ _SIGN) - _SIGN


def from_signed(value: int) -> int:
    """The 64 bits behind a signed long."""
    return value & _WORD


def to_longs(value: int, bits: int) -> tuple[int, ...]:
    """A fingerprint as signed longs, one for each 64 bits, the highest first."""
    return tuple(to_signed(value >> shift & _WORD) for shift in range(bits - 64, -1, -64))


def from_longs(longs: Iterable[int]) -> int:
    """The fingerprint behind signed longs."""
    value = 0
    for long in longs:
        value = value << 64 | from_signed(long)
    return value


def to_array(values: Iterable[int], bits: int = 64) -> NDArray[np.uint64]:
    """Fingerprints as an array: of shape (n,) for 64 bits, (n, 2) for 128, the higher half first."""
    if bits == 64:
        return np.fromiter(values, dtype=np.uint64)
    data = b"".join(value.to_bytes(bits // 8, "big") for value in values)
    return np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, bits // 64)


def columns(fingerprints: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The words of fingerprints as :func:`to_array` gives them, the highest first: arrays of shape (n,)."""
    return [fingerprints] if fingerprints.ndim == 1 else list(fingerprints.T)
