"""Block keys: keyword keys that every two fingerprints within ``LARGEST_DISTANCE`` bits share.

**The counting argument.** A fingerprint is cut into n blocks. Two fingerprints differ in at most k bits (k is
max_distance). A bit is in one block, so at most k blocks differ, and at least n - k blocks are equal (the pigeonhole
principle; Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007). A key is the values of
n - k blocks. A fingerprint has a key for each choice of n - k of its n blocks. Whichever blocks are equal, one choice
has equal ones only: that key is the same for both fingerprints. So no document within k bits is lost, however the bits
are spread. A pair within fewer bits has more equal blocks, so it shares a key too.

**The choice of n.** More blocks give longer keys, so fewer documents share a key by chance, but more keys to store:

=====  ==  =======  ====  ===========  =====================================================
width  n   at k     keys  bits a key   documents that share a key by chance, of N random ones
=====  ==  =======  ====  ===========  =====================================================
64     4   3        4     16           N / 16,384: these are the segments
64     5   3        10    25 or 26     N / 5 million: **chosen**
64     6   3        20    31 to 33     N / 200 million
128    4   3        4     32           N / 10**9: **chosen**
128    5   4        5     25 or 26     N / 10 million
128    9   7        36    28 or 29     N / 10 million
128    17  15       136   15 or 16     N / 250
=====  ==  =======  ====  ===========  =====================================================

At 64 bits ten keys are the fewest that leave no chance candidates among millions of documents. At 128 bits four keys
are enough for the same k. For k of 4 to 6 the query plan asks an index of 128 bits for eight segment values only, so
keys would save little; for k = 7 they would take more space than the document's own fingerprint does nine times over.

A key is its kind, then the number of the choice and the values of its blocks together in base 64: six characters at 64
bits, seven at 128.

The keys of a fingerprint are part of the format. They never change: ``tests/vectors/blocks-1.jsonl`` holds examples.
"""

from __future__ import annotations

from itertools import accumulate, combinations
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.encoding import columns, to_array
from es_simhash.search.encoding import encoded, shifts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KIND = "b"
"""The first character of each key, which tells block keys from other keys."""
LARGEST_DISTANCE = 3
"""The largest max_distance in bits for which block keys find everything, at 64 and at 128 bits."""
WIDTHS = {64: (13, 13, 13, 13, 12), 128: (32, 32, 32, 32)}
"""By fingerprint width, the bits of each block, the highest first. No block crosses a boundary of 64 bits."""

_PREFIX = np.frombuffer(KIND.encode(), dtype=np.uint8)
_SHIFTS = {64: shifts(5), 128: shifts(6)}


def key_numbers(fingerprints: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """Return the block keys of n fingerprints as numbers: the number of the choice, then the values of its blocks.

    :param fingerprints: unsigned, of ``bits`` bits.
    :returns: shape (n, 10), numbers of 30 bits, for 64 bits; shape (n, 4), numbers of 34 bits, for 128 bits. The
        numbers of one fingerprint are all different.
    """
    widths = WIDTHS[bits]
    words = columns(to_array(fingerprints, bits))
    blocks = []
    for width, end in zip(widths, accumulate(widths), strict=True):
        word, shift = words[(end - 1) // 64], -end % 64
        blocks.append(word >> np.uint64(shift) & np.uint64((1 << width) - 1))
    room = np.uint64(max(widths))
    numbers = []
    for number, choice in enumerate(combinations(blocks, len(widths) - LARGEST_DISTANCE)):
        key = np.full(len(fingerprints), number, dtype=np.uint64)
        for values in choice:
            key = key << room | values
        numbers.append(key)
    return np.stack(numbers, axis=1)


def block_keys(fingerprints: Sequence[int], bits: int) -> list[tuple[str, ...]]:
    """Return the block keys of each fingerprint.

    >>> block_keys([0x0123456789ABCDEF], 64)[0][:3]
    ('b018qL', 'b419F4', 'b819gy')

    :param fingerprints: unsigned, of ``bits`` bits.
    :returns: for each fingerprint its keys, all different: 10 for 64 bits, 4 for 128 bits.
    """
    if not fingerprints:
        return []
    numbers = key_numbers(fingerprints, bits)
    count = numbers.shape[1]
    every = encoded(numbers, _SHIFTS[bits], _PREFIX)
    return [tuple(every[start : start + count]) for start in range(0, len(every), count)]
