"""Containment: how much of the shorter text stands in the longer one.

Broder ("On the resemblance and containment of documents", 1997): the share of a text's shingles that another text has,
too. It sees a copy that was cut, or that stands in a frame of other text, which the Jaccard similarity of the two does
not: that is at most the ratio of their sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.fingerprinting.shingles import distinct, in_common, shingle_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORTEST = 50
"""Distinct shingles that the shorter text has at least. A shorter one is a phrase that stands in many texts. A text of
61 characters has 57 shingles, if none comes twice."""


def containment(a: str, b: str) -> float:
    """Return the share of the shingles of the text that has fewer that the other has, too.

    :param a: word characters of a text.
    :param b: word characters of another text.
    :returns: from 0 to 1; see :func:`containment_of`.
    """
    return containment_of(*(distinct(shingle_numbers(words)) for words in (a, b)))


def containment_of(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> float:
    """Return the containment of two texts of which the numbers of the shingles are known.

    :param a: distinct numbers, ascending.
    :param b: distinct numbers, ascending.
    :returns: from 0 to 1. 0 if the text with fewer has fewer than ``SHORTEST``, unless both are equal.
    """
    fewer = min(a.size, b.size)
    both = in_common(a, b)
    if fewer < SHORTEST and not both == a.size == b.size != 0:
        return 0.0
    return both / fewer
