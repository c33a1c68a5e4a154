"""A DuplicateRule under the Scheme of a store, with the texts of stored documents where texts confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from es_simhash.contract import KeysState, Probe
from es_simhash.deciding.texts import Texts
from es_simhash.errors import InputError
from es_simhash.search.hamming import hamming_distance
from es_simhash.search.keys import key_queries
from es_simhash.search.times import time_of
from es_simhash.similarity.confirm import MOST_TEXTS, most_texts
from es_simhash.similarity.rule import DIGESTS_ALONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from es_simhash.contract import Row, Store
    from es_simhash.fingerprinting.fingerprinter import Fingerprinter
    from es_simhash.search.keys import KeyQuery, TextKeys
    from es_simhash.search.times import Window
    from es_simhash.similarity.rule import DuplicateRule

MOST_NEAR = 1_000
"""Documents near one, by fingerprint, that are looked at if not only the nearest can matter."""


@dataclass(frozen=True)
class ResolvedRule:
    """A DuplicateRule under the Scheme and the keys of a store.

    :param chosen: the DuplicateRule.
    :param fingerprinter: of the Scheme.
    :param stored_keys: those of the store.
    :param max_distance: in bits; below 0 fingerprints are not compared.
    :param search_distance: the max_distance of a request for candidates; below 0 if keys find them.
    :param bits: width of the fingerprints.
    :param blank_digest: the digest of an empty text. It is no exact duplicate of another.
    :param texts: compares the texts of near-duplicates; None if texts do not confirm.
    :param keys: candidates come from keys and digests. Texts always confirm, and fingerprints limit nothing unless
        ``limited``.
    :param limited: near-duplicates found by keys must be within ``max_distance`` too.
    :param window: only documents in the window around a document's time can be its duplicates; None for all.
    :param time_field: the field with the time of a document; None if times do not count.
    :param per_fingerprint: how many documents with one fingerprint can matter to a document; None for all. They have
        the same distance, so the first written is the original. Where texts confirm, it may be a later one. Where times
        count, each document has others in its window.
    """

    chosen: DuplicateRule
    fingerprinter: Fingerprinter
    stored_keys: KeysState
    max_distance: int
    search_distance: int
    bits: int
    blank_digest: str
    texts: Texts | None
    keys: bool
    limited: bool
    window: Window | None
    time_field: str | None
    per_fingerprint: int | None

    def nearest(self, *, new: bool) -> int:
        """Return how many of the documents near one by fingerprint can matter to it: the nearest.

        A new document duplicates the nearest, or the first of the nearest with a similar text. A stored document
        duplicates only those that were written before it, and a window leaves some out, so more are looked at.
        """
        if not new or self.window is not None:
            return MOST_NEAR
        return 1 if self.texts is None else MOST_TEXTS

    def queries(self, keys: TextKeys | None) -> tuple[KeyQuery, ...]:
        """Return the conditions on the keys of documents that are similar to a text."""
        if not self.keys or keys is None or self.texts is None:
            return ()
        confirm = self.texts.confirm
        return key_queries(keys, confirm.least, numbers=confirm.same_numbers)

    def probe(self, fingerprint: int | None, digest: str | None, keys: TextKeys | None, time: int | None) -> Probe:
        """Return the Probe for what is near a document.

        :param digest: None or empty looks for no exact duplicates.
        :param keys: of its text, if they are known.
        :param time: of the document. With a window a document without a time has no duplicates.
        """
        times = None
        if self.window is not None:
            if time is None:
                return Probe(None, None)
            times = self.window.around(time)
        queries = self.queries(keys)
        most = most_texts(keys.length) if keys and queries else None
        return Probe(fingerprint, digest or None, queries, times, most)

    def in_window(self, one: int | None, other: int | None) -> bool:
        """Return whether documents with these times can be duplicates of each other."""
        return self.window is None or self.window.holds(one, other)

    def allowed(
        self, fingerprint: int | None, rows: Sequence[Row], sharing: Iterable[int]
    ) -> list[tuple[int, int | None]]:
        """Return which Rows that share keys with a document may be its near-duplicates.

        :param fingerprint: of the document.
        :param sharing: indices in ``rows`` of the Rows that share keys with it.
        :returns: pairs (index, distance in bits); the distance is None if one of the two has no fingerprint.
        """
        found = [(index, hamming_distance(fingerprint, rows[index].fingerprint)) for index in sharing]
        if not self.limited:
            return found
        return [(index, bits) for index, bits in found if bits is not None and bits <= self.max_distance]

    def are_near(self, left: Row, right: Row) -> bool:
        """Return whether two texts are within max_distance or exact duplicates. Texts and times are not compared."""
        if left.digest == right.digest != self.blank_digest:
            return True
        distance = hamming_distance(left.fingerprint, right.fingerprint)
        return distance is not None and distance <= self.max_distance

    def duplicates(self, store: Store, pairs: Sequence[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
        """Return those of the pairs of stored documents that are duplicates. Texts are compared, if they confirm."""
        near = [pair for pair in pairs if self._may_be_duplicates(*pair)]
        if self.texts is None:
            return near
        compared = {row.id for left, right in near if left.digest != right.digest for row in (left, right)}
        stored = self.texts.stored(store, compared)
        return [
            (left, right)
            for left, right in near
            if left.digest == right.digest or self.texts.confirms(stored.get(left.id), stored.get(right.id))
        ]

    def _may_be_duplicates(self, left: Row, right: Row) -> bool:
        if not self.in_window(left.time, right.time):
            return False
        return self.are_near(left, right) or (self.keys and not self.limited)


def resolve(rule: DuplicateRule, fingerprinter: Fingerprinter, keys: KeysState = KeysState.NONE) -> ResolvedRule:
    """Return the rule under the Scheme of a Fingerprinter.

    :param keys: those of the store. If they are complete, texts that confirm get their candidates from them.
    :raises InputError: if the Scheme's fingerprints are too short for the rule's max_distance.
    """
    scheme = fingerprinter.scheme
    comparison = rule.comparison(fingerprinter)
    texts = None if comparison is None else Texts(comparison, rule.text_fields)
    by_keys = texts is not None and keys is KeysState.COMPLETE
    max_distance, window = rule.bits_allowed(scheme), rule.window
    per_fingerprint = 1 if texts is None else MOST_TEXTS
    return ResolvedRule(
        chosen=rule,
        fingerprinter=fingerprinter,
        stored_keys=keys,
        max_distance=max_distance,
        search_distance=DIGESTS_ALONE if by_keys else max_distance,
        bits=scheme.bits,
        blank_digest=scheme.blank_digest,
        texts=texts,
        keys=by_keys,
        limited=rule.max_distance is not None,
        window=window,
        time_field=rule.time_field,
        per_fingerprint=None if by_keys or window is not None else per_fingerprint,
    )


def check_time(store: Store, without: str | None, field: str) -> None:
    """Check that stored documents have a time.

    :param without: id of the first document without one; None if all have one.
    :param field: name of the field with the time.
    :raises InputError: naming the document, and what its field holds.
    """
    if without is None:
        return
    reason = f"the store finds no time in field {field!r}"
    source = store.fetch_fields((without,), (field,)).get(without, {})
    try:
        time_of(source, field)
    except InputError as error:
        reason = str(error)
    raise InputError(f"document {without!r}: {reason}; or leave such documents out (filter)")
