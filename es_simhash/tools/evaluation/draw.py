"""A random sample of pairs of near fingerprints: stratified by distance, and reproducible.

Every document has a rank, which is a hash of the seed and its id. Every pair has a rank too, computed from the ranks of
its two documents. The sample consists of the lowest ranks: a bottom-k sample (Cohen and Kaplan, "Summarizing data using
bottom-k sketches", PODC 2007). It does not depend on the order in which the documents come, nor on how often the search
finds a pair. The same seed draws the same pairs.
"""

from __future__ import annotations

import heapq
from itertools import zip_longest
from typing import TYPE_CHECKING

import mmh3
import numpy as np

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.groups.near_pairs import NearPairs
from es_simhash.search.hamming import paired_distances

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def document_rank(id: str, seed: int) -> int:
    """Return the rank of a document: 64 bits."""
    return int.from_bytes(mmh3.mmh3_x64_128_digest(f"{seed}:{id}".encode())[:8], "little")


class DocumentSample:
    """A sample of documents that come one by one: those with the lowest ranks. It takes some 250 bytes a document.

    :param count: how many documents it holds at most.
    :param bits: the fingerprint width.
    """

    def __init__(self, count: int, seed: int, bits: int) -> None:
        self._count = count
        self._seed = seed
        self._bits = bits
        self._held: list[tuple[int, str, int]] = []  # a heap of negative ranks: the highest rank leaves first

    def add(self, id: str, fingerprint: int) -> None:
        """Add a document. The caller adds no id twice."""
        item = (-document_rank(id, self._seed), id, fingerprint)
        if len(self._held) < self._count:
            heapq.heappush(self._held, item)
        else:
            heapq.heappushpop(self._held, item)

    def sorted(self) -> tuple[list[str], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the ids, fingerprints and ranks of the sample, the lowest rank first.

        :returns: the fingerprints as ``encoding.to_array`` returns them; the ranks in shape (n,).
        """
        held = sorted(self._held, reverse=True)
        return (
            [id for _, id, _ in held],
            to_array((fingerprint for _, _, fingerprint in held), self._bits),
            np.array([-negative for negative, _, _ in held], dtype=np.uint64),
        )


def draw_pairs(
    fingerprints: NDArray[np.uint64], ranks: NDArray[np.uint64], size: int, max_distance: int
) -> list[tuple[int, int, int]]:
    """Draw at most ``size`` pairs within ``max_distance`` bits, the same number at each distance.

    Where one distance has too few pairs, the other distances provide more. Several documents with equal fingerprints
    could fill the sample with copies of one template. So each of them is paired only with the first of them, and only
    this first one is paired with other fingerprints.

    :param fingerprints: shape (n,) for 64 bits, (n, 2) for 128, as ``encoding.to_array`` returns them.
    :param ranks: of the documents, shape (n,).
    :returns: triples (index of one document, index of the other, distance in bits), sorted by distance and then by the
        rank of the pair.
    """
    # One array for each distance. A row is (rank of the pair, index, index).
    strata = [np.empty((0, 3), dtype=np.uint64) for _ in range(max_distance + 1)]
    for found in NearPairs(fingerprints, max_distance).connecting():
        pairs = np.sort(found[found[:, 0] != found[:, 1]], axis=1)
        left, right = pairs.T
        rows = np.column_stack([_pair_ranks(ranks[left], ranks[right]), pairs.astype(np.uint64)])
        distances = paired_distances(fingerprints[left], fingerprints[right])
        for distance in np.flatnonzero(np.bincount(distances)).tolist():
            strata[distance] = _lowest(strata[distance], rows[distances == distance], size)
    # Take one pair of each distance in turn, until there are enough.
    turns = zip_longest(*([(distance, *row) for row in rows.tolist()] for distance, rows in enumerate(strata)))
    drawn = [pair for turn in turns for pair in turn if pair is not None][:size]
    return [(left, right, distance) for distance, _, left, right in sorted(drawn)]


def _lowest(held: NDArray[np.uint64], rows: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Return the ``size`` rows with the lowest ranks, each once, sorted.

    :param held: the lowest rows so far, sorted.
    :param rows: more rows; each is in it only once, but may be in ``held`` too.
    """
    if len(held) == size:
        rows = rows[rows[:, 0] < held[-1, 0]]
    if len(rows) > size:
        rows = rows[np.argpartition(rows[:, 0], size)[:size]]
    lowest: NDArray[np.uint64] = np.unique(np.concatenate([held, rows]), axis=0)[:size]
    return lowest


def _pair_ranks(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the ranks of pairs, from the ranks of their documents; all of shape (n,).

    The mixing is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
    """
    mixed = left * _STEP + right
    for shift, factor in _MIX:
        mixed = (mixed ^ (mixed >> shift)) * factor
    ranks: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return ranks
