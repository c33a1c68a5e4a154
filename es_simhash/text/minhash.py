"""MinHash bands: keys that similar texts share.

Two texts with a Jaccard similarity J of their shingles agree in each row of their MinHash signatures with the chance J
(Broder, "On the resemblance and containment of documents", 1997). ``ROWS`` rows make a band. A band of one text equals
that of the other with the chance J**ROWS, and at least one of ``BANDS`` does with 1 - (1 - J**ROWS)**BANDS (Leskovec,
Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3). A key is a hash of one band: documents with a key in
common are candidates, and the more keys they share, the more similar they are.

The signature is that of Dahlgaard, Knudsen and Thorup ("Fast similarity sketching", FOCS 2017). A round hashes each
shingle once: the hash chooses the row that the shingle enters, and the value that it enters with. A row takes its
smallest value of the first round in which it has one. A long text needs one round, where plain MinHash needs one for
each row; a short text needs a few. Unlike in one-permutation hashing no row is ever copied from another (Shrivastava,
"Optimal densification for fast and accurate minwise hashing", ICML 2017), so that the estimate is unbiased.

The keys of a text are part of the format. They never change: ``tests/vectors/minhash-3.jsonl`` holds examples.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.text.shingles import distinct, mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

BANDS = 25
ROWS = 5
"""A text at a Jaccard similarity of 0.8 shares a key with a chance of 0.99995, at 0.65 of 0.95, at 0.3 of 0.06, at 0.1
of 0.0002."""

_AT_ONCE = 32_768
"""Shingles that are hashed together."""
_ALONE = 4
"""Texts whose rows are filled one text after the other. Few wait for the last rounds."""
_ROW_BITS = 7
_SIZE = 1 << _ROW_BITS  # the bands use 125
_EMPTY = np.uint64(2**64 - 1)  # greater than every value that a row can have
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.array(
    # Odd, of random bits: the fractional digits of the square roots of 13, 17, 19, 23 and 29, the last bit set.
    [0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179, 0xCBBB9D5DC1059ED9, 0x629A292A367CD507],
    dtype=np.uint64,
)
_NUMBERS = np.arange(BANDS, dtype=np.uint64) * _STEP


def hashes_of_bands(shingles: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hashes of the bands of n texts, ``BANDS`` of each: of the number of a band and its rows.

    Repeated and reordered shingles change nothing. For many texts together this takes a third of the time.

    :param shingles: the numbers, one text after the other.
    :param counts: how many each text has, one at least, shape (n,).
    """
    rows = signatures(shingles, counts)[:, : BANDS * ROWS].reshape(-1, BANDS, ROWS)
    return mixed((rows * _FACTORS).sum(axis=2, dtype=np.uint64) + _NUMBERS).ravel()


def signatures(shingles: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the rows of the signatures of n texts, shape (n, 128): the smallest value that entered each.

    The rows of two texts are equal with a chance of the Jaccard similarity of their shingles.

    :param shingles: numbers of the shingles, one text after the other.
    :param counts: how many each text has, one at least, shape (n,).
    """
    rows = np.full((len(counts), _SIZE), _EMPTY, dtype=np.uint64)
    ends = np.cumsum(counts)
    if len(counts) <= _ALONE:
        for own, entered in zip(rows, np.split(shingles, ends[:-1]), strict=True):
            _complete(own, entered, 0)
        return rows
    first = 0
    while first < len(counts):
        # Some texts at once. More would not stay in the processor's cache.
        start = ends[first] - counts[first]
        end = max(first + 1, int(np.searchsorted(ends, start + _AT_ONCE, side="right")))
        _fill(rows[first:end], shingles[start : ends[end - 1]], counts[first:end])
        first = end
    return rows


def _fill(rows: NDArray[np.uint64], shingles: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Fill the rows of some texts, in place."""
    # So many rounds fill all rows of most texts: the coupon collector's number of hashes, and three for each row.
    rounds = np.minimum(_SIZE * (log(_SIZE) + 3) / counts + 1, _SIZE).astype(np.int64)
    left, texts = shingles, np.repeat(np.arange(len(counts)), counts)
    for number in range(int(rounds.max())):
        _enter(rows.reshape(-1), left, np.array([number], dtype=np.uint64), texts)
        waits = (rows == _EMPTY).any(axis=1) & (rounds > number + 1)
        if np.count_nonzero(waits) <= _ALONE:
            break
        kept = waits[texts]
        left, texts = left[kept], texts[kept]
    ends = np.cumsum(counts)
    for text in np.flatnonzero((rows == _EMPTY).any(axis=1)).tolist():
        own = shingles[ends[text] - counts[text] : ends[text]]
        _complete(rows[text], own, min(number + 1, int(rounds[text])))


def _complete(rows: NDArray[np.uint64], shingles: NDArray[np.uint64], first: int) -> None:
    """Enter the shingles of a text into its rows, in place, from a round on until no row is empty."""
    while first < _SIZE:
        end = min(first + int(_SIZE * (log(_SIZE) + 1) / shingles.size) + 1, _SIZE)
        numbers = np.arange(first, end, dtype=np.uint64)
        _enter(rows, np.tile(shingles, len(numbers)), np.repeat(numbers, len(shingles)), 0)
        if rows.max() != _EMPTY:
            return
        # A long text may have few different shingles. Then each round would take as long as the first one.
        first, shingles = end, distinct(shingles)
    # Very few shingles leave rows empty for ever. The last round enters all of them into each row.
    empty = np.flatnonzero(rows == _EMPTY)
    steps = _STEP * (np.uint64(_SIZE + 1) + empty.astype(np.uint64))
    values = mixed(shingles[None, :] + steps[:, None]).min(axis=1)
    rows[empty] = np.uint64(_SIZE << 56) | values >> np.uint64(8)


def _enter(
    rows: NDArray[np.uint64],
    shingles: NDArray[np.uint64],
    rounds: NDArray[np.uint64],
    of_text: NDArray[np.int64] | int,
) -> None:
    """Enter shingles into the rows of their texts, in place.

    A value has the round in its highest byte, and 56 bits of a hash.

    :param rows: of one text after the other.
    :param shingles: n of them.
    :param rounds: in which each is entered, shape (n,), or (1,) for all.
    :param of_text: the index of the text of each, shape (n,), or one for all.
    """
    hashes = mixed(shingles + _STEP * (rounds + np.uint64(1)))
    values = hashes << np.uint64(_ROW_BITS)
    values >>= np.uint64(8)
    values |= rounds << np.uint64(56)
    hashes >>= np.uint64(64 - _ROW_BITS)
    np.minimum.at(rows, hashes.astype(np.intp) + (of_text << _ROW_BITS), values)
