"""Keys of a text: documents with enough keys in common are candidates.

They are MinHash bands (:mod:`es_simhash.text.minhash`), and q-grams (:mod:`es_simhash.text.qgrams`) for short
texts. Each is an integer of 36 bits: two for the kind, and 34 of a hash. A store keeps the keys of a document, and
beside them the number of its word characters. Elasticsearch has them in one multi-valued keyword field, in their text
form: six characters of base 64, which people can read.

The number of word characters decides which keys a text has:

| word characters | keys |
|---|---|
| up to ``SHORT`` | q-grams |
| more, up to ``MEDIUM`` | bands of short shingles (``PAIRS``) |
| more | bands of longer shingles (``LONGER``) |

Two similar texts may stand on two sides of a boundary. So the longer one has the keys of the side below, too:

- A text of up to ``SHORT`` / ``LEAST`` word characters has q-grams. No pair with a Levenshtein similarity of ``LEAST``
  or more is lost there: both texts have q-grams, and each looks for lengths that include the other's.
- A text of up to ``LONGEST_WITH_PAIRS`` word characters has bands of short shingles. That is beyond ``MEDIUM`` /
  ``LEAST``, for copies that were cut.
"""

from __future__ import annotations

import re
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.text.minhash import BANDS, hashes_of_bands
from es_simhash.text.normalisation import compared_characters_of_texts
from es_simhash.text.qgrams import hashes_of_grams, shared_at_least
from es_simhash.text.shingles import Widths, shingles_of_texts
from es_simhash.values import value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

KEY_BITS = 36
HASH_BITS = 34
"""Of 10**7 documents with 25 bands 0.4 share a band with a text by accident."""
_OF_LENGTH = np.uint64(127)
"""The lowest bits of the key of a q-gram are 0: an index has the length of the text there."""
GRAM, PAIRS, LONGER = range(3)
"""The kinds of keys: q-grams, bands of short shingles, and bands of longer shingles."""
WIDTHS = {PAIRS: Widths(2, 3), LONGER: Widths(3, 5)}
"""The widths of the shingles of each kind of bands, in characters. A letter says less than a Han character does. The
shorter a text, the shorter its shingles have to be: a few edits leave few of the longer ones."""
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
DIGITS = 6
"""Characters of a key in its text form."""
_SHIFTS = np.arange(6 * (DIGITS - 1), -1, -6, dtype=np.uint64)
_LETTERS = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)
_PLACES = np.uint64(1) << _SHIFTS
_ALL_DIGITS = re.compile(f"[{ALPHABET[:-2]}_-]*")
_VALUES = np.zeros(256, dtype=np.uint64)
_VALUES[_LETTERS] = np.arange(64)

SHORT = 60
"""Word characters of the longest short text. A longer one has more q-grams than bands."""
MEDIUM = 150
"""Word characters of the longest text without bands of longer shingles."""
LEAST = 0.8
"""The least Levenshtein similarity for which no pair across the boundary is lost."""
LONGEST_WITH_GRAMS = int(SHORT / LEAST)
LONGEST_WITH_PAIRS = MEDIUM * 3 // 2
_LENGTHS = {GRAM: (1, LONGEST_WITH_GRAMS), PAIRS: (SHORT + 1, LONGEST_WITH_PAIRS), LONGER: (MEDIUM + 1, inf)}
"""Word characters of the shortest and of the longest text with each kind of keys."""
ROUNDED_TO = 6
"""Decimals of a score. Without the errors of the sum, equal scores compare equal."""
COMMON = 14
"""How many of the rarest keys of a query must be common (:meth:`KeyQuery.rarest`)."""


@value
class TextKeys:
    """The keys of one text.

    :param values: q-grams and bands, all different.
    :param words: the word characters of the text.
    """

    values: tuple[int, ...]
    words: str

    @property
    def length(self) -> int:
        """How many word characters the text has."""
        return len(self.words)


@value
class KeyQuery:
    """A condition on the keys of a document: at least ``minimum`` of these keys, and a length in a range.

    :param minimum: 1 or more.
    :param lengths: the smallest and the largest number of word characters; None for any.
    """

    keys: tuple[int, ...]
    minimum: int
    lengths: tuple[int, int] | None = None

    def is_fulfilled_by(self, keys: Collection[int], length: int | None) -> bool:
        """Return whether a document with these keys and so many word characters fulfils the query."""
        if self.lengths is not None and (length is None or not self.lengths[0] <= length <= self.lengths[1]):
            return False
        return len(set(self.keys).intersection(keys)) >= self.minimum

    def rarest(self) -> tuple[int, int]:
        """Return how many of the rarest keys are looked up, and how many of these a document must have.

        Common keys have most of the entries, and they need not be read: a document that has T of n keys has p of any
        n - T + p of them, as at most T - p of the others are left (the prefix filter: Chaudhuri, Ganti and Kaushik, "A
        primitive operator for similarity joins in data cleaning", ICDE 2006). p is ``COMMON``: to demand more excludes
        few documents, and takes more entries.
        """
        common = min(self.minimum, COMMON)
        return len(self.keys) - self.minimum + common, common


def keys_of_texts(normalised: Sequence[str]) -> list[TextKeys]:
    """Return the keys of each normalised text. A text without word characters has none.

    For many texts together this takes a third of the time.
    """
    return keys_of_words(compared_characters_of_texts(normalised))


def keys_of_words(texts: Sequence[str]) -> list[TextKeys]:
    """Return the keys of texts.

    :param texts: the word characters of each.
    """
    values: list[list[int]] = [[] for _ in texts]
    for kind, (shortest, longest) in _LENGTHS.items():
        places = [place for place, words in enumerate(texts) if shortest <= len(words) <= longest]
        if not places:
            continue
        chosen = [texts[place] for place in places]
        hashes = hashes_of_grams(chosen) if kind == GRAM else hashes_of_bands(*shingles_of_texts(chosen, WIDTHS[kind]))
        numbers = hashes >> np.uint64(64 - HASH_BITS) | np.uint64(kind << HASH_BITS)
        keys = iter((numbers & ~_OF_LENGTH if kind == GRAM else numbers).tolist())
        for place in places:
            values[place] += islice(keys, len(texts[place]) + 1 if kind == GRAM else BANDS)
    return [TextKeys(tuple(own), words) for words, own in zip(texts, values, strict=True)]


def key_queries(keys: TextKeys, similarity: float) -> tuple[KeyQuery, ...]:
    """Return the conditions of which a similar document fulfils at least one.

    :param similarity: the least similarity, above 0.
    """
    count_of_grams = keys.length + 1 if 0 < keys.length <= LONGEST_WITH_GRAMS else 0
    grams, bands = keys.values[:count_of_grams], keys.values[count_of_grams:]
    queries = [KeyQuery(bands, 1)] if bands else []
    if grams:
        longest = LONGEST_WITH_GRAMS if keys.length <= SHORT else SHORT
        shared = shared_at_least(keys.words, similarity)
        if lengths := [length for length in shared if length <= longest]:
            least = min(shared[length] for length in lengths)
            queries.append(KeyQuery(grams, max(1, least), (min(lengths), max(lengths))))
    return tuple(queries)


def share_enough(keys: TextKeys, other: TextKeys, similarity: float) -> bool:
    """Return whether a look-up by the keys of a text finds another one.

    :param similarity: the least similarity, above 0.
    """
    return any(query.is_fulfilled_by(other.values, other.length) for query in key_queries(keys, similarity))


def rarities(documents: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return the inverse document frequency of each of n keys, shape (n,).

    The rarer a key is, the more likely two documents that share it are copies. Pages of one template share the keys of
    the template, which many documents have. Two copies also share keys that no other document has. The formula is that
    of BM25 in Lucene (Robertson and Zaragoza 2009, section 3.1), so Elasticsearch ranks in the same way.

    :param documents: how many have each key, shape (n,). A document may count twice: two of its keys may be in a range.
    :param total: all documents with keys.
    """
    logarithms: NDArray[np.float64] = np.log1p((total - documents + 0.5).clip(0.5) / (documents + 0.5))
    return logarithms


def encoded(keys: Sequence[int]) -> list[str]:
    """Return the text form of keys: the highest digit first.

    >>> encoded([0, 1, (1 << 36) - 1])
    ['000000', '000001', '______']
    """
    digits = np.array(keys, dtype=np.uint64)[:, None] >> _SHIFTS & np.uint64(63)
    together = _LETTERS[digits].tobytes().decode("ascii")
    return [together[start : start + DIGITS] for start in range(0, len(together), DIGITS)]


def decoded(keys: Sequence[str]) -> tuple[int, ...]:
    """Return the keys that have these text forms; none if one is no text form of a key.

    >>> decoded(["000001", "______"]), decoded(["1"])
    ((1, 68719476735), ())
    """
    if not keys:
        return ()
    together = "".join(keys)
    if not {DIGITS}.issuperset(map(len, keys)) or _ALL_DIGITS.fullmatch(together) is None:
        return ()
    digits = _VALUES[np.frombuffer(together.encode(), dtype=np.uint8)].reshape(-1, DIGITS)
    return tuple((digits @ _PLACES).tolist())
