"""Measures of how similar two texts are.

All of them compare normalised texts and return a number from 0 to 1. None needs a fingerprint. The first three decide
by a rule; the cosine decides nothing. Texts that are equal
after normalisation have similarity 1. Punctuation, white space, emoji and links have no effect.

The rule ``copy`` takes the Levenshtein similarity, and where that is too small the Jaccard similarity, if it is larger.
One edit changes five shingles, so edits all over a text lower its Jaccard similarity far more than its Levenshtein
similarity. Sentences in another order do the opposite. The rule ``contained`` takes the containment first, then the
Levenshtein similarity.

- Jaccard similarity of character shingles (Broder, "On the resemblance and containment of documents", 1997): the number
  of shingles that both texts have, divided by the number that at least one has. It depends on the order of the words.
- Containment (the same source): the share of the shingles of the shorter text that the longer one has. It finds a copy
  that was cut, or that stands inside other text, which the Jaccard similarity does not: that is at most the ratio of
  their sizes. Texts that are too short for it, and copies with edits all over, count by their Levenshtein similarity.
- Levenshtein similarity: 1 minus the number of single-character edits divided by the length of the longer text
  (Levenshtein 1966).
- Cosine of the word counts (Salton, Wong and Yang, "A vector space model for automatic indexing", 1975): how often each
  word occurs is a vector, and two texts are as similar as the cosine of the angle between theirs.

The time of an exact Levenshtein similarity grows with the product of the lengths. Two texts of up to ``EXACT``
characters are compared exactly. Longer texts are cut into pieces at *anchors*, and the edits of the pieces are added
up. An anchor is a shingle that occurs once in each of the two texts; of all anchors the longest series counts that is
in one order in both (the idea of patience diff, Bram Cohen). Edits that make each piece of one text into its
counterpart make one text into the other. So a text never counts as more similar than it is.
"""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.text.shingles import in_common, shingles_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

SHORTEST = 50
"""Distinct shingles that the shorter text has at least for containment. A shorter one is a phrase that stands in many
texts. A text of 61 characters has 57 shingles, if none comes twice."""
EXACT = 20_000
"""Characters of the longest texts, and the longest pieces, that are compared exactly. It takes up to 40 ms."""
_MARGIN = 0.001
"""More than the error of a least similarity in floating point."""
_ANCHORS = 10_000
"""Anchors of two texts that are used at most: some of them, evenly."""
_PIECE = 2_000
"""Characters of a piece at least, where anchors allow it. Every cut may add an edit."""


def overlaps(
    a: NDArray[np.uint64], others: Sequence[NDArray[np.uint64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Jaccard similarities of the shingles of a text and of each of n others, and the containments: the
    share of the shingles of the text that has fewer that the other has, too. Each has shape (n,).

    :param a: distinct numbers of the shingles, ascending.
    :param others: the same of each other text.
    :returns: the containment is 0 if the text with fewer has fewer than ``SHORTEST``, unless both are equal.
    """
    both, sizes = in_common(a, others), np.array([other.size for other in others])
    fewer = np.minimum(a.size, sizes)
    is_enough = (fewer >= SHORTEST) | ((both == a.size) & (both == sizes))
    return both / np.maximum(1, a.size + sizes - both), is_enough * both / np.maximum(1, fewer)


def cosine(a: Iterable[str], b: Iterable[str]) -> float:
    """Return the cosine of the word counts of two texts.

    >>> one, other = "我 喜欢 看 电视 不 喜欢 看 电影", "我 不 喜欢 看 电视 也 不 喜欢 看 电影"
    >>> round(cosine(one.split(), other.split()), 3)
    0.938

    :param a: the words of one text, in any order, each as often as it occurs.
    :returns: 0 if a text has no words.
    """
    ours, theirs = Counter(a), Counter(b)
    squares = [sum(count * count for count in counts.values()) for counts in (ours, theirs)]
    both = sum(count * theirs[word] for word, count in ours.items())
    return both / sqrt(squares[0] * squares[1]) if both else 0.0


def levenshtein(text: str, others: Sequence[str], least: float = 0.0) -> list[float]:
    """Return the Levenshtein similarities of a normalised text and each of n others.

    >>> levenshtein("暴雨预警", ["暴雨预报", "大雨预报"])
    [0.75, 0.5]

    :param least: the similarity that the caller needs at least. One below it may be returned as 0, which is faster.
    :returns: of a text of more than ``EXACT`` characters at most the similarity, and hardly less.
    """
    if len(others) == 1 or max(len(text), *map(len, others)) > EXACT:
        return [_levenshtein(text, other, least) for other in others]
    from rapidfuzz.distance import Levenshtein  # imported late: most commands compare no texts and start faster
    from rapidfuzz.process import cdist

    scorer, cutoff = Levenshtein.normalized_similarity, max(0.0, least - _MARGIN)
    of_each: list[float] = cdist([text], others, scorer=scorer, score_cutoff=cutoff, dtype=np.float64)[0].tolist()
    return of_each


def _levenshtein(a: str, b: str, least: float) -> float:
    from rapidfuzz.distance import Levenshtein

    longer = max(len(a), len(b), 1)
    most = int(longer * min(1.0, 1.0 + _MARGIN - least))
    if abs(len(a) - len(b)) > most:
        return 0.0
    edits = 0
    for piece, counterpart in pieces(a, b):
        edits += Levenshtein.distance(piece, counterpart, score_cutoff=most)
        if edits > most:
            return 0.0
    return 1 - edits / longer


def pieces(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of two texts, each with its counterpart. Joined they are the two texts.

    The two are whole up to ``EXACT`` characters, and no piece is longer.
    """
    ends = (len(a), len(b))
    if max(ends) <= EXACT:
        yield a, b
        return
    start = other_start = 0
    for at, other_at in [*in_one_order(*anchors(a, b)), ends]:
        if (at, other_at) == ends or min(at - start, other_at - other_start) >= _PIECE:
            one, other = a[start:at], b[other_start:other_at]
            for first in range(0, max(len(one), len(other)), EXACT):
                yield one[first : first + EXACT], other[first : first + EXACT]
            start, other_start = at, other_at


def differing(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[slice, slice]]:
    """Yield the places where two series differ."""
    from rapidfuzz.distance import Levenshtein  # imported late: most commands compare no texts and start faster

    at = other_at = 0
    for start, other_start, size in Levenshtein.editops(a, b).as_matching_blocks():
        if (at, other_at) != (start, other_start):
            yield slice(at, start), slice(other_at, other_start)
        at, other_at = start + size, other_start + size


def anchors(a: str, b: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the shingles start that occur once in each text: in a ascending, and their places in b."""
    numbers, places = _single(a)
    other_numbers, other_places = _single(b)
    _, ours, theirs = np.intersect1d(numbers, other_numbers, assume_unique=True, return_indices=True)
    order = np.argsort(places[ours])
    order = order[:: len(order) // _ANCHORS + 1]
    return places[ours][order], other_places[theirs][order]


def _single(text: str) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return the numbers of the shingles that occur once, and where they start."""
    numbers, places, counts = np.unique(shingles_of_texts([text])[0], return_index=True, return_counts=True)
    return numbers[counts == 1], places[counts == 1]


def in_one_order(places: NDArray[np.intp], others: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return the longest series of pairs that ascends in both: the longest common subsequence of their two orders.

    :param places: ascending.
    :param others: all different.
    """
    from rapidfuzz.distance import LCSseq

    common = LCSseq.editops(list(range(len(others))), np.argsort(others).tolist()).as_matching_blocks()
    series = [index for start, _, size in common for index in range(start, start + size)]
    return list(zip(places[series].tolist(), others[series].tolist(), strict=True))
