"""Keys of a text: documents with enough keys in common are candidates.

They are MinHash bands (:mod:`es_simhash.search.minhash`), and q-grams (:mod:`es_simhash.search.qgrams`) for short
texts. One more key stands for the numbers of a text (:mod:`es_simhash.search.number_keys`). Each is an integer of 36
bits (:mod:`es_simhash.search.encoding`). A store keeps the keys of a document, in Elasticsearch in one multi-valued
keyword field, and beside them the number of its word characters. That number decides which shingles are its keys:

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

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import log
from typing import TYPE_CHECKING

import numpy as np

from es_simhash.fingerprinting.normalisation import compared_characters_of_texts
from es_simhash.search import minhash, qgrams
from es_simhash.search.encoding import LONGER, PAIRS
from es_simhash.search.number_keys import NO_NUMBERS, NumberKeys, number_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

SHORT = 60
"""Word characters of the longest short text. A longer one has more q-grams than bands."""
MEDIUM = 150
"""Word characters of the longest text without bands of longer shingles."""
LEAST = 0.8
"""The least Levenshtein similarity for which no pair across the boundary is lost."""
LONGEST_WITH_GRAMS = int(SHORT / LEAST)
LONGEST_WITH_PAIRS = MEDIUM * 3 // 2
BANDS_IN_COMMON = 1
ROUNDED_TO = 6
"""Decimals of a score. Without the errors of the sum, equal scores compare equal."""
COMMON = 14
"""How many of the rarest keys of a query must be common (:meth:`KeyQuery.rarest`)."""
FEW_ENTRIES = 250
"""Up to so many pairs (key, document) are added up in a loop. For more of them arrays are faster."""


@dataclass(frozen=True)
class TextKeys:
    """The keys of one text.

    :param shingles: q-grams and bands, all different.
    :param length: word characters of the text.
    :param words: the word characters of a text with q-grams; else empty.
    :param numbers: the keys of its numbers.
    """

    shingles: tuple[int, ...]
    length: int
    words: str = ""
    numbers: NumberKeys = NO_NUMBERS

    @property
    def values(self) -> tuple[int, ...]:
        """All keys that are stored."""
        return self.shingles + self.numbers.stored


@dataclass(frozen=True)
class KeyQuery:
    """A condition on the keys of a document: at least ``minimum`` of these keys, a length in a range, and numbers.

    :param lengths: the smallest and the largest number of word characters; None for any.
    :param numbers: keys of numbers, of which a document must have one; none for documents with any numbers.
    """

    keys: tuple[int, ...]
    minimum: int
    lengths: tuple[int, int] | None = None
    numbers: tuple[int, ...] = ()

    @property
    def one_is_enough(self) -> bool:
        """One common key is enough, whatever the length of the text."""
        return self.minimum <= 1 and self.lengths is None

    def is_fulfilled_by(self, keys: Collection[int], length: int | None) -> bool:
        """Return whether a document with these keys and so many word characters fulfils the query."""
        if self.lengths is not None and (length is None or not self.lengths[0] <= length <= self.lengths[1]):
            return False
        if self.numbers and not set(self.numbers).intersection(keys):
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
    lengths = [len(words) for words in texts]
    pairs = [words for words, length in zip(texts, lengths, strict=True) if SHORT < length <= LONGEST_WITH_PAIRS]
    longer = [words for words, length in zip(texts, lengths, strict=True) if length > MEDIUM]
    short = [words for words, length in zip(texts, lengths, strict=True) if length <= LONGEST_WITH_GRAMS]
    grams = iter(qgrams.grams_of_texts(short))
    bands_of_pairs = iter(minhash.bands_of_texts(pairs, PAIRS))
    bands_of_longer = iter(minhash.bands_of_texts(longer, LONGER))
    made = []
    for text, words, length in zip(normalised, texts, lengths, strict=True):
        with_grams = length <= LONGEST_WITH_GRAMS
        values = next(grams) if with_grams else []
        if SHORT < length <= LONGEST_WITH_PAIRS:
            values += next(bands_of_pairs)
        if length > MEDIUM:
            values += next(bands_of_longer)
        made.append(TextKeys(tuple(values), length, words if with_grams else "", number_keys(text, words)))
    return made


def key_queries(keys: TextKeys, similarity: float, *, numbers: bool = False) -> tuple[KeyQuery, ...]:
    """Return the conditions of which a similar document fulfils at least one.

    :param similarity: the least similarity.
    :param numbers: its numbers agree with those of the text.
    """
    queries = []
    asked = keys.numbers.asked if numbers else ()
    bands = keys.shingles[keys.length + 1 :] if keys.words else keys.shingles
    if bands:
        queries.append(KeyQuery(bands, BANDS_IN_COMMON, numbers=asked))
    if keys.words and similarity > 0:
        longest = LONGEST_WITH_GRAMS if keys.length <= SHORT else SHORT
        query = qgrams.gram_query(keys.words, similarity, longest)
        if query is not None:
            grams = keys.shingles[: keys.length + 1]  # they stand before the bands
            queries.append(KeyQuery(grams, max(1, query.least), (query.shortest, query.longest), asked))
    return tuple(queries)


class KeyIndex:
    """The documents that have each key, in memory.

    :param keys: of each document.
    :param lengths: of each document, in word characters; None for a document without keys.
    :param queries: the only ones that will be asked; for each document that looks, its queries.
    """

    def __init__(
        self,
        keys: Sequence[Sequence[int]],
        lengths: Sequence[int | None],
        queries: Iterable[Sequence[KeyQuery]],
    ) -> None:
        asked: set[int] = set()
        for query in chain.from_iterable(queries):
            asked.update(query.keys, query.numbers)
        entries: defaultdict[int, list[int]] = defaultdict(list)
        for index, theirs in enumerate(keys):
            for key in asked.intersection(theirs):
                entries[key].append(index)
        self._entries = dict(entries)
        self._arrays: dict[int, NDArray[np.intp]] = {}
        self._count = len(keys)
        self._with_keys = sum(1 for theirs in keys if theirs)
        self._lengths = np.array([-1 if length is None else length for length in lengths], dtype=np.int64)

    def sharing(self, queries: Sequence[KeyQuery]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the documents that fulfil one of the queries: their indices, ascending, and their scores.

        The score is the sum of the rarities of the shared keys: the largest one over the queries that it fulfils.
        """
        found = [[key for key in query.keys if key in self._entries] for query in queries]
        if sum(len(self._entries[key]) for keys in found for key in keys) <= FEW_ENTRIES:
            return self._sharing_few(queries, found)
        best = np.full(self._count, -1.0)
        for query, keys in zip(queries, found, strict=True):
            if not keys:
                continue
            entries = [self._documents(key) for key in keys]
            every = np.concatenate(entries)
            fulfils = np.bincount(every, minlength=self._count) >= max(1, query.minimum)
            if query.lengths is not None:
                shortest, longest = query.lengths
                fulfils &= (shortest <= self._lengths) & (self._lengths <= longest)
            if query.numbers:
                with_numbers = np.zeros(self._count, dtype=np.bool_)
                for key in query.numbers:
                    with_numbers[self._documents(key)] = True
                fulfils &= with_numbers
            rarities = [rarity(len(documents), self._with_keys) for documents in entries]
            scores = np.bincount(every, np.repeat(rarities, [len(documents) for documents in entries]), self._count)
            best = np.where(fulfils, np.maximum(best, scores.round(ROUNDED_TO)), best)
        indices = np.flatnonzero(best >= 0)
        return indices, best[indices]

    def fulfilling(self, queries: Sequence[KeyQuery]) -> list[int]:
        """Return the documents that fulfil one of the queries: their indices, ascending. Few documents share keys."""
        entries = self._entries
        fulfilled: set[int] = set()
        for query in queries:
            shared = Counter(chain.from_iterable([entries[key] for key in query.keys if key in entries]))
            found = {index for index, common in shared.items() if common >= query.minimum}
            if query.lengths is not None:
                shortest, longest = query.lengths
                found = {index for index in found if shortest <= self._lengths[index] <= longest}
            if query.numbers:
                found.intersection_update(chain.from_iterable(entries.get(key, ()) for key in query.numbers))
            fulfilled |= found
        return sorted(fulfilled)

    def _sharing_few(
        self, queries: Sequence[KeyQuery], found: Sequence[Sequence[int]]
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """:meth:`sharing` where few documents share keys: arrays for all documents would take most of the time.

        :param found: for each query those of its keys that a document has.
        """
        best: dict[int, float] = {}
        for query, keys in zip(queries, found, strict=True):
            shared: dict[int, int] = {}
            scores: dict[int, float] = {}
            for key in keys:
                theirs = self._entries[key]
                rare = rarity(len(theirs), self._with_keys)
                for index in theirs:
                    shared[index] = shared.get(index, 0) + 1
                    scores[index] = scores.get(index, 0.0) + rare
            with_numbers = {index for key in query.numbers for index in self._entries.get(key, ())}
            for index, common in shared.items():
                if common < query.minimum or (query.numbers and index not in with_numbers):
                    continue
                if query.lengths is not None and not query.lengths[0] <= self._lengths[index] <= query.lengths[1]:
                    continue
                best[index] = max(best.get(index, -1.0), round(scores[index], ROUNDED_TO))
        indices = sorted(best)
        return np.array(indices, dtype=np.intp), np.array([best[index] for index in indices], dtype=np.float64)

    def _documents(self, key: int) -> NDArray[np.intp]:
        if (array := self._arrays.get(key)) is None:
            array = self._arrays[key] = np.array(self._entries.get(key, ()), dtype=np.intp)
        return array


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
