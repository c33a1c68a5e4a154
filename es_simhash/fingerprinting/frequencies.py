"""An IDF table from documents of one's own.

Of a word that df of N documents have it is::

    idf = ln((1 + N) / (1 + df)) + 1

the smoothed form of scikit-learn's TfidfTransformer (``smooth_idf=True``), after Spärck Jones, "A statistical
interpretation of term specificity and its application in retrieval", Journal of Documentation 28 (1972). It is never
below 1, so that no word of a text weighs nothing, and the table of a few documents is not all extremes.
"""

from __future__ import annotations

from collections import Counter
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from es_simhash.errors import InputError
from es_simhash.fingerprinting.idf import IdfTable
from es_simhash.fingerprinting.normalisation import normalise
from es_simhash.fingerprinting.tokens import known_tokens, tokenize
from es_simhash.fingerprinting.units import UNIT
from es_simhash.fingerprinting.word_segmenters import chosen, segmenter

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORDS = 1_000_000
"""Distinct words that are counted at a time: some 200 MB, and half as much again to make and write the table."""

_EXACT = Context(prec=28)  # its logarithm is rounded correctly, on every machine


class DocumentFrequencies:
    """In how many documents each word comes. Memory is bounded by ``max_words``, whatever comes.

    If more distinct words come, the rarest are forgotten until half as many are left, and begin again from nothing
    where they come again (lossy counting; Manku and Motwani, "Approximate frequency counts over data streams", VLDB
    2002): no count is too high, and none too low by more than :attr:`understated`. A million words are more than most
    languages have; what is forgotten is mostly numbers, names and mistakes.

    :param tokens: what is counted, as the Scheme has it that the table is for; of neighbours their words are.
    :param segmenter: as for a Fingerprinter.
    :raises InputError: for an argument that can't be used.
    """

    def __init__(self, tokens: str = "words", segmenter: str | None = None, max_words: int = MAX_WORDS) -> None:
        if max_words < 2:
            raise InputError(f"max_words is {max_words}: use a whole number from 2")
        self._tokens = known_tokens(tokens)
        self._segmenter = chosen(segmenter)
        self._max_words = max_words
        self._counts: dict[str, int] = {}
        self.documents = 0
        self.understated = 0

    def add(self, text: str) -> None:
        """Count the words of one more document, each once.

        :raises InputError: if the text is not a string, or has a lone surrogate; it is not counted then.
        """
        words = tokenize(normalise(text), segmenter(self._segmenter), self._tokens)
        self.documents += 1
        for word in set(words):
            self._counts[word] = self._counts.get(word, 0) + 1
        if len(self._counts) > self._max_words:
            self._forget_the_rarest()

    def table(self) -> IdfTable:
        """The table of what was counted so far: the same for the same documents on every machine.

        :raises InputError: if there were no words, or all are forgotten.
        """
        if not self._counts and self.understated:
            raise InputError(f"no word is left of more than {self._max_words:,} distinct ones: raise max_words")
        if not self._counts:
            raise InputError("no words in these documents: an IDF table needs some")
        units = {count: self._units(count) for count in set(self._counts.values())}
        return IdfTable({word: units[count] for word, count in self._counts.items()})

    def _units(self, count: int) -> int:
        idf = _EXACT.ln(_EXACT.divide(Decimal(1 + self.documents), Decimal(1 + count))) + 1
        return round(idf * UNIT)

    def _forget_the_rarest(self) -> None:
        of_count = Counter(self._counts.values())
        left, floor = len(self._counts), 0
        while left > self._max_words // 2:
            floor += 1
            left -= of_count[floor]
        self._counts = {word: count for word, count in self._counts.items() if count > floor}
        self.understated += floor


def idf_table(texts: Iterable[str], tokens: str = "words", segmenter: str | None = None) -> IdfTable:
    """The IDF table of these texts; the texts are taken one at a time.

    >>> list(idf_table(["暴雨 预警", "暴雨 停课"]).lines())
    ['停课 1.4052734375', '暴雨 1', '预警 1.4052734375']

    :raises InputError: if a text can't be used, or there are no words.
    """
    frequencies = DocumentFrequencies(tokens, segmenter)
    for text in texts:
        frequencies.add(text)
    return frequencies.table()
