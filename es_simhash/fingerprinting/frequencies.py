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
from es_simhash.fingerprinting.fingerprinter import Fingerprinter
from es_simhash.fingerprinting.scheme import DEFAULT, Scheme
from es_simhash.fingerprinting.tables import IdfTable

_DECIMAL = Context(prec=28)  # its logarithm is rounded correctly, so it is the same on every machine


class DocumentFrequencies:
    """Counts in how many documents each word occurs. A million distinct words take some 200 MB.

    A sample of some 100,000 documents is enough: further words are mostly numbers, names and misspellings.

    :param scheme: of the fingerprints that the table is for.
    """

    def __init__(self, scheme: Scheme = DEFAULT) -> None:
        self._fingerprinter = Fingerprinter(scheme)
        self._counts: Counter[str] = Counter()
        self.documents = 0

    def add(self, text: str) -> None:
        """Count each distinct word of one more document once.

        :raises InputError: if the text is not a string, or has a lone surrogate. Then the text is not counted.
        """
        words = self._fingerprinter.tokenize(self._fingerprinter.scheme.normalise(text))
        self.documents += 1
        self._counts.update(set(words))

    def table(self) -> IdfTable:
        """Return the IDF table of the documents so far. The same documents give the same table on every machine.

        :raises InputError: if there are no words.
        """
        if not self._counts:
            raise InputError("cannot make an IDF table: the documents have no words")
        units = {count: self._units(count) for count in set(self._counts.values())}
        return IdfTable({word: units[count] for word, count in self._counts.items()})

    def _units(self, count: int) -> int:
        """Return the IDF of a word that occurs in ``count`` documents, in units of 1/1024."""
        idf = _DECIMAL.ln(_DECIMAL.divide(Decimal(1 + self.documents), Decimal(1 + count))) + 1
        return round(idf * UNIT)
