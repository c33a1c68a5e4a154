"""Keys of a text: documents with enough keys in common are candidates.

They are MinHash bands (:mod:`es_simhash.search.minhash`), and q-grams (:mod:`es_simhash.search.qgrams`) for short
texts. Each is an integer of 36 bits (:mod:`es_simhash.search.encoding`). A store keeps the keys of a document, in
Elasticsearch in one multi-valued keyword field, and beside them the number of its word characters. That number decides
which shingles are its keys:

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

from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

from es_simhash.fingerprinting.normalisation import compared_characters_of_texts
from es_simhash.search import minhash, qgrams
from es_simhash.search.encoding import LONGER, PAIRS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


SHORT = 60
"""Word characters of the longest short text. A longer one has more q-grams than bands."""
MEDIUM = 150
"""Word characters of the longest text without bands of longer shingles."""
LEAST = 0.8
"""The least Levenshtein similarity for which no pair across the boundary is lost."""
LONGEST_WITH_GRAMS = int(SHORT / LEAST)
LONGEST_WITH_PAIRS = MEDIUM * 3 // 2
ROUNDED_TO = 6
"""Decimals of a score. Without the errors of the sum, equal scores compare equal."""
COMMON = 14
"""How many of the rarest keys of a query must be common (:meth:`KeyQuery.rarest`)."""


@dataclass(frozen=True)
class TextKeys:
    """The keys of one text.

    :param values: q-grams and bands, all different.
    :param length: word characters of the text.
    :param words: the word characters of a text with q-grams; else empty.
    """

    values: tuple[int, ...]
    length: int
    words: str = ""


@dataclass(frozen=True)
class KeyQuery:
    """A condition on the keys of a document: at least ``minimum`` of these keys, and a length in a range.

    :param lengths: the smallest and the largest number of word characters; None for any.
    """

    keys: tuple[int, ...]
    minimum: int
    lengths: tuple[int, int] | None = None

    def is_fulfilled_by(self, keys: Collection[int], length: int | None) -> bool:
        """Return whether a document with these keys and so many word characters fulfils the query."""
        if self.lengths is not None and (length is None or not self.lengths[0] <= length <= self.lengths[1]):
            return False
        return len(set(self.keys).intersection(keys)) >= max(1, self.minimum)

    def rarest(self) -> tuple[int, int]:
        """Return how many of the rarest keys are looked up, and how many of these a document must have.

        Common keys have most of the entries, and they need not be read: a document that has T of n keys has p of any
        n - T + p of them, as at most T - p of the others are left (the prefix filter: Chaudhuri, Ganti and Kaushik, "A
        primitive operator for similarity joins in data cleaning", ICDE 2006). p is ``COMMON``: to demand more excludes
        few documents, and takes more entries.
        """
        minimum = max(1, self.minimum)
        common = min(minimum, COMMON)
        return len(self.keys) - minimum + common, common


def text_keys(normalised: str) -> TextKeys:
    """Return the keys of a normalised text. A text without word characters has none."""
    return keys_of_texts([normalised])[0]


def keys_of_texts(normalised: Sequence[str]) -> list[TextKeys]:
    """Return :func:`text_keys` of each text. For many texts together this takes a third of the time."""
    texts = compared_characters_of_texts(normalised)
    # An empty text has no keys of any kind.
    short = [words if len(words) <= LONGEST_WITH_GRAMS else "" for words in texts]
    pairs = [words if SHORT < len(words) <= LONGEST_WITH_PAIRS else "" for words in texts]
    longer = [words if len(words) > MEDIUM else "" for words in texts]
    grams = qgrams.grams_of_texts(short)
    bands = zip(minhash.bands_of_texts(pairs, PAIRS), minhash.bands_of_texts(longer, LONGER), strict=True)
    return [
        TextKeys((*own, *of_pairs, *of_longer), len(words), with_grams)
        for words, with_grams, own, (of_pairs, of_longer) in zip(texts, short, grams, bands, strict=True)
    ]


def key_queries(keys: TextKeys, similarity: float) -> tuple[KeyQuery, ...]:
    """Return the conditions of which a similar document fulfils at least one.

    :param similarity: the least similarity, above 0.
    """
    count_of_grams = keys.length + 1 if keys.words else 0
    grams, bands = keys.values[:count_of_grams], keys.values[count_of_grams:]
    queries = [KeyQuery(bands, 1)] if bands else []
    if grams:
        longest = LONGEST_WITH_GRAMS if keys.length <= SHORT else SHORT
        shared = qgrams.shared_at_least(keys.words, similarity)
        if lengths := [length for length in shared if length <= longest]:
            least = min(shared[length] for length in lengths)
            queries.append(KeyQuery(grams, max(1, least), (min(lengths), max(lengths))))
    return tuple(queries)


@lru_cache(maxsize=4096)  # most keys of a text have the same few numbers of documents
def rarity(documents: int, total: int) -> float:
    """Return the inverse document frequency of a key.

    The rarer a key is, the more likely two documents that share it are copies. Pages of one template share the keys of
    the template, which many documents have. Two copies also share keys that no other document has. The formula is that
    of BM25 in Lucene (Robertson and Zaragoza 2009, section 3.1), so Elasticsearch ranks in the same way.

    :param documents: that have the key.
    :param total: all documents with keys.
    """
    return log(1 + (total - documents + 0.5) / (documents + 0.5))
