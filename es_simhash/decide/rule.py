"""A DuplicateRule under the Scheme and the keys of a store: what is looked for, and what is worth a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.rows import MOST_HITS, StoreQuery
from es_simhash.similarity.confirm import most_texts
from es_simhash.similarity.rule import MOST_BITS
from es_simhash.similarity.times import MILLISECOND
from es_simhash.text.encoding import hamming_distance
from es_simhash.text.keys import SHORT, key_queries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from es_simhash.rows import Row
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.text.fingerprinter import Fingerprinter
    from es_simhash.text.keys import TextKeys

_NOTHING = StoreQuery()

WORTH_READING = 24
"""Bits in which the fingerprints of two longer texts differ at most, if they are worth a comparison. Of 1,620 pairs of
versions that are similar enough none differs in more; of unrelated texts more than nine in ten do."""
LIKELIEST = 2
"""So many of the likeliest candidates are compared although their fingerprints are far apart. A text with other spaces
has other words, so it has another fingerprint."""


class ResolvedRule:
    """A DuplicateRule under the Scheme and the keys of a store.

    :param chosen: the rule. It names the text fields.
    :param keys: the store has keys. A rule that compares texts needs them.
    """

    def __init__(self, chosen: DuplicateRule, fingerprinter: Fingerprinter, keys: bool) -> None:
        self.chosen, self.fingerprinter, self.keys = chosen, fingerprinter, keys
        self.compares_texts = chosen.min_similarity is not None
        self.by = "digest" if chosen.rule == "exact" else "keys" if self.compares_texts else "fingerprint"
        """How candidates are found, besides documents with an equal digest: ``digest`` finds no others."""
        self.distance = MOST_BITS if chosen.max_distance is None else chosen.max_distance
        """Bits in which fingerprints of near documents differ at most. By keys it does not count."""
        self.window = None if chosen.within is None else chosen.within // MILLISECOND
        """Milliseconds by which the times of duplicates differ at most; None if times do not count."""
        self.text_fields = chosen.text_fields
        """The names of the fields with the text."""

    def __eq__(self, other: object) -> bool:
        own = self.chosen, self.fingerprinter, self.keys
        return isinstance(other, ResolvedRule) and own == (other.chosen, other.fingerprinter, other.keys)

    __hash__ = None  # type: ignore[assignment]

    @property
    def bytes_of_row(self) -> int:
        """The memory for a document that is held in memory, at most."""
        return 800 if self.by == "keys" else 400

    def most(self, keys: TextKeys | None) -> int:
        """Return how many documents a document is compared with to decide it, at most."""
        return most_texts(keys.length) if self.compares_texts and keys is not None else MOST_HITS

    def query(
        self, row: Row, keys: TextKeys | None, *, most_equal: int = MOST_HITS, is_decision: bool = True
    ) -> StoreQuery:
        """Return what to look for, for a document.

        :param keys: of its text, in a store with keys.
        :param is_decision: the most similar documents are enough; else all that are similar to a short text are wanted.
        """
        times = None
        if self.window is not None:
            if row.time is None:
                return _NOTHING
            times = row.time - self.window, row.time + self.window
        digest = row.digest if self.is_digest_of_text(row.digest) else None
        if self.compares_texts and keys is not None:
            asked = key_queries(keys, self.chosen.min_similarity or 0.0)
            most = self.most(keys) if is_decision or keys.length > SHORT else MOST_HITS
            return StoreQuery(None, digest, asked, self.distance, times, most, most_equal)
        fingerprint = row.fingerprint if self.by == "fingerprint" else None
        return StoreQuery(fingerprint, digest, (), self.distance, times, most_equal=most_equal)

    def is_digest_of_text(self, digest: str) -> bool:
        """Return whether equal digests say that two texts are equal: not of a document without a text."""
        return digest not in ("", self.fingerprinter.scheme.blank_digest)

    def is_in_window(self, row: Row, other: Row) -> bool:
        """Return whether the times of two documents allow one to be a copy of the other."""
        if self.window is None:
            return True
        return row.time is not None and other.time is not None and abs(row.time - other.time) <= self.window

    def may_be_near(self, row: Row, other: Row) -> bool:
        """Return whether two different texts may be near-duplicates by what is known without reading them.

        That is their times; and by the rule ``fingerprint`` their fingerprints.
        """
        if not self.is_in_window(row, other) or self.by == "digest":
            return False
        return self.compares_texts or self.is_near(row, other)

    def worth_reading(self, row: Row, candidates: Iterable[Row]) -> list[Row]:
        """Return the candidates that are compared to decide a document.

        Longer texts whose fingerprints are far apart are hardly ever similar: of these only the likeliest are compared.
        The fingerprint of a short one says little.

        :param candidates: the likeliest first.
        """
        return [other for n, other in enumerate(candidates) if n < LIKELIEST or not self.are_far_apart(row, other)]

    def are_far_apart(self, row: Row, other: Row) -> bool:
        """Return whether two longer texts have fingerprints that two similar texts hardly ever have."""
        if not self.compares_texts or min(row.length or 0, other.length or 0) <= SHORT:
            return False
        return (hamming_distance(row.fingerprint, other.fingerprint) or 0) > WORTH_READING

    def is_near(self, row: Row, other: Row) -> bool:
        """Return whether the fingerprints of two documents differ in at most ``distance`` bits."""
        bits = hamming_distance(row.fingerprint, other.fingerprint)
        return bits is not None and bits <= self.distance
