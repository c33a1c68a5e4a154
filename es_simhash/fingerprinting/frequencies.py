"""Build an IDF table from documents.

The IDF of a word that occurs in df of N documents is::

    idf = ln((1 + N) / (1 + df)) + 1

This is the smoothed form of scikit-learn's TfidfTransformer (``smooth_idf=True``), after Spärck Jones, "A statistical
interpretation of term specificity and its application in retrieval", Journal of Documentation 28 (1972). It is never
below 1. So every word of a text has some weight, and a table from a few documents has no extreme values.
"""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal

from es_simhash.errors import InputError
from es_simhash.fingerprinting.features import UNIT
from es_simhash.fingerprinting.scheme import Scheme
from es_simhash.fingerprinting.tables import IdfTable
from es_simhash.fingerprinting.tokens import check_tokens, tokenize
from es_simhash.fingerprinting.word_segmenters import segmenter, segmenter_name

MAX_WORDS = 1_000_000
"""Largest number of distinct words in memory: about 200 MB, and half as much again to build and write the table."""

_DECIMAL = Context(prec=28)  # its logarithm is rounded correctly, so it is the same on every machine


class DocumentFrequencies:
    """Counts in how many documents each word occurs. Memory is bounded by ``max_words``.

    If there are more distinct words than ``max_words``, the rarest words are dropped until at most half as many are
    left. A dropped word that occurs again is counted from zero. This is lossy counting (Manku and Motwani, "Approximate
    frequency counts over data streams", VLDB 2002): no count is too high, and none is too low by more than
    ``understated``. A million words are more than most languages have. The dropped words are mostly numbers, names
    and misspellings.

    :param tokens: what is counted; use the ``tokens`` of the Scheme that the table is for.
    :param segmenter: as for a Fingerprinter.
    :param max_words: the largest number of distinct words in memory, at least 2.
    :param script: the ``script`` of the Scheme that the table is for.
    :param markup: the ``markup`` of the texts, as in a Scheme.
    :raises InputError: if an argument is invalid.
    """

    def __init__(
        self,
        tokens: str = "words",
        segmenter: str | None = None,
        max_words: int = MAX_WORDS,
        *,
        script: str = "simplified",
        markup: str = "none",
    ) -> None:
        if max_words < 2:
            raise InputError(f"max_words is {max_words}: use an integer of 2 or more")
        check_tokens(tokens)
        self._tokens = tokens
        self._scheme = Scheme(tokens=tokens, script=script, markup=markup)
        self._segmenter = segmenter_name(segmenter)
        self._max_words = max_words
        self._counts: dict[str, int] = {}
        self.documents = 0
        self.understated = 0

    def add(self, text: str) -> None:
        """Count each distinct word of one more document once.

        :raises InputError: if the text is not a string, or has a lone surrogate. Then the text is not counted.
        """
        words = tokenize(self._scheme.normalise(text), segmenter(self._segmenter), self._tokens)
        self.documents += 1
        for word in set(words):
            self._counts[word] = self._counts.get(word, 0) + 1
        if len(self._counts) > self._max_words:
            self._drop_rarest()

    def table(self) -> IdfTable:
        """Return the IDF table of the documents so far. The same documents give the same table on every machine.

        :raises InputError: if there are no words, or all were dropped.
        """
        if not self._counts and self.understated:
            raise InputError(
                f"all words were dropped, because there are more than {self._max_words:,} distinct words: "
                "raise max_words"
            )
        if not self._counts:
            raise InputError("cannot make an IDF table: the documents have no words")
        units = {count: self._units(count) for count in set(self._counts.values())}
        return IdfTable({word: units[count] for word, count in self._counts.items()})

    def _units(self, count: int) -> int:
        """Return the IDF of a word that occurs in ``count`` documents, in units of 1/1024."""
        idf = _DECIMAL.ln(_DECIMAL.divide(Decimal(1 + self.documents), Decimal(1 + count))) + 1
        return round(idf * UNIT)

    def _drop_rarest(self) -> None:
        """Drop the words with the lowest counts until at most half of ``max_words`` are left."""
        words_by_count = Counter(self._counts.values())
        left, highest_dropped = len(self._counts), 0
        while left > self._max_words // 2:
            highest_dropped += 1
            left -= words_by_count[highest_dropped]
        self._counts = {word: count for word, count in self._counts.items() if count > highest_dropped}
        self.understated += highest_dropped
