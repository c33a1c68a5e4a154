"""The choice of Manku, Jain and Das Sarma: wide keys and many of them, or narrow keys and few.

A fingerprint is cut into n blocks. Fingerprints within k bits have n - k equal blocks at least, so each choice of n - k
blocks is a key (:mod:`es_simhash.search.blocks`). More blocks give wider keys, so fewer candidates by chance, but more
keys to store and to look up. Keys may also be made in two steps: one of k + 1 blocks is equal; cut the other bits into
k + 1 blocks again, of which one is equal too ("Detecting near-duplicates for web crawling", WWW 2007, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, combinations
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_KEYS = 150
"""Choices with more keys than this are left out."""


@dataclass(frozen=True)
class KeyWidths:
    """One choice of keys.

    :param name: how the fingerprint is cut.
    :param masks: the bits of each key. Two fingerprints within max_distance agree in at least one of them.
    """

    name: str
    masks: tuple[int, ...]

    @property
    def keys(self) -> int:
        """How many keys a document has."""
        return len(self.masks)

    @property
    def widths(self) -> tuple[int, int]:
        """Bits of the narrowest and of the widest key."""
        counts = [mask.bit_count() for mask in self.masks]
        return min(counts), max(counts)

    def postings(self, documents: int) -> float:
        """Return how many documents share a key with a random fingerprint by chance; with two keys they count twice."""
        return sum(documents * 2.0 ** -mask.bit_count() for mask in self.masks)


def key_widths(bits: int, max_distance: int) -> list[KeyWidths]:
    """Return the choices of keys for fingerprints of ``bits`` bits, the fewest keys first.

    :param max_distance: in bits, below ``bits``. For 0 there is one choice: the fingerprint is the key.
    """
    if not max_distance:
        return [KeyWidths("1 block", ((1 << bits) - 1,))]
    found = [
        KeyWidths(f"{blocks} blocks, {blocks - max_distance} equal", tuple(_keys(range(bits), blocks, max_distance)))
        for blocks in range(max_distance + 1, min(bits, max_distance + 5) + 1)
        if comb(blocks, max_distance) <= MOST_KEYS
    ]
    once = max_distance + 1
    if once * once <= min(MOST_KEYS, bits):
        found.append(KeyWidths(f"{once} blocks, then {once} of the other bits", tuple(_in_two_steps(bits, once))))
    return sorted(found, key=lambda each: each.keys)


def _blocks(positions: Sequence[int], count: int) -> list[int]:
    """Cut some bits into blocks of about equal size. Return the masks."""
    sizes = [len(positions) // count + (number < len(positions) % count) for number in range(count)]
    ends = list(accumulate(sizes))
    return [sum(1 << p for p in positions[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _keys(positions: Sequence[int], blocks: int, max_distance: int) -> Iterator[int]:
    yield from map(sum, combinations(_blocks(positions, blocks), blocks - max_distance))


def _in_two_steps(bits: int, once: int) -> Iterator[int]:
    for mask in _blocks(range(bits), once):
        others = [position for position in range(bits) if not mask >> position & 1]
        yield from (mask | other for other in _blocks(others, once))
