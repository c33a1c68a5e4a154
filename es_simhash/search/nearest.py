"""Of very many near fingerprints, which are the nearest? A store counts the documents of each, and reads few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import to_array
from es_simhash.search.hamming import near_of_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Crowd:
    """The documents with one fingerprint.

    :param count: how many there are.
    :param first: the smallest write order.
    """

    count: int
    first: int


@dataclass(frozen=True)
class Nearest:
    """The fingerprints near some others whose documents are read.

    :param fingerprints: each once.
    :param left_out: by the fingerprint that was asked for, how many documents near it have another fingerprint. Those
        without such documents are not named.
    """

    fingerprints: list[int]
    left_out: dict[int, int]


def nearest(
    asked: Sequence[int], crowds: Mapping[int, Crowd], max_distance: int, bits: int, most: int | None, counts_as: int
) -> Nearest:
    """Return for each fingerprint the nearest of some others: by distance, then those whose documents came first.

    :param asked: unsigned, all different.
    :param crowds: by fingerprint, its documents.
    :param most: there are enough as soon as they have so many documents; None for all within ``max_distance``.
    :param counts_as: a fingerprint counts as at most so many documents.
    """
    values = list(crowds)
    counts = np.array([crowd.count for crowd in crowds.values()], dtype=np.int64)
    firsts = np.array([crowd.first for crowd in crowds.values()], dtype=np.int64)
    chosen = np.zeros(len(values), dtype=np.bool_)
    left_out: dict[int, int] = {}
    for numbers, kinds, distances in near_of_all(to_array(asked, bits), to_array(values, bits), max_distance):
        if most is None:
            chosen[kinds] = True
            continue
        order = np.lexsort((firsts[kinds], distances, numbers))
        numbers, kinds = numbers[order], kinds[order]
        sizes = np.minimum(counts[kinds], counts_as)
        before = np.cumsum(sizes) - sizes
        enough = before - before[np.searchsorted(numbers, numbers)] >= most
        chosen[kinds[~enough]] = True
        for number, count in zip(numbers[enough].tolist(), counts[kinds[enough]].tolist(), strict=True):
            left_out[asked[number]] = left_out.get(asked[number], 0) + count
    return Nearest([values[kind] for kind in np.flatnonzero(chosen).tolist()], left_out)
