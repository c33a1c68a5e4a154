"""Q-grams: keys by which every similar short text is found.

A short text has too few shingles for MinHash bands: one edit changes most of them. Its keys are its *q-grams*, short
pieces of its word characters, and the *count filter* chooses the candidates: a few edits destroy a few q-grams, so
two similar texts still share many (Ukkonen, "Approximate string-matching with q-grams and maximal matches", 1992;
Gravano et al., "Approximate string joins in a database (almost) for free", VLDB 2001).

**The q-grams of a text** of L word characters, L >= 1. Put ``^`` before the text and ``$$`` behind it; neither is a
word character. One q-gram starts at ``^``, one at each word character. A q-gram has 2 characters if the first word
character in it is a Han character, and 3 otherwise. So there are L + 1. A key is a hash of a q-gram and of how many
equal ones stand before it: texts share as many keys as the multisets of their q-grams have in common.

**The lemma.** Let b be a text of l word characters with a Levenshtein similarity to a of s or more: d edits make b of
a, and d <= D = floor((1 - s) max(L, l)). Let x = max(0, l - L). Then a and b share at least ::

    L + 1 - (the sum of the x largest gap counts) - (the sum of the D - x largest position counts)

keys. The *position count* of a character of a is the number of a's q-grams that contain it, 2 or 3. The *gap count*
of two neighbours (``^`` and ``$`` included) is the number of a's q-grams that contain both, 1 or 2.

*Proof.* (1) A q-gram of a is untouched if no character of it is deleted or replaced and nothing is inserted between
two of its characters. Its characters then follow each other in b, too. Its first word character, which it contains,
says how long it is: so the same q-gram starts at the same position in b. Untouched q-grams of a come to different
positions of b; hence a and b share at least as many keys as there are untouched q-grams. (2) Let p of the d edits be
insertions. Since b is longer than a by p less the deletions, p >= x. An insertion touches the q-grams that contain
both characters of its gap. Another edit touches those that contain its position. (3) Take any x of the insertions:
together they touch no more than the x largest gap counts add up to; several in one gap touch the same. Each other
insertion touches only q-grams that contain the word character on one side of its gap: count it as an edit of that
position. These and the other edits are at most d - x <= D - x different positions, and touch no more than the D - x
largest position counts add up to. The L + 1 q-grams less those that are touched are left. ∎

Where all characters of a are Han, position counts are 2 and gap counts 1: the bound is max(L, l) + 1 - 2 D.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import ceil, floor
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.text.characters import HAN, codes_of, kinds
from es_simhash.text.shingles import FACTORS, mixed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_FIRST, _LAST = "^", "$"
_STEP = np.uint64(0xA54FF53A5F1D36F1)
_ROUNDING = 1e-9  # 1 - 0.8 is a little less than 0.2: a bound that is too wide costs time, one too narrow loses pairs


def hashes_of_grams(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return the hashes of the q-grams of each text: one more than it has word characters, all different.

    For many texts together this takes a tenth of the time. The number of a q-gram is the sum of its code points times
    ``FACTORS``. The hash is of this number and of how many equal ones stand before it.

    :param texts: the word characters of each, one at least.
    """
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    sizes = lengths + 1
    # Each text as ^text$$: a q-gram starts at each character but the last two.
    codes = codes_of("".join([_FIRST + text + _LAST * 2 for text in texts])).astype(np.uint64)
    of_text = np.repeat(np.arange(len(texts)), sizes)
    starts = np.cumsum(lengths + 3) - (lengths + 3)
    at = np.arange(len(of_text)) + (starts - (np.cumsum(sizes) - sizes))[of_text]
    first_word = np.maximum(at, starts[of_text] + 1)
    is_short = kinds().take(codes[first_word].view(np.int64)) & HAN != 0
    numbers = codes[at] * FACTORS[0] + codes[at + 1] * FACTORS[1]
    numbers += np.where(is_short, np.uint64(0), codes[at + 2] * FACTORS[2])
    order = np.lexsort((numbers, of_text))
    ordered, owners = numbers[order], of_text[order]
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = (ordered[1:] == ordered[:-1]) & (owners[1:] == owners[:-1])
    if again.any():
        place = np.arange(len(order))
        before = place - np.maximum.accumulate(np.where(again, 0, place))
        numbers[order] += before.astype(np.uint64) * _STEP
    return mixed(numbers)


def shared_at_least(words: str, similarity: float) -> Mapping[int, int]:
    """Return how many keys a similar text shares at least, for each length that it can have.

    >>> dict(shared_at_least("床前明月光", 0.8))
    {4: 4, 5: 4, 6: 5}

    :param words: the word characters of the text, one at least.
    :param similarity: the least Levenshtein similarity: above 0, up to 1. It is 1 - edits / length of the longer text.
    """
    is_han = kinds().take(codes_of(words)) & HAN != 0
    return _shared_at_least(tuple(np.where(is_han, 2, 3).tolist()), similarity)


@lru_cache(maxsize=1024)  # texts of Han characters alone have the same widths if they have the same length
def _shared_at_least(widths: tuple[int, ...], similarity: float) -> Mapping[int, int]:
    """Return :func:`shared_at_least` for a text whose q-grams have these widths; that at ``^`` is left out."""
    length = len(widths)
    # Whether the q-gram that starts 2 before a position, or that at ``^``, reaches the position.
    reach = [0, *(widths[max(at - 2, 0)] - 2 for at in range(1, length + 1))]
    gaps = _sums_of_largest(1 + reach[at] for at in range(length + 1))
    positions = _sums_of_largest(2 + reach[at] for at in range(length))
    shortest = max(1, ceil(similarity * length - _ROUNDING))
    longest = floor(length / similarity + _ROUNDING)
    least = {}
    for other in range(shortest, longest + 1):
        edits = floor((1 - similarity) * max(length, other) + _ROUNDING)
        inserted = max(0, other - length)
        lost = gaps[min(inserted, length + 1)] + positions[min(edits - inserted, length)]
        least[other] = max(0, length + 1 - lost)
    return MappingProxyType(least)


def _sums_of_largest(counts: Iterable[int]) -> list[int]:
    """Return the sums of the 0, 1, 2, … largest counts."""
    return [0, *accumulate(sorted(counts, reverse=True))]
