"""Links where only documents in the window around a document's own time can be its duplicates.

Exact duplicates are not interchangeable then: one may be in the window of a third document, another may not. So
documents are sorted by *kind* (their fingerprint, or their digest) and time. For each document and each near kind, the
members of that kind in the window are a range of this order. Of the range three members are enough for all links:

- the first written one, which is the best original of that kind;
- the first and the last one in time, which connect the document to all others. Members of a kind that follow each
  other within the window's length are connected anyway, by pairs of their own kind. A range is at most twice that long,
  so no member of it is more than one gap away from its first or its last member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.search.runs import run_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from es_simhash.groups.near_pairs import Pairs

    Integers = NDArray[np.int64]

LOOK_UPS = 1_000_000
"""About how many ranges are looked up together."""


@dataclass(frozen=True)
class Times:
    """The times of documents, and the length of the window.

    :param values: of each document, in milliseconds, in the order of the documents, shape (n,).
    :param length: in milliseconds.
    """

    values: Integers
    length: int


class MembersByTime:
    """The members of each kind, sorted by time.

    :param kinds: the number of the kind of each document, shape (n,); -1 for a document of no kind.
    :param look_ups: about how many ranges are looked up together.
    """

    def __init__(self, kinds: Integers, times: Times, look_ups: int = LOOK_UPS) -> None:
        self._look_ups = look_ups
        values = times.values
        stamps, numbers = np.unique(values, return_inverse=True)
        # The window of each document, as numbers of the different times: from the first, below the second.
        self._from = np.searchsorted(stamps, values - times.length, side="left")
        self._to = np.searchsorted(stamps, values + times.length, side="right")
        self._step = len(stamps) + 1
        order = np.lexsort((numbers, kinds))
        self._members = order[kinds[order] >= 0]
        self._keys = kinds[self._members] * self._step + numbers[self._members]
        self.sizes = np.bincount(kinds[self._members], minlength=int(kinds.max(initial=-1)) + 1)
        self._lowest = _range_minima(self._members, int(self.sizes.max(initial=1)))
        self._starts = np.cumsum(self.sizes) - self.sizes

    def pairs(self, near: Pairs) -> Iterator[tuple[Pairs, Integers]]:
        """Yield the pairs of documents that the links of near kinds need.

        :param near: pairs of kinds, shape (m, 2); perhaps a kind with itself.
        :returns: arrays of pairs of documents, the lower one first, shape (p, 2); and for each the index in ``near``. A
            pair may come several times.
        """
        both = np.concatenate([near, near[:, ::-1]])
        index = np.concatenate([np.arange(len(near))] * 2)
        ends = np.cumsum(self.sizes[both[:, 0]])
        start = 0
        while start < len(both):
            done = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, done + self._look_ups, side="right")))
            yield self._pairs(both[start:end], index[start:end])
            start = end

    def _pairs(self, near: Pairs, index: Integers) -> tuple[Pairs, Integers]:
        """Return for each member of the first kind its pairs with members of the second kind."""
        counts = self.sizes[near[:, 0]]
        row = np.repeat(np.arange(len(near)), counts)
        ours = self._members[run_positions(self._starts[near[:, 0]], counts)]
        base = near[row, 1] * self._step
        first = np.searchsorted(self._keys, base + self._from[ours])
        end = np.searchsorted(self._keys, base + self._to[ours])
        some = first < end
        ours, row, first, end = ours[some], row[some], first[some], end[some]
        theirs = [self._members[first], self._members[end - 1], self._minimum(first, end)]
        found = np.sort(np.stack([np.tile(ours, 3), np.concatenate(theirs)], axis=1), axis=1)
        apart = found[:, 0] != found[:, 1]
        return found[apart], np.tile(index[row], 3)[apart]

    def _minimum(self, first: Integers, end: Integers) -> Integers:
        """Return the lowest document in each range of the members."""
        level = np.frexp(end - first)[1] - 1  # the highest power of two that is not longer than the range
        lowest: Integers = np.minimum(self._lowest[level, first], self._lowest[level, end - (1 << level)])
        return lowest


def _range_minima(values: Integers, longest: int) -> Integers:
    """Return the minimum of 2**level values from each index on, shape (levels, n).

    :param longest: the length of the longest range that is looked up.
    """
    levels = [values]
    width = 1
    while 2 * width <= longest:
        last = levels[-1]
        longer = last.copy()
        longer[: len(values) - width] = np.minimum(last[: len(values) - width], last[width:])
        levels.append(longer)
        width *= 2
    return np.stack(levels)
