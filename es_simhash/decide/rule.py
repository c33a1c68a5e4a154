"""A DuplicateRule under the Scheme and the keys of a store: what is looked for, and what is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from es_simhash.rows import MOST_HITS, Probe
from es_simhash.similarity.confirm import most_texts
from es_simhash.similarity.rule import MOST_BITS
from es_simhash.text.encoding import hamming_distance
from es_simhash.text.keys import key_queries

if TYPE_CHECKING:
    from es_simhash.rows import Row
    from es_simhash.similarity.rule import DuplicateRule
    from es_simhash.text.fingerprinter import Fingerprinter
    from es_simhash.text.keys import TextKeys

_NEVER = Probe()


class ResolvedRule:
    """A DuplicateRule under the Scheme and the keys of a store.

    :param chosen: the rule. It names the text fields.
    :param keys: the store has keys. A rule that compares texts needs them.
    """

    def __init__(self, chosen: DuplicateRule, fingerprinter: Fingerprinter, keys: bool) -> None:
        self.chosen, self.fingerprinter, self.keys = chosen, fingerprinter, keys
        self.min_similarity = chosen.min_similarity
        """The least similarity of texts; None if they do not decide."""
        self.by = "digest" if chosen.rule == "exact" else "fingerprint" if chosen.min_similarity is None else "keys"
        """How near documents are found, besides those with an equal digest: ``digest`` finds no others."""
        self.distance = MOST_BITS if chosen.max_distance is None else chosen.max_distance
        """Bits in which fingerprints of near documents differ at most. By keys it does not count."""
        self.window = chosen.window
        """Only documents whose times differ by at most its length are duplicates; None if times do not count."""
        self.text_fields = chosen.text_fields
        """The names of the fields with the text."""

    @property
    def bytes_of_row(self) -> int:
        """The memory for a document that is held, as measured on short texts: 5.4 and 2.1 KB."""
        return 5_500 if self.by == "keys" else 2_200

    def probe(self, row: Row, keys: TextKeys | None) -> Probe:
        """Return what to look for, for a document.

        :param keys: of its text, in a store with keys.
        """
        times = None
        if self.window is not None:
            if row.time is None:
                return _NEVER
            times = self.window.around(row.time)
        digest = None if row.digest in ("", self.fingerprinter.scheme.blank_digest) else row.digest
        if self.min_similarity is not None and keys is not None:
            queries = key_queries(keys, self.min_similarity)
            return Probe(None, digest, queries, self.distance, times, most_texts(keys.length))
        fingerprint = row.fingerprint if self.by == "fingerprint" else None
        return Probe(fingerprint, digest, (), self.distance, times, MOST_HITS)

    def allows(self, row: Row, other: Row) -> bool:
        """Return whether two documents may be near-duplicates by their times and fingerprints."""
        if self.window is not None and not self.window.holds(row.time, other.time):
            return False
        return self.by == "keys" or (self.by == "fingerprint" and self.is_near(row, other))

    def is_near(self, row: Row, other: Row) -> bool:
        """Return whether the fingerprints of two documents differ in at most ``distance`` bits."""
        bits = hamming_distance(row.fingerprint, other.fingerprint)
        return bits is not None and bits <= self.distance
