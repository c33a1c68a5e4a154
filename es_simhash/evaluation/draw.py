"""Draw pairs of near fingerprints: evenly over the distances, at random, and the same ones again.

Every document has a lot, a hash of the seed and its id, and every pair one of the lots of its two documents. Drawn is
what has the lowest lots: a random sample (Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007) that
depends neither on the order in which documents are looked at nor on how often a pair is come upon.
"""

from __future__ import annotations

import heapq
from itertools import zip_longest
from typing import TYPE_CHECKING

import mmh3
import numpy as np

from es_simhash.fingerprinting.encoding import columns, to_array
from es_simhash.groups.near_pairs import near_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def lot(id: str, seed: int) -> int:
    """The lot of a document: 64 bits."""
    return int.from_bytes(mmh3.mmh3_x64_128_digest(f"{seed}:{id}".encode())[:8], "little")


class DrawnDocuments:
    """Of documents that come one by one, those of the lowest lots; some 250 bytes for each that is held.

    :param count: how many are held at most.
    :param bits: length of their fingerprints.
    """

    def __init__(self, count: int, seed: int, bits: int) -> None:
        self._count = count
        self._seed = seed
        self._bits = bits
        self._held: list[tuple[int, str, int]] = []  # a heap: the highest lot, negative, is the first to go

    def add(self, id: str, fingerprint: int) -> None:
        """Another document; no id comes twice."""
        item = (-lot(id, self._seed), id, fingerprint)
        if len(self._held) < self._count:
            heapq.heappush(self._held, item)
        else:
            heapq.heappushpop(self._held, item)

    def sorted(self) -> tuple[list[str], NDArray[np.uint64], NDArray[np.uint64]]:
        """Ids, fingerprints and lots of those that are held, the lowest lot first.

        :returns: the fingerprints as ``segments.to_array`` gives them, the lots in shape (n,).
        """
        held = sorted(self._held, reverse=True)
        return (
            [id for _, id, _ in held],
            to_array((fingerprint for _, _, fingerprint in held), self._bits),
            np.array([-negative for negative, _, _ in held], dtype=np.uint64),
        )


def draw_pairs(
    fingerprints: NDArray[np.uint64], lots: NDArray[np.uint64], size: int, max_distance: int
) -> list[tuple[int, int, int]]:
    """At most ``size`` pairs within ``max_distance``, as many at each distance; what one lacks the others make up for.

    Documents with one and the same fingerprint are each paired with the first of them, which alone is paired with
    others: or copies of one template would be most of all pairs.

    :param fingerprints: of 64 bits, shape (n,), or of 128, shape (n, 2), as ``segments.to_array`` gives them.
    :param lots: of the documents, shape (n,).
    :returns: pairs of places and their distance, by distance, at one distance the lowest lot first.
    """
    strata = [np.empty((0, 3), dtype=np.uint64) for _ in range(max_distance + 1)]  # rows: lot, and the two places
    for found in near_pairs(fingerprints, max_distance):
        pairs = np.sort(found[found[:, 0] != found[:, 1]], axis=1)
        left, right = pairs.T
        rows = np.column_stack([_mixed(lots[left], lots[right]), pairs.astype(np.uint64)])
        differing = columns(fingerprints[left] ^ fingerprints[right])
        apart = np.sum([np.bitwise_count(word) for word in differing], axis=0, dtype=np.uint8)
        for distance in np.flatnonzero(np.bincount(apart)).tolist():
            strata[distance] = _lowest(strata[distance], rows[apart == distance], size)
    # One of each distance in turn, from 0 up, until there are enough.
    by_turns = zip_longest(*([(distance, *row) for row in rows.tolist()] for distance, rows in enumerate(strata)))
    drawn = [pair for turn in by_turns for pair in turn if pair is not None][:size]
    return [(left, right, distance) for distance, _, left, right in sorted(drawn)]


def _lowest(held: NDArray[np.uint64], rows: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """The ``size`` rows of the lowest lots, each once. Among ``rows``, which are of one batch, none is there twice."""
    if len(held) == size:
        rows = rows[rows[:, 0] < held[-1, 0]]
    if len(rows) > size:
        rows = rows[np.argpartition(rows[:, 0], size)[:size]]
    lowest: NDArray[np.uint64] = np.unique(np.concatenate([held, rows]), axis=0)[:size]
    return lowest


def _mixed(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The lot of a pair, from those of its documents: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mixed = left * _STEP + right
    for shift, factor in _MIX:
        mixed = (mixed ^ (mixed >> shift)) * factor
    lots: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return lots
